import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parseSync } from 'oxc-parser';
import { expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '../..');
const tracked = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
}).split('\n');
const sources = tracked.filter((file) => /^(?:server|generator)\/.*(?<!\.d)\.[tj]s$/.test(file));

interface Import {
  readonly from: string;
  readonly to: string;
  readonly isType: boolean;
}

const modules = sources.map((file) => {
  const text = readFileSync(join(root, file), 'utf8');
  return { file, text, ...parseSync(file, text).module };
});

/** Imports and re-exports between source files, static and dynamic. */
const imports = modules.flatMap(({ file, text, staticImports, staticExports, dynamicImports }): Import[] => {
  const reexports = staticExports.flatMap(({ entries }) => entries);
  const all = [
    ...staticImports.map(({ moduleRequest, entries }) => ({
      name: moduleRequest.value,
      isType: entries.length > 0 && entries.every(({ isType }) => isType),
    })),
    ...reexports.flatMap(({ moduleRequest, isType }) => (moduleRequest ? [{ name: moduleRequest.value, isType }] : [])),
    ...dynamicImports.map(({ moduleRequest: { start, end } }) => ({
      name: text.slice(start + 1, end - 1),
      isType: false,
    })),
  ];
  return all
    .map(({ name, isType }) => ({
      from: file,
      to: name.startsWith('#') ? name.replace('#', 'generator/') : join(dirname(file), name),
      isType,
    }))
    .filter(({ to }) => sources.includes(to));
});

/** Finds a cycle of imports, if any. */
function findCycle(arrows: ReadonlyMap<string, ReadonlySet<string>>): string[] | undefined {
  const done = new Set<string>();
  const visit = (node: string, path: readonly string[]): string[] | undefined => {
    if (path.includes(node)) return [...path.slice(path.indexOf(node)), node];
    if (done.has(node)) return undefined;
    for (const next of arrows.get(node) ?? []) {
      const cycle = visit(next, [...path, node]);
      if (cycle) return cycle;
    }
    done.add(node);
    return undefined;
  };
  for (const node of arrows.keys()) {
    const cycle = visit(node, []);
    if (cycle) return cycle;
  }
  return undefined;
}

/** Groups imports, without those inside a group. */
function groupBy(groupOf: (file: string) => string, all: readonly Import[] = imports) {
  const groups = new Map<string, Set<string>>();
  for (const { from, to } of all) {
    const [group, other] = [groupOf(from), groupOf(to)];
    if (group !== other) groups.set(group, (groups.get(group) ?? new Set()).add(other));
  }
  return groups;
}

/** The top folder of a file, such as `server/domains`; a file at the top of a program is its own feature. */
const featureOf = (file: string): string => file.split('/').slice(0, 2).join('/');

test('no circular imports, including type imports', () => {
  expect(imports.length).toBeGreaterThan(500);
  expect(findCycle(groupBy((file) => file))).toBeUndefined();
  expect(findCycle(groupBy(featureOf))).toBeUndefined();
});

test('the folder table in docs/architecture.md is complete and current', () => {
  const page = readFileSync(join(root, 'docs/architecture.md'), 'utf8');
  const named = Array.from(page.matchAll(/^\| `([\w/]+)\/` /gm), ([, folder]) => folder!);
  const folders = new Set(tracked.map((file) => file.split('/').slice(0, -1).join('/')));
  expect(named.filter((folder) => !folders.has(folder))).toEqual([]);
  const own = new Set(sources.map(featureOf).filter((feature) => !sources.includes(feature)));
  expect([...own].filter((folder) => !named.includes(folder))).toEqual([]);
});

const pages = tracked.filter(
  (file) => file.endsWith('.md') && !/^(?:content\/(?!README)|test\/(?:fixtures|bench))/.test(file),
);

test.each(pages)('%s mentions only existing files', (page) => {
  if (page === 'CHANGELOG.md') return;
  const text = readFileSync(join(root, page), 'utf8');
  const names = Array.from(
    text.matchAll(/`((?:[\w-]+\/)*[\w-]+(?:\.test)?\.(?:ts|py|conf|yml))`/g),
    ([, name]) => name!,
  );
  const missing = names.filter((name) => !tracked.some((file) => file === name || file.endsWith(`/${name}`)));
  expect(missing).toEqual([]);
});

test.each(pages)('%s has lines of at most 130 characters, and rows of at most 200', (page) => {
  // docs/settings.md is generated. URLs cannot be wrapped.
  if (page === 'docs/settings.md') return;
  const isTooLong = (line: string): boolean =>
    line.length > (line.startsWith('|') ? 200 : 130) && !/https?:\/\/\S{60}|^\S+$/.test(line);
  const lines = readFileSync(join(root, page), 'utf8').split('\n');
  expect(lines.filter(isTooLong)).toEqual([]);
});
