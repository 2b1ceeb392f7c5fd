import { cpSync, realpathSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { diffReleases, rollback } from '../../generator/release/releases.ts';
import {
  article,
  createProject,
  guide,
  runGenerator,
  sharedFolder,
  siteUrls,
  temporaryFolder,
} from '../helpers/project.ts';
import type { Files } from '../helpers/project.ts';
import { buildAndRead } from './build-and-read.ts';
import { changedPaths, readTree } from './tree.ts';

let shared: string;
let first: Awaited<ReturnType<typeof buildAndRead>>;
beforeAll(async () => {
  shared = createProject({}, sharedFolder());
  first = await buildAndRead(shared);
});

describe('the same sources give the same release to the byte', () => {
  test('in another folder, with files written in another order and at another time', async () => {
    const root = temporaryFolder();
    const source = createProject();
    for (const path of Object.keys(readTree(source)).toReversed()) {
      cpSync(join(source, path), join(root, 'a folder with spaces', path));
      utimesSync(join(root, 'a folder with spaces', path), 1, 1);
    }
    expect(await buildAndRead(join(root, 'a folder with spaces'))).toEqual(first);
  });

  let plain: ReturnType<typeof buildAndRead> | undefined;
  test.each([
    { TZ: 'Pacific/Kiritimati', LANG: 'tr_TR.UTF-8', LC_ALL: 'tr_TR.UTF-8' },
    { TZ: 'Pacific/Pago_Pago', LANG: 'C', LC_ALL: 'C' },
    { TZ: 'UTC', LANG: 'sv_SE.UTF-8', LC_ALL: 'sv_SE.UTF-8', UV_THREADPOOL_SIZE: '1' },
  ])('in the zone $TZ and the language $LANG', async (env) => {
    const root = createProject();
    const { id, tree } = await (plain ??= buildAndRead(createProject(), { urls: siteUrls }));
    const urls = { SITE_URL: siteUrls.site, PUBLIC_URL: siteUrls.service };
    const { status, stderr } = await runGenerator(['build', '--now', '2026-11-20'], {
      cwd: root,
      env: { ...env, ...urls },
    });
    expect(stderr).toMatch(new RegExp(`^release ${id} in dist: 4 articles, 0 warnings, \\d+ kB, \\d+\\.\\d s\\n`));
    expect(status).toBe(0);
    expect(readTree(realpathSync(join(root, 'dist/current')))).toEqual(tree);
  });

  test('in a second build, which adds nothing', async () => {
    const before = readTree(join(shared, 'dist'));
    expect(await buildAndRead(shared)).toEqual(first);
    expect(readTree(join(shared, 'dist'))).toEqual(before);
  });

  test('if an article is a draft or does not exist', async () => {
    const changes: Files = { 'content/blog/news/first.md': article({ draft: 'true' }, 'Text.\n') };
    const without: Files = { 'content/blog/news/first.md': undefined };
    const other: Files = { 'content/blog/news/second.md': article({ title: 'Second', date: '2026-03-04' }, 'Text.\n') };
    const drafted = await buildAndRead(createProject({ ...changes, ...other }));
    expect(await buildAndRead(createProject({ ...without, ...other }))).toEqual(drafted);
  });
});

describe('a change of the sources changes', () => {
  const withForms = (...files: string[]) => files.flatMap((file) => [file, `${file}.br`, `${file}.gz`]);
  const blogArticle = withForms('public/v1/blog/article/news/first.json');
  const guideOf = withForms('public/v1/kb/article/vps/ssh.json');
  const kbLists = withForms('public/v1/kb/list.json', 'public/v1/kb/list/vps.json', 'public/v1/kb/search.json');
  const categories = withForms('public/v1/kb/categories.json');

  test.each<[string, Files, string[]]>([
    [
      'one word of a text: that article alone',
      {
        'content/blog/news/first.md': article(
          { title: 'First', date: '2026-01-02' },
          'Hello *earth*.\n\n## Details\n\nMore.\n',
        ),
      },
      blogArticle,
    ],
    [
      'a title of the blog: the article and the list',
      {
        'content/blog/news/first.md': article(
          { title: 'Fist', date: '2026-01-02' },
          'Hello *world*.\n\n## Details\n\nMore.\n',
        ),
      },
      [...blogArticle, ...withForms('public/v1/blog/list.json')],
    ],
    [
      'a title of the knowledge base: the article and both lists',
      { 'content/knowledgebase/vps/ssh.md': guide('Connect', 'Use `ssh`.\n\n![Map](/media/kb/map.svg)\n') },
      [...guideOf, ...kbLists],
    ],
    [
      'the name of a category: its articles and the lists that show it',
      { 'content/knowledgebase/vps/category.yaml': 'name: VPS\n' },
      [...guideOf, ...kbLists, ...categories],
    ],
    [
      'an alias: the aliases and the redirects',
      {
        'content/blog/news/first.md': article(
          { title: 'First', date: '2026-01-02', aliases: '[/blog/old]' },
          'Hello *world*.\n\n## Details\n\nMore.\n',
        ),
      },
      withForms('private/aliases.json', 'public/v1/redirects.json'),
    ],
    [
      'an image: the image',
      { 'content/media/kb/map.svg': '<svg xmlns="http://www.w3.org/2000/svg"> </svg>\n' },
      ['public/media/kb/map.svg'],
    ],
    [
      'a price: the plans',
      { 'catalog/games/minecraft.yaml': 'name: Minecraft\nsoldOut: true\nsoldOutMessage: ""\nplans: []\n' },
      withForms('public/v1/plans.json'),
    ],
    ['a TLD: the domains', { 'catalog/domains.yaml': 'tlds: {}\n' }, withForms('private/domains.json')],
    [
      'a monitor: the monitors',
      { 'catalog/status.yaml': 'monitors: []\nmaintenance: []\n' },
      withForms('private/status.json'),
    ],
  ])('%s, and the manifest', async (_, changes, files) => {
    await rollback(join(shared, 'dist'), first.id);
    const root = createProject(changes);
    const after = await buildAndRead(root, { out: join(shared, 'dist'), allowEmpty: true });
    expect(after.id).not.toBe(first.id);
    expect(changedPaths(first.tree, after.tree)).toEqual(['manifest.json', ...files].toSorted());
    const { added, removed, changed } = await diffReleases(join(shared, 'dist'), first.id, after.id);
    expect({ added, removed, changed }).toEqual({
      added: [],
      removed: [],
      changed: files.filter((file) => !/\.(?:br|gz)$/.test(file)).toSorted(),
    });
  });
});
