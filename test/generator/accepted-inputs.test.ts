import { mkdirSync, realpathSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { article, buildProject, createProject, validProject } from '../helpers/project.ts';
import type { Files } from '../helpers/project.ts';
import { problemsOf } from './problems.ts';
import { readTree } from './tree.ts';

async function build(files: Files) {
  const root = createProject(files);
  const { release, diagnostics, counts } = await buildProject(root);
  return { id: release?.id, diagnostics, counts, tree: readTree(realpathSync(join(root, 'dist/current'))) };
}

/** The valid project with an article in which line ends matter: code, hard breaks, tables, a block in YAML. */
const sources: Files = {
  ...validProject,
  'content/blog/news/lines.md': article(
    { description: '>-\n  Two lines\n  of text' },
    'One  \ntwo\\\nthree\n\n```sh\n\nls\n\nls -l\n```\n\n| a |\n|---|\n| b |\n\n<pre>\nx\n</pre>\n',
  ),
};

function everyText(change: (text: string) => string): Files {
  return Object.fromEntries(
    Object.entries(sources).map(([path, content]) => [
      path,
      /\.(?:md|yaml)$/.test(path) ? change(String(content)) : content,
    ]),
  );
}

describe('a release is the same to the byte if the texts', () => {
  test.each([
    ['begin with a byte order mark', (text: string) => `\uFEFF${text}`],
    ['have Windows line ends', (text: string) => text.replaceAll('\n', '\r\n')],
    ['have old Mac line ends', (text: string) => text.replaceAll('\n', '\r')],
    ['have a byte order mark and Windows line ends', (text: string) => `\uFEFF${text.replaceAll('\n', '\r\n')}`],
    [
      'have mixed line ends',
      (text: string) => text.split('\n').reduce((all, line, index) => `${all}${index % 2 ? '\r\n' : '\n'}${line}`),
    ],
  ])('%s', async (_, change) => {
    const plain = await build(sources);
    const changed = await build(everyText(change));
    expect(changed.diagnostics).toEqual([]);
    expect(changed.id).toMatch(/^[0-9a-f]{16}$/);
    expect(changed).toEqual(plain);
  });

  test('have ignored files next to them', async () => {
    const plain = await build(sources);
    const withIgnored = await build({
      ...sources,
      'content/README.md': 'How this folder works.\n',
      'catalog/README.md': 'How this folder works.\n',
      'content/.DS_Store': '\0',
      'content/blog/news/.DS_Store': '\0',
      'content/blog/news/.draft.md.swp': 'x',
      'content/media/.DS_Store': '\0',
      'content/media/.thumbnails/a.png': 'x',
      'catalog/.DS_Store': '\0',
      'catalog/games/.gitkeep': '',
    });
    expect(withIgnored).toEqual(plain);
  });
});

describe('a build succeeds', () => {
  test('without domains.yaml, and no TLD is sold', async () => {
    const { tree, diagnostics, counts } = await build({ 'catalog/domains.yaml': undefined });
    expect(diagnostics).toEqual([]);
    expect(counts.tlds).toBe(0);
    expect(Buffer.from(tree['private/domains.json']!, 'base64').toString()).toBe('{"tlds":{}}\n');
  });

  test('without status.yaml, and there are no monitors', async () => {
    const { tree, diagnostics, counts } = await build({ 'catalog/status.yaml': undefined });
    expect(diagnostics).toEqual([]);
    expect(counts.monitors).toBe(0);
    expect(Buffer.from(tree['private/status.json']!, 'base64').toString()).toBe('{"monitors":[],"maintenance":[]}\n');
  });

  test('with an empty folder of content, and its lists are empty', async () => {
    const root = createProject();
    rmSync(join(root, 'content'), { recursive: true });
    mkdirSync(join(root, 'content'));
    expect(await problemsOf(root)).toEqual([]);
    await buildProject(root);
    const tree = readTree(realpathSync(join(root, 'dist/current')));
    const read = (path: string) => Buffer.from(tree[path]!, 'base64').toString();
    expect(read('public/v1/blog/list.json')).toBe('[]\n');
    expect(read('public/v1/kb/list.json')).toBe('[]\n');
  });
});
