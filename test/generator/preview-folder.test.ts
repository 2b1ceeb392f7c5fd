import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { createUpstream } from '../helpers/upstream.ts';
import { article, createProject, guide, temporaryFolder, writeFiles } from '../helpers/project.ts';
import type { Files } from '../helpers/project.ts';
import { runIn } from './releases.ts';

const preview = (root: string, ...more: readonly string[]) =>
  runIn(root, 'build', '--now', '2026-11-20', '--preview', join(root, 'preview'), ...more);
const texts = (html: string): string =>
  html
    .replace(/<small>.*?<\/small>/gs, '')
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ');
const read = (root: string, file: string): string => readFileSync(join(root, 'preview', file), 'utf8');
/** Lists the changes on the first page. */
const changesOf = (root: string): string[] =>
  [...read(root, 'index.html').matchAll(/<li>\s*(?:<img [^>]*>)?\s*<span class="mark">(.*?)<\/li>/gs)].map(([, item]) =>
    texts(item!).trim(),
  );

const body = 'See [details](/blog/news/first#details), [a page](/pricing), ![Map](/media/kb/map.svg)\n\n## Details\n';
const later = { title: 'Later', date: '2026-12-31' };
const changes: Files = {
  'content/blog/news/first.md': article({ title: 'First' }, `Another text. ${body}`),
  'content/blog/news/draft.md': article({ title: 'A draft', draft: 'true' }, body),
  'content/blog/news/later.md': article(later, 'Text.\n'),
  'content/knowledgebase/vps/ssh.md': undefined,
  'content/knowledgebase/vps/connect.md': guide('Connect', '![Map](/media/kb/map.svg)\n').replace(
    '---\n\n',
    'aliases: [/knowledgebase/vps/ssh]\n---\n\n',
  ),
  'content/knowledgebase/dns/records.md': undefined,
  'content/removed.yaml': '- /knowledgebase/dns/records\n',
};

test('a preview has all articles as pages with relative links, and first what changes online', async () => {
  const root = createProject({ 'content/blog/news/first.md': article({ title: 'First' }, body) });
  expect(await preview(root)).toMatchObject({ status: 0 });
  expect(texts(read(root, 'index.html'))).toContain('Nothing is online to compare with.');
  writeFiles(root, changes);
  expect(await preview(root)).toMatchObject({ status: 0 });
  expect(changesOf(root)).toEqual([
    'new A draft draft',
    'changed First',
    'new Later scheduled for 2026-12-31',
    'moved Connect from /knowledgebase/vps/ssh',
    'gone DNS records /knowledgebase/dns/records',
  ]);
  expect(read(root, 'index.html')).toContain('<img src="media/covers/cover.svg" alt="" ');
  const page = read(root, 'blog/news/draft.html');
  expect(page).not.toContain('Open in');
  expect(page).toContain('<meta name="robots" content="noindex" />');
  for (const address of ['../../blog/news/first.html#details', '/pricing', '../../index.html'])
    expect(page).toContain(`href="${address}"`);
  for (const file of ['../../media/kb/map.svg', '../../article.css', '../../preview.css']) {
    expect(page).toContain(`="${file}"`);
    expect(existsSync(join(root, 'preview/blog/news', file)), file).toBe(true);
  }
  expect(readFileSync(join(root, 'dist/current/public/v1/blog/list.json'), 'utf8')).not.toContain('A draft');
});

test('a preview after errors has the articles that could be rendered, and the problems', async () => {
  const root = createProject({
    'content/blog/news/broken.md': '---\ntitle: [\n---\n\nText.\n',
    'content/blog/news/second.md': article({}, 'See [none](/blog/news/none).\n'),
    'catalog/domains.yaml': 'tlds: [',
  });
  expect(await preview(root)).toMatchObject({ status: 1 });
  const first = texts(read(root, 'index.html'));
  for (const file of ['content/blog/news/broken.md', 'content/blog/news/second.md', 'catalog/domains.yaml'])
    expect(first).toContain(file);
  for (const line of ['title: [', 'See [none]', 'tlds: [']) expect(first).toContain(`| ${line}`);
  expect(read(root, 'blog/news/second.html')).toContain('See <a');
  expect(existsSync(join(root, 'dist/current'))).toBe(false);
});

test('a preview compares titles and descriptions with a service', async () => {
  const root = createProject();
  const summary = (path: string, title: string, description: string) => ({ path, title, description });
  const lists: Record<string, unknown> = {
    '/v1/blog/list': [summary('/blog/news/first', 'First', 'Another description')],
    '/v1/kb/list': [],
    '/v1/redirects.json': {},
  };
  const { url } = await createUpstream(({ path }) => ({ status: 200, body: JSON.stringify(lists[path]) }));
  expect(await preview(root, '--against', url)).toMatchObject({ status: 0 });
  expect(texts(read(root, 'index.html'))).toContain('changed titles and descriptions');
  expect(changesOf(root)).toContain('changed First');
});

test('a preview replaces an earlier one, but no folder with other files', async () => {
  const root = createProject();
  await preview(root);
  writeFiles(root, { 'content/knowledgebase/dns/records.md': undefined });
  await preview(root, '--lenient');
  expect(existsSync(join(root, 'preview/knowledgebase/dns/records.html'))).toBe(false);
  const folder = temporaryFolder();
  writeFiles(folder, { 'notes.txt': 'Mine.\n' });
  const stderr = '--preview: the folder has other files; name an empty folder or an earlier preview\n';
  // The releases would be gone after the next preview.
  for (const other of [folder, 'new', 'dist', 'content', '.']) {
    const out = join(root, other === 'new' ? 'new/dist' : 'dist');
    expect(await runIn(root, 'build', '--out', out, '--preview', resolve(root, other))).toMatchObject({
      status: 1,
      stderr,
    });
  }
  expect(readFileSync(join(folder, 'notes.txt'), 'utf8')).toBe('Mine.\n');
});
