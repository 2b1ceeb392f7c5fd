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

/** The files of the programs that a file imports, types included. */
function importsOf(file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8');
  return Array.from(text.matchAll(/(?:\bfrom |\bimport\(|^import )'([.#][^']+)'/gm), ([, name]) =>
    name!.startsWith('#') ? name!.replace('#', 'generator/') : join(dirname(file), name!),
  ).filter((name) => sources.includes(name));
}

/** A circle of arrows, if there is one. */
function findCircle(arrows: ReadonlyMap<string, ReadonlySet<string>>): string[] | undefined {
  const done = new Set<string>();
  const visit = (node: string, path: readonly string[]): string[] | undefined => {
    if (path.includes(node)) return [...path.slice(path.indexOf(node)), node];
    if (done.has(node)) return undefined;
    for (const next of arrows.get(node) ?? []) {
      const circle = visit(next, [...path, node]);
      if (circle) return circle;
    }
    done.add(node);
    return undefined;
  };
  for (const node of arrows.keys()) {
    const circle = visit(node, []);
    if (circle) return circle;
  }
  return undefined;
}

const files = new Map(sources.map((file) => [file, new Set(importsOf(file))]));

test('there is no circle of files, types included', () => {
  expect(sources.length).toBeGreaterThan(150);
  expect(findCircle(files)).toBeUndefined();
});

/** `server/domains` of all that is in it; a file at the top of a program stands for itself. */
const featureOf = (file: string): string => file.split('/').slice(0, 2).join('/');

test('there is no circle of features, types included', () => {
  const features = new Map<string, Set<string>>();
  for (const [file, imported] of files) {
    const own = features.get(featureOf(file)) ?? new Set();
    features.set(featureOf(file), own);
    for (const other of imported) if (featureOf(other) !== featureOf(file)) own.add(featureOf(other));
  }
  expect(findCircle(features)).toBeUndefined();
});

test('the table of folders in docs/architecture.md has each folder of the programs, and only folders that exist', () => {
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

test.each(pages)('%s names only files that exist', (page) => {
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
  // One is generated, and addresses cannot be broken.
  if (page === 'docs/settings.md') return;
  const isTooLong = (line: string): boolean =>
    line.length > (line.startsWith('|') ? 200 : 130) && !/https?:\/\/\S{60}|^\S+$/.test(line);
  const lines = readFileSync(join(root, page), 'utf8').split('\n');
  expect(lines.filter(isTooLong)).toEqual([]);
});
