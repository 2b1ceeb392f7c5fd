import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '../..');
const tracked = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
}).split('\n');
const sources = tracked.filter((file) => /^(?:server|generator)\/.*(?<!\.d)\.[tj]s$/.test(file));

/** Lists the source files that a file imports, type imports included. */
function importsOf(file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8');
  return Array.from(text.matchAll(/(?:\bfrom |\bimport\(|^import )'([.#][^']+)'/gm), ([, name]) =>
    name!.startsWith('#') ? name!.replace('#', 'generator/') : join(dirname(file), name!),
  ).filter((name) => sources.includes(name));
}

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

const files = new Map(sources.map((file) => [file, new Set(importsOf(file))]));

test('no circular imports, including type imports', () => {
  expect(sources.length).toBeGreaterThan(100);
  expect(findCycle(files)).toBeUndefined();
});

/** The top folder of a file, such as `server/domains`; a file at the top of a program is its own feature. */
const featureOf = (file: string): string => file.split('/').slice(0, 2).join('/');

test('no circular imports between features, including type imports', () => {
  const features = new Map<string, Set<string>>();
  for (const [file, imported] of files) {
    const own = features.get(featureOf(file)) ?? new Set();
    features.set(featureOf(file), own);
    for (const other of imported) if (featureOf(other) !== featureOf(file)) own.add(featureOf(other));
  }
  expect(findCycle(features)).toBeUndefined();
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
