import { execFileSync } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import GithubSlugger from 'github-slugger';
import { parseSync } from 'oxc-parser';
import { expect, test } from 'vitest';
import { listSettings } from '../../server/env.ts';

const root = resolve(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(join(root, file), 'utf8');
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
  const text = read(file);
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

/** The folder of a file, such as `server/domains/prices`; a file at the top of a program stands alone. */
const folderOf = (file: string): string => (file.split('/').length > 2 ? dirname(file) : file);

test('no circular imports, including type imports', () => {
  expect(imports.length).toBeGreaterThan(500);
  expect(findCycle(groupBy((file) => file))).toBeUndefined();
  expect(findCycle(groupBy(featureOf))).toBeUndefined();
});

test('no circular imports between folders; a folder may use types of the folder around it', () => {
  const isOutward = ({ from, to }: Import) => folderOf(from).startsWith(`${folderOf(to)}/`);
  const relevant = imports.filter((one) => !(one.isType && isOutward(one)));
  expect(findCycle(groupBy(folderOf, relevant))).toBeUndefined();
});

test('each name is exported by one file only', () => {
  const exported = modules.flatMap(({ file, staticExports }) => {
    const entries = staticExports.flatMap((one) => one.entries).filter(({ moduleRequest }) => !moduleRequest);
    return Array.from(new Set(entries.map(({ exportName }) => exportName.name)), (name) => ({ name, file }));
  });
  const byName = Map.groupBy(exported, ({ name }) => name);
  const shared = Array.from(byName, ([name, all]) => [name, ...all.map(({ file }) => file)]);
  expect(shared.filter(({ length }) => length > 2)).toEqual([]);
});

test('the folder table in docs/architecture.md is complete and current', () => {
  const page = read('docs/architecture.md');
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
  const text = read(page);
  const names = [...text.matchAll(/`((?:[\w-]+\/)*[\w-]+(?:\.test)?\.(?:ts|py|conf|yml))`/g)].map(([, name]) => name!);
  const missing = names.filter((name) => !tracked.some((file) => file === name || file.endsWith(`/${name}`)));
  expect(missing).toEqual([]);
});

test.each(pages)('%s has lines of at most 130 characters, and rows of at most 200', (page) => {
  // docs/settings.md is generated. URLs cannot be wrapped.
  if (page === 'docs/settings.md') return;
  const isTooLong = (line: string): boolean =>
    line.length > (line.startsWith('|') ? 200 : 130) && !/https?:\/\/\S{60}|^\S+$/.test(line);
  const lines = read(page).split('\n');
  expect(lines.filter(isTooLong)).toEqual([]);
});

const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };

const examples = globSync('examples/**/*.{ts,py}', { cwd: root }).map(read).join('\n');
/** Environment variables of the examples. */
const exampleSettings = [...examples.matchAll(/(?:process\.env\.|environ\.get\(")([A-Z_]+)/g)].map(([, name]) => name!);

/** Lists the anchors of a page's headings. */
function anchorsOf(file: string): string[] {
  const slugger = new GithubSlugger();
  return [...read(file).matchAll(/^#{1,6} (.+)$/gm)].map(([, heading]) => slugger.slug(heading!.replaceAll('`', '')));
}

test.each(pages)('%s links only to existing files and headings', (page) => {
  const text = read(page).replaceAll(/```[^]*?```|`[^`\n]*`/g, '');
  const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link!);
  const dead = links.filter((link) => {
    if (/^[a-z]+:/.test(link)) return false;
    const [path = '', anchor] = link.split('#');
    const file = path === '' ? page : join(dirname(page), path);
    return !existsSync(join(root, file)) || (anchor !== undefined && !anchorsOf(file).includes(anchor));
  });
  expect(dead).toEqual([]);
});

test.each(pages)('%s mentions only existing scripts and settings', (page) => {
  const text = read(page);
  const named = [...text.matchAll(/\bnpm run (?:--silent )?([a-z][a-z:]*)/g)].map(([, name]) => name!);
  expect(named.filter((name) => !(name in scripts))).toEqual([]);
  if (page === 'CHANGELOG.md') return;
  const settings = new Set([...listSettings().map(({ name }) => name), ...exampleSettings]);
  const words = [...text.matchAll(/`([A-Z]+(?:_[A-Z]+)+)(?:=[^`]*)?`/g)].map(([, name]) => name!);
  const unknown = words.filter((word) => !settings.has(word.replace(/_FILE$/, '')) && !settings.has(word));
  expect(unknown).toEqual([]);
});
