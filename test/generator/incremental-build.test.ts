import {
  appendFileSync,
  closeSync,
  cpSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { beforeAll, describe, expect, test } from 'vitest';
import { verifyRelease } from '../../generator/release/publish.ts';
import { compileStatusWidget } from '../../generator/static-files.ts';
import {
  article,
  buildProject,
  createProject,
  guide,
  sharedFolder,
  siteUrls,
  validProject,
  writeFiles,
} from '../helpers/project.ts';
import type { Files } from '../helpers/project.ts';
import { matchFile } from '#contract/endpoints.ts';
import { buildAndRead, changedPaths, currentOf, flipBit, flipInMemo, gzipStart, readTree } from './releases.ts';

/** The version of the widget of another PUBLIC_URL. */
const { version } = await compileStatusWidget('https://b.example');

type Options = Parameters<typeof buildProject>[1];

/** With these addresses, a release has every kind of file. */
const withUrls = { urls: siteUrls } as const;

/** Builds, and reads the release and the report, without vanished paths: a first build compares with nothing. */
async function buildAndReport(root: string, options: Options = {}) {
  const { release, diagnostics, sources: _, ...summary } = await buildProject(root, { ...withUrls, ...options });
  const about = diagnostics.filter(({ message }) => !message.includes('missing from this build'));
  const found = about.map(({ file, ...rest }) => ({ ...rest, file: file.slice(file.indexOf('/content/')) }));
  return { id: release?.id, diagnostics: found, summary, tree: release && readTree(currentOf(root)) };
}

/** Runs the first build of a project. */
const buildFresh = (files: Files = {}, options: Options = {}) =>
  buildAndReport(createProject(files), { noCache: true, ...options });

const edited = { 'content/blog/news/first.md': article({}, '## Details\n\nChanged.\n') };
let first: Awaited<ReturnType<typeof buildAndReport>>;
let firstEdited: typeof first;
beforeAll(async () => {
  first = await buildAndReport(createProject({}, sharedFolder()), { noCache: true });
  firstEdited = await buildAndReport(createProject(edited, sharedFolder()), { noCache: true });
});

/** Reads inodes and times below a folder, which reveal a write of the same bytes. */
function readStates(root: string): Record<string, string> {
  const paths = readdirSync(root, { recursive: true, encoding: 'utf8' });
  const entries = paths.map((path): [string, string] => {
    const { ino, mtimeMs, ctimeMs } = statSync(join(root, path));
    return [path, `${ino} ${mtimeMs} ${ctimeMs}`];
  });
  return Object.fromEntries(entries);
}

describe('a build without changes', () => {
  test('writes nothing, and returns the same report', async () => {
    const files = { 'content/blog/news/third.md': article({ date: '2027-01-01' }, '[gone](gone.md)\n') };
    const root = createProject(files);
    const before = await buildAndReport(root, { lenient: true });
    expect(before.diagnostics).toHaveLength(1);
    const states = readStates(join(root, 'dist'));
    expect(await buildAndReport(root, { lenient: true })).toEqual(before);
    expect(readStates(join(root, 'dist'))).toEqual(states);
  });

  test('publishes a scheduled article on its day, and removes it on an earlier day', async () => {
    const files = { 'content/blog/news/third.md': article({ date: '2027-01-01' }, 'Later.\n') };
    const root = createProject(files);
    const before = await buildAndReport(root);
    expect(before.summary).toMatchObject({ scheduled: 1, nextChangeAt: '2027-01-01' });
    expect(await buildAndReport(root, { now: '2026-12-31' })).toEqual(before);
    const due = await buildAndReport(root, { now: '2027-01-01' });
    expect(due.summary).toMatchObject({ scheduled: 0, nextChangeAt: null, counts: { blogArticles: 3 } });
    expect(await buildAndReport(root)).toEqual(before);
  });
});

describe('a build after a change equals a first build to the byte:', () => {
  const moved = (from: string, to: string): Files => ({
    [`content/${from}`]: undefined,
    [`content/${to}`]: validProject[`content/${from}`],
  });
  const [firstMd, secondMd] = ['content/blog/news/first.md', 'content/blog/news/second.md'];
  const sshMd = 'content/knowledgebase/vps/ssh.md';
  const textOf = (file: string): string => String(validProject[file]);
  const firstFields = { title: 'First', date: '2026-01-02' };
  const firstText = 'Hello *world*.\n\n## Details\n\nMore.\n';
  const second = textOf(secondMd);
  const sshGuide = textOf(sshMd);
  const changes: [string, Files, Options?][] = [
    ['a text', { [firstMd]: article(firstFields, '## Details\n\nOther words.\n') }],
    ['a title', { [firstMd]: article({ title: 'Another', date: '2026-01-02' }, firstText) }],
    ['a description', { [firstMd]: article({ ...firstFields, description: 'More.' }, firstText) }],
    ['an author', { [firstMd]: article({ ...firstFields, author: 'Ada' }, firstText) }],
    ['tags', { [firstMd]: article({ ...firstFields, tags: '[a, b]' }, firstText) }],
    ['a day of change', { [firstMd]: article({ ...firstFields, updated: '2026-05-06' }, firstText) }],
    ['a title of a guide', { [sshMd]: sshGuide.replace('Connect with', 'Use') }],
    ['a description of a guide', { [sshMd]: sshGuide.replace('How it is', 'What is') }],
    ['tags of a guide', { [sshMd]: sshGuide.replace('---\n', '---\ntags: [a]\n') }],
    ['the text of a guide', { [sshMd]: sshGuide.replace('Use `ssh`', '## New words') }],
    ['code in a guide', { [sshMd]: `${sshGuide}\n\`\`\`sh\nls\n\`\`\`\n` }],
    ['authors.yaml', { 'content/authors.yaml': 'Marit: { picture: /media/kb/map.svg, url: "https://a.example" }\n' }],
    ['SITE_URL', {}, { urls: { ...siteUrls, site: 'https://b.example' } }],
    ['PUBLIC_URL', {}, { urls: { ...siteUrls, service: 'https://b.example' } }],
    ['SITE_NAME', {}, { urls: { ...siteUrls, name: 'Nord' } }],
    ['SUPPORT_URL', {}, { urls: { ...siteUrls, support: 'https://b.example/help' } }],
    ['monitors', { 'catalog/status.yaml': textOf('catalog/status.yaml').replace('example.com', 'example.org') }],
    ['maintenance', { 'catalog/status.yaml': textOf('catalog/status.yaml').replace('Move', 'Big move') }],
    ['prices', { 'catalog/domains.yaml': textOf('catalog/domains.yaml').replace('9.5', '9.4') }],
    ['an added article', { 'content/knowledgebase/vps/new.md': guide('New', 'See [SSH](ssh.md).\n') }],
    ['a removed article', { [secondMd]: undefined }],
    ['a renamed article', moved('blog/news/second.md', 'blog/news/renamed.md')],
    ['an article in another category', moved('knowledgebase/dns/records.md', 'knowledgebase/vps/records.md')],
    ['a draft', { [secondMd]: article({ draft: 'true' }, 'Not yet.\n') }],
    ['a scheduled article', { [secondMd]: article({ date: '2030-01-01' }, 'Not yet.\n') }],
    ['an alias', { [secondMd]: second.replace('---\n', '---\naliases: [/blog/news/old]\n') }],
    ['the name of a category', { 'content/knowledgebase/vps/category.yaml': 'name: Servers\n' }],
    ['a removed name of a category', { 'content/knowledgebase/vps/category.yaml': undefined }],
    ['a name of a category in an article', { [secondMd]: article({ category: 'Our news' }, 'Text.\n') }],
    ['an image', { 'content/media/kb/map.svg': '<svg xmlns="http://www.w3.org/2000/svg" width="1"/>\n' }],
    ['an added image', { 'content/media/kb/new.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>\n' }],
    ['a plan', { 'catalog/games/minecraft.yaml': validProject['catalog/services/web.yaml'] }],
    ['removed domains', { 'catalog/domains.yaml': undefined }, { allowEmpty: true }],
    ['a dead link', { [secondMd]: article({}, '[x](first.md#no)\n') }, { lenient: true }],
    ['a link to a removed heading', { [firstMd]: article({}, 'No heading.\n') }, { lenient: true }],
    ['a link to a removed article', { [firstMd]: undefined }, { lenient: true }],
    ['a link to a draft', { [firstMd]: article({ draft: 'true' }, 'x\n') }],
    ['an error', { [secondMd]: article({ date: 'soon' }, 'Text.\n') }],
    ['a backup of an editor', { [`${secondMd}.bak`]: 'Text.\n' }],
  ];
  const [firstFile, sshFile] = ['blog/article/news/first.json', 'kb/article/vps/ssh.json'];
  /** The files each change writes, below public/v1/ by default and without /docs; all other files are links. */
  const writes: Readonly<Record<string, string>> = {
    'a text': `${firstFile} blog/feed.xml`,
    'a title': `${firstFile} blog/feed.xml blog/list.json openapi.json`,
    tags: 'blog/feed.xml blog/index/news.json openapi.json',
    // The articles are sorted by their titles.
    'a title of a guide': `${sshFile} kb/list.json kb/list/vps.json kb/search.json sitemap.xml openapi.json`,
    'the text of a guide': `${sshFile} kb/search.json openapi.json`,
    'code in a guide': `${sshFile} kb/search.json openapi.json`,
    'authors.yaml': 'blog/feed.xml blog/authors.json openapi.json',
    SITE_URL: 'blog/feed.xml sitemap.xml openapi.json',
    PUBLIC_URL: `blog/feed.xml openapi.json service-status.js service-status.json service-status.${version}.js`,
    SITE_NAME: 'blog/feed.xml openapi.json',
    SUPPORT_URL: 'openapi.json',
    monitors: 'private/status.json',
    maintenance: 'private/status.json status/maintenance.json openapi.json',
    prices: 'private/domains.json',
    'an alias': 'blog/feed.xml private/aliases.json redirects.json openapi.json',
    'the name of a category': `${sshFile} kb/list.json kb/list/vps.json kb/search.json kb/categories.json openapi.json`,
    'an image': 'public/media/kb/map.svg',
    'a plan': 'plans.json openapi.json',
  };
  const toFiles = (list: string): string[] =>
    // The hashes change with each public file.
    `${list}${/^private\/\S+$/.test(list) ? '' : ' content.json'}`.split(' ').flatMap((file) => {
      const path = /^p(?:ublic|rivate)\//.test(file) ? file : `public/v1/${file}`;
      return path.endsWith('.svg') ? [path] : [path, `${path}.gz`, `${path}.br`];
    });
  const inodesOf = (folder: string): Record<string, string> =>
    Object.fromEntries(Object.entries(readStates(folder)).map(([path, state]) => [path, state.split(' ', 1)[0]!]));

  let root: string;
  beforeAll(async () => {
    root = createProject({}, sharedFolder());
    await buildAndReport(root);
  });
  /** The kinds of files that have changed so far. */
  const changed = new Set<string>();
  const nameOf = (file: string): string => matchFile(file.replace(/\.(?:gz|br)$/, ''))?.name ?? file;

  test.each(changes)('%s', async (name, files, options = {}) => {
    // Builds with vanished paths are not remembered, and the previous row may have caused one.
    if (name in writes) await buildAndReport(root);
    const before = inodesOf(currentOf(root));
    writeFiles(root, files);
    const after = await buildAndReport(root, options);
    expect(after).toEqual(await buildFresh(files, options));
    if (after.tree) for (const file of changedPaths(first.tree!, after.tree)) changed.add(nameOf(file));
    const written = changedPaths(before, inodesOf(currentOf(root)));
    // Undo the change.
    writeFiles(root, { ...Object.fromEntries(Object.keys(files).map((path) => [path, undefined])), ...validProject });
    expect(await buildAndReport(root)).toEqual(first);
    if (!(name in writes)) return;
    expect(written.filter((path) => path in after.tree! && !/^(?:public\/docs|operators)\//.test(path))).toEqual(
      ['manifest.json', ...toFiles(writes[name]!)].toSorted(),
    );
  });

  test('the changes cover every kind of file made from sources', () => {
    const names = new Set(Object.keys(first.tree!).map(nameOf));
    const ofGenerator = Array.from(names).filter((name) => !changed.has(name));
    expect(ofGenerator.toSorted()).toEqual(['getArticleStyle', 'sourceSchema']);
  });
});

describe('a file of the previous release', () => {
  const unchanged = 'public/v1/kb/article/vps/ssh.json';
  const others = [unchanged, `${unchanged}.br`, 'public/v1/kb/list.json', 'public/media/kb/map.svg'];

  test('is hard-linked if unchanged', async () => {
    const root = createProject();
    await buildAndReport(root);
    const before = currentOf(root);
    writeFiles(root, edited);
    await buildAndReport(root);
    const after = currentOf(root);
    expect(after).not.toBe(before);
    for (const file of [...others, `${unchanged}.gz`]) {
      expect(statSync(join(after, file)).ino).toBe(statSync(join(before, file)).ino);
    }
    expect(statSync(join(after, 'public/v1/blog/article/news/first.json')).nlink).toBe(1);
  });

  test.each<[string, (file: string) => void]>([
    ['is missing', (file) => rmSync(file)],
    ['is longer', (file) => appendFileSync(file, ' ')],
    ['has a flipped bit', flipBit],
    ['was touched', (file) => utimesSync(file, new Date(), new Date(Date.now() + 60_000))],
  ])('that %s is written again', async (_, damage) => {
    const root = createProject();
    await buildAndReport(root);
    const damaged = [...others, 'public/v1/openapi.json'];
    // Without an edit, one damaged file causes a new release; with an edit, each file is checked.
    for (const [files, changes] of [...damaged.map((file) => [[file], {}] as const), [damaged, edited] as const]) {
      // Timestamps of some file systems tick every few milliseconds.
      const past = new Date(Date.now() - 60_000);
      for (const path of Object.keys(readTree(currentOf(root)))) utimesSync(join(currentOf(root), path), past, past);
      for (const file of files) damage(join(currentOf(root), file));
      writeFiles(root, changes);
      const { id } = await buildAndReport(root);
      expect((await verifyRelease(currentOf(root))).id, files.join()).toBe(id);
    }
  });
});

test('with a damaged memory of the last build, the next build is correct', async () => {
  const root = createProject();
  await buildAndReport(root);
  for (const [files, expected] of [
    [{}, first],
    [edited, firstEdited],
  ] as const) {
    flipInMemo(root, Buffer.from('"manifestHash":"'));
    writeFiles(root, files);
    expect(await buildAndReport(root)).toEqual(expected);
  }
});

test('with a damaged manifest of the last release, the next release is correct', async () => {
  const root = createProject();
  await buildAndReport(root);
  const manifest = join(currentOf(root), 'manifest.json');
  // The ID does not depend on the hashes of compressed files.
  const damaged = readFileSync(manifest, 'utf8').replace(/(?<=\.gz":\{[^}]*"sha256":")./, (digit) =>
    digit === '0' ? '1' : '0',
  );
  writeFileSync(manifest, damaged);
  writeFiles(root, edited);
  expect(await buildAndReport(root)).toEqual(firstEdited);
});

describe('a build fails and keeps the release if a source changes meanwhile:', () => {
  const [late, image] = ['content/knowledgebase/vps/ssh.md', 'content/media/kb/map.svg'];
  // Enough text that the build finishes the first articles before it reads the last.
  const page = article({}, `${'Some words of text. '.repeat(100)}\n`);
  let root: string;
  beforeAll(async () => {
    const pages = Array.from({ length: 90 }, (_, at): [string, string] => [`content/blog/news/page-${at}.md`, page]);
    root = createProject(Object.fromEntries(pages), sharedFolder());
    await buildProject(root);
  });

  test.each<[string, string, () => void]>([
    ['an article', late, () => writeFiles(root, { [late]: guide('Connect with SSH', 'Meanwhile.\n') })],
    ['an article that is removed', late, () => rmSync(join(root, late), { force: true })],
    ['an image', image, () => writeFiles(root, { [image]: '<svg/>' })],
    ['an image that is removed', image, () => rmSync(join(root, image), { force: true })],
  ])('%s', async (_, file, progress) => {
    writeFiles(root, { [file]: validProject[file] });
    const { id } = await verifyRelease(currentOf(root));
    const { release, diagnostics } = await buildProject(root, { noCache: true, progress });
    writeFiles(root, { [file]: validProject[file] });
    expect(release).toBeUndefined();
    expect(diagnostics).toMatchObject([
      { file: expect.stringContaining(file), line: 1, message: 'the file changed during the build' },
    ]);
    expect((await verifyRelease(currentOf(root))).id).toBe(id);
  });
});

const memoFile = 'dist/.cache/renders.sqlite';

/** Reads all rows of a memo by table, except the last build, whose inputs contain the project path. */
function readMemo(file: string): Record<string, unknown[]> {
  const database = new DatabaseSync(file);
  const tables = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all();
  const rows = tables.map(({ name }): [string, unknown[]] => [
    String(name),
    database
      .prepare(`SELECT * FROM ${String(name)} ORDER BY 1`)
      .all()
      .filter(({ text }) => !String(text).includes('"nextChangeAt":')),
  ]);
  database.close();
  return Object.fromEntries(rows);
}

/** Overwrites a page of a database. The first page has the schema, the next ones the rows. */
function overwrite(file: string, position: number): void {
  const descriptor = openSync(file, 'r+');
  writeSync(descriptor, Buffer.alloc(4096, 0xee), 0, 4096, position);
  closeSync(descriptor);
}

let built: string;
let plain: Awaited<ReturnType<typeof buildAndRead>>;
let sound: ReturnType<typeof readMemo>;
beforeAll(async () => {
  built = createProject({}, sharedFolder());
  plain = await buildAndRead(built);
  sound = readMemo(join(built, memoFile));
});

/** Creates a project with a memo of the same files, but without a release. */
function createRemembered(): string {
  const root = createProject();
  cpSync(join(built, 'dist/.cache'), join(root, 'dist/.cache'), { recursive: true });
  return root;
}

test('a release is the same with an empty, a full and a foreign memo', async () => {
  expect(await buildAndRead(createProject())).toEqual(plain);
  expect(sound['encodings']).toHaveLength(4);
  const root = createRemembered();
  let rendered = 0;
  expect(await buildAndRead(root, { progress: (step) => (rendered += Number(step === 'rendering')) })).toEqual(plain);
  expect(rendered).toBe(0);
  expect(readMemo(join(root, memoFile))).toEqual(sound);
  const other = createProject({ 'content/blog/news/first.md': article({}, '## Details\n') });
  cpSync(join(built, 'dist/.cache'), join(other, 'dist/.cache'), { recursive: true });
  expect(await buildAndRead(other)).toEqual(await buildAndRead(other));
});

test('articles with the same text in different folders have separate memo entries', async () => {
  const text = guide('Same', '[here](same.md) ![map](../../media/kb/map.svg) [there](../dns/records.md)\n');
  const files = { 'content/knowledgebase/vps/same.md': text, 'content/knowledgebase/dns/same.md': text };
  const fresh = await buildAndRead(createProject(files));
  const root = createProject(files);
  expect(await buildAndRead(root)).toEqual(fresh);
  expect(await buildAndRead(root)).toEqual(fresh);
});

test.each([
  ['a title', Buffer.from('Connect with SSH')],
  ['a compressed file', gzipStart],
])('an article is rendered again if a bit of %s is flipped in the memo', async (_, part) => {
  const root = createRemembered();
  flipInMemo(root, part);
  expect(readMemo(join(root, memoFile))).not.toEqual(sound);
  expect(await buildAndRead(root)).toEqual(plain);
  expect(readMemo(join(root, memoFile))).toEqual(sound);
});

test.each<[string, (file: string) => void]>([
  ['that is not a database', (file) => writeFileSync(file, '{"html":"<script>alert(1)</script>"}')],
  ['that is empty', (file) => truncateSync(file, 0)],
  ['that is truncated', (file) => truncateSync(file, 5000)],
  ['whose table is overwritten', (file) => overwrite(file, 4096)],
  ['whose index is overwritten', (file) => overwrite(file, 8192)],
  [
    'with other tables',
    (file) => {
      rmSync(file);
      for (const name of Object.keys(sound)) new DatabaseSync(file).exec(`CREATE TABLE ${name} (other TEXT)`);
    },
  ],
])('a memo %s is created again', async (_, damage) => {
  const root = createRemembered();
  damage(join(root, memoFile));
  for (const attempt of ['damage detected', 'filled again']) {
    rmSync(join(root, 'dist/releases'), { recursive: true, force: true });
    expect(await buildAndRead(root), attempt).toEqual(plain);
  }
  expect(readMemo(join(root, memoFile))).toEqual(sound);
});

test('a release is the same if the memo cannot be written', async () => {
  const root = createProject();
  mkdirSync(join(root, memoFile), { recursive: true });
  expect(await buildAndRead(root)).toEqual(plain);
});
