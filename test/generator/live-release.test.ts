import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { BuildResult } from '../../generator/build-options.ts';
import { liveFolderOf, watchAndBuild } from '../../generator/dev.ts';
import { article, createProject, guide, writeFiles } from '../helpers/project.ts';

const eventually = { timeout: 20_000, interval: 10 };

async function follow() {
  const root = createProject();
  const results: BuildResult[] = [];
  const close = await watchAndBuild({
    content: join(root, 'content'),
    catalog: join(root, 'catalog'),
    out: join(root, 'dist'),
    lenient: false,
    report: (result) => results.push(result),
  });
  onTestFinished(close);
  const read = (file: string): string => {
    const path = join(liveFolderOf(join(root, 'dist')), 'current', file);
    return existsSync(path) ? readFileSync(path, 'utf8') : '';
  };
  return { root, results, close, read };
}

test('a live release holds what the folders hold, and its manifest says so', async () => {
  const { root, results, read } = await follow();
  expect(results.map(({ release }) => release?.id)).toHaveLength(1);
  writeFiles(root, {
    'content/knowledgebase/vps/ssh.md': guide('Keys', 'Use a *key*.\n'),
    'content/media/kb/map.svg': '<svg xmlns="http://www.w3.org/2000/svg" width="1"/>\n',
  });
  await expect.poll(() => read('media/kb/map.svg'), eventually).toContain('width="1"');
  await expect.poll(() => read('v1/kb/article/vps/ssh.json'), eventually).toContain('<em>key</em>');
  expect(read('v1/kb/list/vps.json')).toContain('Keys');
  await expect.poll(() => JSON.parse(read('manifest.json')).id, eventually).toBe(results.at(-1)!.release!.id);
  rmSync(join(root, 'content/blog/news/second.md'));
  await expect.poll(() => read('v1/blog/article/news/second.json'), eventually).toBe('');
  expect(JSON.parse(read('v1/blog/list.json'))).toHaveLength(1);
});

test('a live release stays as it was while there are errors, and when nobody watches any more', async () => {
  const { root, results, close, read } = await follow();
  const before = read('v1/blog/article/news/first.json');
  writeFiles(root, { 'content/blog/news/first.md': article({ date: 'soon' }, 'Changed.\n') });
  await expect.poll(() => results.length, eventually).toBe(2);
  expect(results[1]).toMatchObject({ release: undefined, diagnostics: [{ severity: 'error', line: 4 }] });
  expect(read('v1/blog/article/news/first.json')).toBe(before);
  await close();
  writeFiles(root, { 'content/blog/news/first.md': article({}, '## Details\n\nMended.\n') });
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(results).toHaveLength(2);
});
