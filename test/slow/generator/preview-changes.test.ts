import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { BuildResult } from '../../../generator/build-options.ts';
import { previewFolderOf } from '../../../generator/dev.ts';
import { article, buildProject, createProject, guide, validProject, writeFiles } from '../../helpers/project.ts';
import type { Files } from '../../helpers/project.ts';
import { readTree } from '../../generator/tree.ts';
import { watchProject } from '../../helpers/watch-project.ts';

const [first, second] = ['content/blog/news/first.md', 'content/blog/news/second.md'];
const [ssh, records] = ['content/knowledgebase/vps/ssh.md', 'content/knowledgebase/dns/records.md'];

const searchIndex = 'public/v1/kb/search.json';

/** The parts of a MiniSearch index that have numbers for articles. */
interface Index {
  readonly nextId: number;
  readonly documentIds: Readonly<Record<string, string>>;
  readonly fieldLength: Readonly<Record<string, unknown>>;
  readonly storedFields: Readonly<Record<string, unknown>>;
  readonly index: readonly (readonly [string, Readonly<Record<string, Readonly<Record<string, number>>>>])[];
}

/**
 * Replaces the search index of a tree by one with the paths of articles for their numbers, and its terms in order: `dev`
 * replaces articles in its index, so that numbers and order depend on the saves before. Everything else is compared.
 */
function withNamedArticles(tree: Readonly<Record<string, string>>): Record<string, unknown> {
  const { index, ...file } = JSON.parse(Buffer.from(tree[searchIndex] ?? '', 'base64').toString() || '{}') as {
    index?: Index;
  };
  if (!index) return tree;
  const { nextId: _, documentIds, fieldLength, storedFields, index: terms, ...rest } = index;
  const named = <Value>(byNumber: Readonly<Record<string, Value>>): Record<string, Value> =>
    Object.fromEntries(Object.entries(byNumber).map(([number, value]) => [documentIds[number]!, value]));
  const namedTerms = terms.map(([term, fields]) => [
    term,
    Object.fromEntries(Object.entries(fields).map(([field, counts]) => [field, named(counts)])),
  ]);
  const compared = {
    ...file,
    ...rest,
    articles: Object.values(documentIds).toSorted(),
    fieldLength: named(fieldLength),
    storedFields: named(storedFields),
    terms: Object.fromEntries(namedTerms) as unknown,
  };
  return { ...tree, [searchIndex]: compared };
}

/** Changes that are applied one after the other. */
const changes: [string, Files][] = [
  ['a text', { [ssh]: guide('SSH', 'Other words.\n') }],
  ['a title that sorts last', { [ssh]: guide('Zebra', 'Other words.\n') }],
  ['a title that sorts first', { [ssh]: guide('Aardvark', 'Other words.\n') }],
  ['the same title as another article', { [ssh]: guide('DNS records', 'Other words.\n') }],
  ['two titles at once', { [ssh]: guide('B', 'Words.\n'), [records]: guide('A', 'Words.\n') }],
  ['another day', { [first]: article({ date: '2019-05-05' }, '## Details\n') }],
  ['the same day as another article', { [first]: article({ date: '2026-01-01' }, '## Details\n') }],
  ['a draft', { [second]: article({ draft: 'true' }, 'Not yet.\n') }],
  ['a scheduled article', { [second]: article({ date: '2100-01-01' }, 'Not yet.\n') }],
  ['published again', { [second]: article({ date: '2026-02-02' }, 'Now.\n') }],
  ['an error', { [second]: article({ date: 'soon' }, 'Now.\n') }],
  ['another change while there is an error', { [ssh]: guide('Between', 'Words.\n') }],
  ['the error fixed', { [second]: article({ aliases: '[/blog/news/old]' }, 'Fixed.\n') }],
  ['the name of a category', { 'content/knowledgebase/vps/category.yaml': 'name: Servers\n' }],
  ['an added category', { 'content/knowledgebase/mail/spam.md': guide('C', 'Words.\n') }],
  ['that category with a name', { 'content/knowledgebase/mail/category.yaml': 'name: E-mail\n' }],
  ['an article moved there', { [records]: undefined, 'content/knowledgebase/mail/records.md': guide('A', 'Words.\n') }],
  [
    'the category removed',
    Object.fromEntries(
      ['category.yaml', 'spam.md', 'records.md'].map((name) => [`content/knowledgebase/mail/${name}`, undefined]),
    ),
  ],
  ['an article with an image', { [ssh]: guide('B', '![Map](/media/kb/map.svg)\n') }],
  ['an image', { 'content/media/kb/map.svg': '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="8"/>\n' }],
  ['another size', { 'content/media/kb/map.svg': '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="9"/>\n' }],
  ['a plan', { 'catalog/games/minecraft.yaml': validProject['catalog/services/web.yaml'] }],
  ['the original files', validProject],
];

test('after every change, the preview equals a first build to the byte', async () => {
  const root = createProject();
  const { results, failures } = await watchProject(root, { lenient: true });
  const live = join(previewFolderOf(join(root, 'dist')), 'current');
  const now = new Date().toISOString().slice(0, 10);
  for (const [what, files] of changes) {
    writeFiles(root, files);
    for (const [path, text] of Object.entries(files)) if (text === undefined) rmSync(join(root, path));
    // Only a build with a current release warns of paths that vanish.
    rmSync(join(root, 'fresh'), { recursive: true, force: true });
    // oxlint-disable-next-line no-await-in-loop -- One change after the other.
    const fresh = await buildProject(root, { out: join(root, 'fresh'), now, lenient: true });
    const summarize = ({ diagnostics, counts, drafts, scheduled, nextChangeAt }: BuildResult) => [
      diagnostics,
      counts,
      drafts,
      scheduled,
      nextChangeAt,
    ];
    // oxlint-disable-next-line no-await-in-loop
    await expect.poll(() => summarize(results.at(-1)!), { timeout: 45_000, message: what }).toEqual(summarize(fresh));
    if (!fresh.release) continue;
    const { 'manifest.json': _, ...expected } = readTree(join(root, 'fresh/current'));
    const plain = Object.entries(expected).filter(([file]) => !/\.(?:gz|br)$/.test(file));
    const read = () => {
      const { 'manifest.json': __, ...tree } = readTree(live);
      return { tree: withNamedArticles(tree), listed: Object.keys(results.at(-1)!.release!.files) };
    };
    // oxlint-disable-next-line no-await-in-loop
    await expect
      .poll(read, { timeout: 45_000, message: what })
      .toEqual({ tree: withNamedArticles(Object.fromEntries(plain)), listed: plain.map(([file]) => file) });
  }
  expect(failures).toEqual([]);
});
