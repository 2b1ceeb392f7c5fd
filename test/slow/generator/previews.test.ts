import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { BuildResult } from '../../../generator/build-options.ts';
import { articleCacheOf } from '../../../generator/build-record.ts';
import { previewFolderOf, watchAndBuild } from '../../../generator/dev.ts';
import { article, createProject, guide, writeFiles } from '../../helpers/project.ts';
import { watchProject } from '../../helpers/watch-project.ts';
import { eventually } from '../../server/shared.ts';

async function follow() {
  const root = createProject();
  const { results, failures, close } = await watchProject(root);
  const read = (file: string): string => {
    const path = join(previewFolderOf(join(root, 'dist')), 'current', file);
    return existsSync(path) ? readFileSync(path, 'utf8') : '';
  };
  return { root, results, failures, close, read };
}

test('a preview follows the source folders, and its manifest is up to date', async () => {
  const { root, results, read } = await follow();
  expect(results.map(({ release }) => release?.id)).toHaveLength(1);
  writeFiles(root, {
    'content/knowledgebase/vps/ssh.md': guide('Keys', 'Use a *key*.\n'),
    'content/media/kb/map.svg': '<svg xmlns="http://www.w3.org/2000/svg" width="1"/>\n',
  });
  await expect.poll(() => read('public/media/kb/map.svg'), eventually).toContain('width="1"');
  await expect.poll(() => read('public/v1/kb/article/vps/ssh.json'), eventually).toContain('<em>key</em>');
  expect(read('public/v1/kb/list/vps.json')).toContain('Keys');
  await expect.poll(() => JSON.parse(read('manifest.json')).id, eventually).toBe(results.at(-1)!.release!.id);
  rmSync(join(root, 'content/blog/news/second.md'));
  await expect.poll(() => read('public/v1/blog/article/news/second.json'), eventually).toBe('');
  expect(JSON.parse(read('public/v1/blog/list.json'))).toHaveLength(1);
});

test('a preview does not change while there are errors, nor after the watcher is closed', async () => {
  const { root, results, close, read } = await follow();
  const before = read('public/v1/blog/article/news/first.json');
  writeFiles(root, { 'content/blog/news/first.md': article({ date: 'soon' }, '## Details\n\nChanged.\n') });
  await expect.poll(() => results.length, eventually).toBe(2);
  expect(results[1]).toMatchObject({ diagnostics: [{ severity: 'error', line: 4 }] });
  expect(results[1]!.release).toBeUndefined();
  expect(read('public/v1/blog/article/news/first.json')).toBe(before);
  await close();
  writeFiles(root, { 'content/blog/news/first.md': article({}, '## Details\n\nFixed.\n') });
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(results).toHaveLength(2);
});

test('a preview that could not be written is written with the next change', async () => {
  const { root, results, failures, read } = await follow();
  const [first, second] = ['public/v1/blog/article/news/first.json', 'public/v1/blog/article/news/second.json'];
  const folder = previewFolderOf(join(root, 'dist'));
  rmSync(folder, { recursive: true });
  writeFileSync(folder, 'in the way');
  writeFiles(root, {
    'content/blog/news/first.md': article({}, '## Details\n\nOnce.\n'),
    'content/blog/news/second.md': article({}, 'Once.\n'),
  });
  await expect.poll(() => failures.length, eventually).toBe(1);
  rmSync(folder);
  writeFiles(root, { 'content/knowledgebase/vps/ssh.md': guide('Keys', 'Twice.\n') });
  await expect.poll(() => results.length, eventually).toBe(2);
  expect(results[1]!.release!.id).toBe(JSON.parse(read('manifest.json')).id);
  expect(read('public/v1/kb/article/vps/ssh.json')).toContain('Twice');
  expect([read(first), read(second)]).toEqual([expect.stringContaining('Once'), expect.stringContaining('Once')]);
});

test('a change that is saved during the first build is built after it', async () => {
  const text = guide('Page', 'Text. '.repeat(2000));
  const pages = Array.from({ length: 150 }, (_, index) => [`content/knowledgebase/dns/page-${index}.md`, text]);
  const root = createProject(Object.fromEntries(pages) as Record<string, string>);
  const out = join(root, 'dist');
  const results: BuildResult[] = [];
  const failures: unknown[] = [];
  const started = watchAndBuild({
    content: join(root, 'content'),
    catalog: join(root, 'catalog'),
    out,
    withUnpublished: false,
    report: ({ result }) => results.push(result),
    fail: (error) => failures.push(error),
  });
  const file = join(previewFolderOf(out), 'current/public/v1/kb/article/dns/page-59.json');
  // The cache has the first articles, so the build is running.
  const sizeOfCache = (): number => statSync(articleCacheOf(out), { throwIfNoEntry: false })?.size ?? 0;
  await expect.poll(sizeOfCache, { ...eventually, interval: 1 }).toBeGreaterThan(50_000);
  expect(results).toEqual([]);
  writeFiles(root, { 'content/knowledgebase/dns/page-59.md': guide('Page', 'Saved meanwhile.\n') });
  onTestFinished(await started);
  await expect.poll(() => existsSync(file) && readFileSync(file, 'utf8'), eventually).toContain('Saved meanwhile');
  expect(failures).toEqual([]);
});
