import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { build } from '../../generator/build.ts';
import { article, createProject, guide, validProject, writeFiles } from '../helpers/project.ts';
import type { Files } from '../helpers/project.ts';
import { watchProject } from '../helpers/watch-project.ts';

const [first, second] = ['content/blog/news/first.md', 'content/blog/news/second.md'];
const [records, map] = ['content/knowledgebase/dns/records.md', 'content/media/kb/map.svg'];

/** Changes that add or remove dead references in articles other than the saved one. */
const changes: [string, Files, found: number][] = [
  ['a text', { [second]: article({}, 'See [first](first.md#details), once more.\n') }, 1],
  ['a removed heading', { [first]: article({}, 'No heading.\n') }, 2],
  ['an added heading', { [first]: article({}, '## Details\n\nOne heading.\n') }, 1],
  ['a removed article', { [first]: undefined }, 2],
  ['an added article', { [first]: article({}, '## Details\n\nBack.\n') }, 1],
  ['a draft', { [first]: article({ draft: 'true' }, '## Details\n') }, 2],
  ['a scheduled article', { [first]: article({ date: '2100-01-01' }, '## Details\n') }, 2],
  ['another day of a scheduled article', { [first]: article({ date: '2100-02-02' }, '## Details\n') }, 2],
  ['a missing path as an alias', { [first]: article({ aliases: '[/blog/news/gone]' }, '## Details\n') }, 0],
  ['another alias', { [first]: article({ aliases: '[/blog/news/other]' }, '## Details\n') }, 1],
  ['a removed image', { [map]: undefined }, 2],
  ['an added image', { [map]: validProject[map] }, 1],
  ['an article at a missing path', { 'content/blog/news/gone.md': article({}, 'Text.\n') }, 0],
  ['the same article broken', { 'content/blog/news/gone.md': article({ date: 'soon' }, 'Text.\n') }, 1],
  ['the same article removed', { 'content/blog/news/gone.md': undefined }, 1],
  ['a link to a missing folder', { [second]: article({}, '[All](/knowledgebase/extra)\n') }, 2],
  ['that folder, without articles', { 'content/knowledgebase/extra/category.yaml': 'name: Extra\n' }, 1],
];

test('after each change, dev reports the problems that a first build reports', async () => {
  const root = createProject({
    [records]: guide('DNS records', '[Gone](/blog/news/gone) and [SSH](../vps/ssh.md).\n'),
  });
  const [content, catalog] = [join(root, 'content'), join(root, 'catalog')];
  const { results, failures } = await watchProject(root, { lenient: true });
  for (const [what, files, found] of changes) {
    writeFiles(root, files);
    for (const [path, text] of Object.entries(files)) if (text === undefined) rmSync(join(root, path));
    const now = new Date().toISOString().slice(0, 10);
    // oxlint-disable-next-line no-await-in-loop -- One change after the other.
    const fresh = await build({
      content,
      catalog,
      out: join(root, 'fresh'),
      checkOnly: true,
      now,
      lenient: true,
      noCache: true,
      compression: 'fast',
    });
    expect(fresh.diagnostics, what).toHaveLength(found);
    // oxlint-disable-next-line no-await-in-loop
    await expect.poll(() => results.at(-1)!.diagnostics, { timeout: 10_000, message: what }).toEqual(fresh.diagnostics);
  }
  expect(failures).toEqual([]);
});
