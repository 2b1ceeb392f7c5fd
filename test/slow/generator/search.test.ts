import { hash } from 'node:crypto';
import { readFileSync, realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import MiniSearch from 'minisearch';
import { expect, test } from 'vitest';
import type { KnowledgeBaseSearch } from '#contract/search.ts';
import { startDev } from '../../helpers/dev.ts';
import { buildProject, createProject, guide, writeFiles } from '../../helpers/project.ts';
import type { Files } from '../../helpers/project.ts';
import { eventually } from '../../server/shared.ts';

const file = 'public/v1/kb/search.json';
const parse = (text: string) => JSON.parse(text) as KnowledgeBaseSearch;

/** The paths of the articles that have a word. */
function find(text: string, word: string): string[] {
  if (text === '') return [];
  const { index, options } = parse(text);
  const results = MiniSearch.loadJS(index, options).search(word, { prefix: false, fuzzy: false });
  return results.map(({ id }) => String(id)).toSorted();
}

/** Articles of 1,000 long words, which occur once and compress badly: 65 kB, and 38 kB in the index in gzip. */
function createArticles(count: number): Files {
  const toBody = (article: number): string =>
    Array.from({ length: 1000 }, (_, word) => hash('sha256', `${article} ${word}`)).join(' ');
  return Object.fromEntries(
    Array.from({ length: count }, (_, article) => [
      `content/knowledgebase/vps/article-${article}.md`,
      guide(`Article ${article}`, `## Section ${article}\n\n${toBody(article)}\n`),
    ]),
  );
}

test('dev serves an index of what is saved', async () => {
  const dev = await startDev();
  const ssh = '/knowledgebase/vps/ssh';
  expect(find(dev.read(file), 'ssh')).toEqual([ssh]);
  const image = '![Map](/media/kb/map.svg)\n';
  writeFiles(dev.root, { 'content/knowledgebase/vps/ssh.md': guide('Sign in', `With a **terminal**.\n\n${image}`) });
  await expect.poll(() => find(dev.read(file), 'terminal'), eventually).toEqual([ssh]);
  expect(find(dev.read(file), 'ssh')).toEqual([]);
  // A save that is not built must not leave its words, nor keep the next ones out.
  writeFiles(dev.root, { 'content/knowledgebase/vps/ssh.md': guide('Sign in', `[dead](dead.md)\n\n${image}`) });
  await expect.poll(dev.printed, eventually).toContain('there is no article /knowledgebase/vps/dead');
  writeFiles(dev.root, {
    'content/knowledgebase/vps/ssh.md': guide('Sign in', `With a **keyboard**.\n\n${image}`),
    'content/knowledgebase/dns/moved.md': guide('Moved', 'Other.\n'),
  });
  await expect.poll(() => find(dev.read(file), 'keyboard'), eventually).toEqual([ssh]);
  await expect.poll(() => find(dev.read(file), 'moved'), eventually).toEqual(['/knowledgebase/dns/moved']);
  expect(find(dev.read(file), 'terminal')).toEqual([]);
  expect(parse(dev.read(file)).index.documentCount).toBe(3);
});

test('dev leaves out more than 300,000 characters of text, and a release has them', async () => {
  const files = createArticles(5);
  const dev = await startDev(files);
  const preview = parse(dev.read(file));
  expect([preview.hasText, preview.options.fields]).toEqual([false, ['title', 'description', 'headings', 'tags']]);
  expect(find(dev.read(file), 'section')).toHaveLength(5);
  const root = createProject(files);
  await buildProject(root);
  expect(parse(readFileSync(join(root, 'dist/current', file), 'utf8')).hasText).toBe(true);
});

test('a release leaves the text out if the file would be larger than 1 MB in gzip', async () => {
  const options = { noCache: false } as const;
  const root = createProject(createArticles(22));
  const read = (): string => readFileSync(join(root, 'dist/current', file), 'utf8');
  await buildProject(root, options);
  const large = gzipSync(read()).length;
  expect([parse(read()).hasText, large < 1_000_000, large > 750_000]).toEqual([true, true, true]);
  writeFiles(root, createArticles(30));
  await buildProject(root, options);
  expect([parse(read()).hasText, find(read(), 'section').length]).toEqual([false, 30]);
  const path = realpathSync(join(root, 'dist/current', file));
  writeFiles(root, { 'content/knowledgebase/vps/article-1.md': guide('Article 1', '## Section 1\n\nOther words.\n') });
  await buildProject(root, options);
  const next = realpathSync(join(root, 'dist/current', file));
  expect([next === path, statSync(next).ino === statSync(path).ino]).toEqual([false, true]);
});
