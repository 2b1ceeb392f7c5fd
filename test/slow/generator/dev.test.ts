import { execFileSync } from 'node:child_process';
import { hash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { Manifest } from '#contract/release.ts';
import { matchFile } from '#contract/endpoints.ts';
import { previewFolderOf } from '../../../generator/dev.ts';
import { loadSearch, readTree } from '../../generator/releases.ts';
import { startDev, watchProject } from '../../helpers/dev.ts';
import { findFreePort } from '../../helpers/free-port.ts';
import { skipWithout } from '../../helpers/permitted.ts';
import {
  article,
  buildProject,
  createProject,
  guide,
  runProgram,
  startProgram,
  validProject,
  writeFiles,
} from '../../helpers/project.ts';
import type { Files } from '../../helpers/project.ts';
import { findActing } from '../../helpers/terminal.ts';
import { ask, send } from '../../server/ask.ts';
import type { Answer } from '../../server/ask.ts';
import { eventually } from '../../server/shared.ts';

const firstJson = 'public/v1/blog/article/news/first.json';

/** Replaces a file in one step, which starts one build even on a busy machine. */
function replaceFile(root: string, path: string, text: string): void {
  writeFileSync(join(root, 'saved'), text);
  renameSync(join(root, 'saved'), join(root, path));
}

test('added, moved and removed articles, folders and media change the preview', async () => {
  const dev = await startDev();
  writeFiles(dev.root, {
    'content/knowledgebase/new/page.md': guide('Page', '![New](../../media/new.svg)\n'),
    'content/media/new.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>\n',
  });
  await expect.poll(() => dev.read('public/v1/kb/list/new.json'), eventually).toContain('/knowledgebase/new/page');
  await expect.poll(() => dev.read('public/media/new.svg'), eventually).toContain('<svg');
  renameSync(join(dev.root, 'content/knowledgebase/new'), join(dev.root, 'content/knowledgebase/moved'));
  await expect.poll(() => dev.read('public/v1/kb/list/moved.json'), eventually).toContain('/knowledgebase/moved/page');
  // The removal may be seen later.
  await expect.poll(() => dev.read('public/v1/kb/list/new.json'), eventually).toBe('');
  expect(existsSync(join(dev.root, 'dist/.dev/current/public/v1/kb/article/new'))).toBe(false);
  rmSync(join(dev.root, 'content/knowledgebase/moved'), { recursive: true });
  await expect.poll(() => dev.read('public/v1/kb/list/moved.json'), eventually).toBe('');
  expect(JSON.parse(dev.read('public/v1/kb/list.json'))).toHaveLength(2);
});

const svg = (id: string): string => `<svg xmlns="http://www.w3.org/2000/svg" id="${id}"/>\n`;

test('a folder can replace a file and a file a folder, but a link is refused', async () => {
  const dev = await startDev({ 'content/media/a.svg': svg('a'), 'content/media/b.svg/c.svg': svg('c') });
  const path = (name: string): string => join(dev.root, 'content/media', name);
  for (const name of ['a.svg', 'b.svg']) rmSync(path(name), { recursive: true });
  writeFiles(dev.root, { 'content/media/a.svg/d.svg': svg('d'), 'content/media/b.svg': svg('b') });
  await expect
    .poll(() => dev.read('public/media/a.svg/d.svg') + dev.read('public/media/b.svg'), eventually)
    .toBe(svg('d') + svg('b'));
  // The folder b.svg is removed first; its file may be reported last.
  await expect.poll(dev.printed, eventually).toContain('removed content/media/b.svg/c.svg');
  // The link is created outside the watched folders and moved, which is a single change.
  symlinkSync(path('a.svg/d.svg'), join(dev.root, 'link'));
  renameSync(join(dev.root, 'link'), path('b.svg'));
  await expect.poll(dev.printed, eventually).toMatch(/content\/media\/b\.svg:1:1 .+\n.+not built/);
  for (const name of ['a.svg', 'b.svg']) rmSync(path(name), { recursive: true });
  const isShown = (name: string): boolean => existsSync(join(dev.root, 'dist/.dev/current/public/media', name));
  await expect.poll(() => isShown('a.svg') || isShown('b.svg'), eventually).toBe(false);
});

test('an error is printed once, named at each save, and keeps the last preview; a warning is printed once', async () => {
  const dead = { 'content/blog/news/dead.md': article({}, '[gone](gone.md)\n') };
  const dev = await startDev(dead, ['--no-serve', '--lenient']);
  const before = dev.read(firstJson);
  writeFiles(dev.root, { 'content/blog/news/first.md': article({ date: 'soon' }, '## Details\n\nChanged.\n') });
  const error =
    /content\/blog\/news\/first\.md:4:7 {2}.+\nchanged content\/blog\/news\/first\.md; not built: \d articles, .+1 error, /;
  await expect.poll(dev.printed, eventually).toMatch(error);
  writeFiles(dev.root, { 'content/blog/news/second.md': article({ title: 'Second' }, 'Changed too.\n') });
  const again = /changed content\/blog\/news\/second\.md; not built, still content\/blog\/news\/first\.md:4:7 /;
  await expect.poll(dev.printed, eventually).toMatch(again);
  expect(dev.read(firstJson)).toBe(before);
  expect(dev.read('public/v1/blog/article/news/second.json')).not.toContain('Changed too');
  writeFiles(dev.root, { 'content/blog/news/first.md': article({ title: 'First' }, 'Fixed.\n') });
  await expect.poll(() => dev.read(firstJson), eventually).toContain('Fixed');
  await expect.poll(() => dev.read('public/v1/blog/article/news/second.json'), eventually).toContain('Changed too');
  expect(dev.printed().match(/^content\/blog\/news\/first\.md:4:7/gm)).toHaveLength(1);
  expect(dev.printed().match(/warning: there is no article/g)).toHaveLength(1);
});

test('without the address 127.0.0.1 dev ends with a sentence', async (context) => {
  const isolate = (command: string) => {
    const shell = `ip link set lo up && ip address delete 127.0.0.1/8 dev lo && exec ${command}`;
    return runProgram('unshare', ['--map-root-user', '--net', 'sh', '-c', shell], { cwd: createProject() });
  };
  if ((await isolate('true')).status !== 0) context.skip('unshare or ip cannot be used here');
  const main = resolve(import.meta.dirname, '../../../generator/main.js');
  const { status, stderr } = await isolate(`timeout 60 '${process.execPath}' '${main}' dev`);
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr: 'the preview cannot listen on 127.0.0.1 (EADDRNOTAVAIL): set up the loopback interface\n',
  });
});

const generator = resolve(import.meta.dirname, '../../../generator/main.js');

test.for([
  ['watches', 3],
  ['instances', 0],
] as const)('if the system allows few %s of inotify, dev says so and builds', async ([name, value], context) => {
  const limited = (command: string) => {
    const shell = `echo ${value} > /proc/sys/user/max_inotify_${name} && exec ${command}`;
    return ['--user', '--map-root-user', 'sh', '-c', shell] as const;
  };
  skipWithout(context, ['unshare', ...limited('true')]);
  const dev = startProgram('unshare', limited(`'${process.execPath}' '${generator}' dev --no-serve`), {
    cwd: createProject(),
    env: { PATH: process.env.PATH },
  });
  await dev.prints(/built: 4 articles/);
  const remedy = `set CHOKIDAR_USEPOLLING=1, or raise fs.inotify.max_user_${name} with sysctl, and restart dev`;
  const line = `the system allows no more file watches, so some changes are not seen: ${remedy}\n`;
  expect(dev.output().startsWith(line)).toBe(true);
  expect(dev.output()).not.toContain('    at ');
});

test('a folder that this user may not read is one problem of check, build and dev, which goes on', async () => {
  const root = createProject({ 'content/knowledgebase/dns/more.md': guide('More', '[SSH](../vps/ssh.md).\n') });
  mkdirSync(join(root, 'dist'));
  const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  execFileSync('chown', ['-R', String(user.uid ?? process.getuid?.()), root]);
  const folder = join(root, 'content/knowledgebase/vps');
  chmodSync(folder, 0);
  onTestFinished(() => chmodSync(folder, 0o700));
  const problem =
    'content/knowledgebase/vps:1:1  the folder cannot be read (EACCES) (make it readable for the user of this command)\n';
  const options = { cwd: root, env: { PATH: process.env.PATH }, ...user };
  for (const command of ['check', 'build']) {
    const { status, stderr } = await runProgram(process.execPath, [generator, command], options);
    expect({ status, stderr: stderr.replace(/^failed: .*\n/m, '') }).toEqual({ status: 1, stderr: problem });
  }
  const dev = startProgram(process.execPath, [generator, 'dev', '--no-serve'], options);
  await dev.prints(/watching content and catalog; press Ctrl-C to stop\n/);
  expect(dev.output()).toMatch(
    /^EACCES: .*content\/knowledgebase\/vps.*, so some changes are not seen: make it readable, /m,
  );
  chmodSync(folder, 0o700);
  writeFiles(root, { 'content/blog/news/first.md': article({}, '## Details\n\nSaved.\n') });
  await dev.prints(/first\.md.*; built: 5 articles/);
});

test('a preview folder of another user ends dev with a sentence', async () => {
  const root = createProject();
  mkdirSync(join(root, 'dist/.dev/current'), { recursive: true });
  chmodSync(join(root, 'dist/.dev'), 0);
  const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  chmodSync(root, 0o755);
  const { status, stderr } = await runProgram(process.execPath, [generator, 'dev'], { cwd: root, ...user });
  const remedy = 'remove it as its owner, or use --out';
  expect({ status, stderr }).toEqual({ status: 1, stderr: `dist/.dev cannot be removed (EACCES): ${remedy}\n` });
});

test('after a first build with errors, dev announces the later preview', async () => {
  const dev = await startDev({ 'content/blog/news/first.md': article({ date: 'soon' }, 'Text.\n') });
  await expect.poll(dev.printed, eventually).toContain('the preview starts when the problems are fixed\n');
  writeFiles(dev.root, { 'content/blog/news/first.md': article({}, '## Details\n') });
  await expect.poll(dev.printed, eventually).toMatch(/changed content\/blog\/news\/first\.md; built: /);
});

/** Starts `dev` with its server, and waits until it is ready. */
async function serveDev(files: Files, settings: Readonly<Record<string, string>> = {}) {
  const port = await findFreePort();
  const dev = await startDev(files, [], { PORT: String(port), DNS_SERVERS: 'off', ...settings });
  const get = (target: string, headers = {}): Promise<Answer> => ask({ port }, target, { headers });
  const ready = () =>
    get('/ready').then(
      ({ status }) => status,
      () => 0,
    );
  await expect.poll(ready, eventually).toBe(200);
  return { dev, port, get, ready };
}

test('the server of dev shows first problems, serves each saved change, and stops with dev', async () => {
  const { dev, get, ready } = await serveDev({ 'content/blog/news/first.md': article({ date: 'soon' }, 'Text.\n') });
  const read = async (target: string): Promise<string> => {
    const { status, text } = await get(target);
    return `${status} ${text}`;
  };
  await expect.poll(() => read('/preview'), eventually).toMatch(/^200 [^]*first\.md:4:7/);
  expect(await read('/v1/blog/list')).toBe('200 []\n');
  writeFiles(dev.root, { 'content/blog/news/first.md': article({}, '## Details\n') });
  await expect.poll(() => read('/v1/blog/list'), eventually).toContain('/blog/news/first');
  expect(await read('/preview')).not.toContain('class="overlay"');
  writeFiles(dev.root, { 'content/blog/news/first.md': article({}, '## Details\n\nHello *reader*.\n') });
  await expect.poll(() => read('/v1/blog/article?path=/blog/news/first'), eventually).toContain('<em>reader</em>');
  expect(await dev.end()).toBe(0);
  expect(await ready()).toBe(0);
});

test('temporary files of editors are ignored, and each save prints one line', async () => {
  const dev = await startDev({ 'content/blog/news/first.md~': 'x' });
  const lines = () => dev.printed().match(/^.*\bbuilt: .*$/gm) ?? [];
  expect(lines()).toHaveLength(1);
  const own = ['#x.md#', 'x.md~', '4913', 'x.md.tmp', 'x.md.orig', 'Thumbs.db', '~$x.docx'];
  writeFiles(dev.root, Object.fromEntries(own.map((name) => [`content/blog/news/${name}`, 'x'])));
  execFileSync('sed', ['-i', 's/Hello/Good morning/', join(dev.root, 'content/blog/news/first.md')]);
  await expect.poll(() => dev.read(firstJson), eventually).toContain('Good morning');
  rmSync(join(dev.root, 'content/blog/news/4913'));
  replaceFile(dev.root, 'content/blog/news/first.md', article({}, '## Details\n\nLast.\n'));
  await expect.poll(() => dev.read(firstJson), eventually).toContain('Last.');
  await expect
    .poll(lines, eventually)
    .toEqual([
      expect.stringMatching(/^built: 4 articles, 0 warnings/),
      ...[1, 2].map(() =>
        expect.stringMatching(/^changed content\/blog\/news\/first\.md; built: 4 articles, 0 warnings/),
      ),
    ]);
});

test('a file in the wrong folder is an error until it is removed', async () => {
  const dev = await startDev();
  mkdirSync(join(dev.root, 'content/odd'));
  writeFileSync(join(dev.root, 'content/odd/page.md'), 'text');
  await expect.poll(dev.printed, eventually).toContain('content/odd/page.md:1:1  this file is out of place');
  // The new folder may have started a separate build.
  await expect.poll(dev.printed, eventually).toContain('added content/odd/page.md; not built');
  rmSync(join(dev.root, 'content/odd'), { recursive: true });
  await expect.poll(dev.printed, eventually).toMatch(/removed content\/odd\/page\.md; built: 4 articles/);
});

test('browsers revalidate every answer of dev, which has no limit for content', async () => {
  const { dev, get } = await serveDev(
    {},
    { DATA_DIR: 'data', CONTENT_RATELIMIT_BURST: '1', CONTENT_RATELIMIT_RPS: '1' },
  );
  const { files } = Manifest.parse(JSON.parse(dev.read('manifest.json')));
  const targets = Object.keys(files).flatMap((file) => matchFile(file)?.target ?? []);
  for (const target of [...targets, '/v1/domains/tlds', '/v1/kb/list?category=none']) {
    // The first answer is from disk, the second from memory.
    for (let time = 0; time < 2; time += 1) {
      const { status, headers } = await get(target);
      expect({ target, status, cache: headers['cache-control'] }).toEqual({ target, status: 200, cache: 'no-cache' });
      const again = await get(target, { 'If-None-Match': headers.etag });
      expect({ target, status: again.status, cache: again.headers['cache-control'] }).toEqual({
        target,
        status: 304,
        cache: 'no-cache',
      });
    }
  }
  for (const target of ['/media/none.svg', '/v1/blog/article?path=/blog/news/none']) {
    expect((await get(target)).headers['cache-control']).toBe('no-cache');
  }
  expect((await get('/v1/info')).headers['cache-control']).toBe('no-store');
});

test('an empty catalog is refused until it has a plan; a catalog that becomes empty keeps the preview', async () => {
  const plan = 'catalog/services/web.yaml';
  const dev = await startDev({ [plan]: undefined, 'catalog/games/minecraft.yaml': undefined });
  expect(dev.printed()).toMatch(/^catalog:1:1 {2}the catalog contains no plans \(add a plan to [^\n]*\)\nnot built: /);
  expect(dev.read('public/v1/plans.json')).toBe('');
  writeFiles(dev.root, { [plan]: validProject[plan] });
  await expect.poll(() => dev.read('public/v1/plans.json'), eventually).toContain('Web hosting');
  rmSync(join(dev.root, plan));
  await expect.poll(() => dev.printed().match(/the catalog contains no plans/g)?.length, eventually).toBe(2);
  expect(dev.read('public/v1/plans.json')).toContain('Web hosting');
});

test('after a failed write, the next change writes the preview', async () => {
  const root = createProject();
  const { results, failures } = await watchProject(root);
  const folder = previewFolderOf(join(root, 'dist'));
  const read = (file: string): string => readFileSync(join(folder, 'current/public/v1', file), 'utf8');
  rmSync(folder, { recursive: true });
  writeFileSync(folder, 'in the way');
  const names = ['first', 'second'];
  for (const [failed, name] of names.entries()) {
    replaceFile(
      root,
      `content/blog/news/${name}.md`,
      article({ title: `A title of ${name}` }, '## Details\n\nOnce.\n'),
    );
    await expect.poll(() => failures.length, eventually).toBe(failed + 1);
  }
  rmSync(folder);
  replaceFile(root, 'content/knowledgebase/vps/ssh.md', guide('Keys', 'Twice.\n'));
  await expect.poll(() => results.length, eventually).toBe(2);
  expect(results[1]!.release!.id).toBe(JSON.parse(read('../../manifest.json')).id);
  expect(read('kb/article/vps/ssh.json')).toContain('Twice');
  for (const name of names) expect(read(`blog/article/news/${name}.json`)).toContain('Once');
});

test('a change during the first build is built next', async () => {
  const text = guide('Page', 'Text. '.repeat(2000));
  const pages = Array.from({ length: 150 }, (_, index) => [`content/knowledgebase/dns/page-${index}.md`, text]);
  const root = createProject(Object.fromEntries(pages) as Record<string, string>);
  const out = join(root, 'dist');
  const watched = watchProject(root);
  const file = join(previewFolderOf(out), 'current/public/v1/kb/article/dns/page-59.json');
  // The memo has the first articles: the build is running.
  const sizeOfMemo = (): number => statSync(join(out, '.cache/renders.sqlite'), { throwIfNoEntry: false })?.size ?? 0;
  await expect.poll(sizeOfMemo, { ...eventually, interval: 1 }).toBeGreaterThan(50_000);
  expect(existsSync(file)).toBe(false);
  writeFiles(root, { 'content/knowledgebase/dns/page-59.md': guide('Page', 'Saved meanwhile.\n') });
  const { failures } = await watched;
  await expect.poll(() => existsSync(file) && readFileSync(file, 'utf8'), eventually).toContain('Saved meanwhile');
  expect(failures).toEqual([]);
});

const [first, second] = ['content/blog/news/first.md', 'content/blog/news/second.md'];
const [ssh, records] = ['content/knowledgebase/vps/ssh.md', 'content/knowledgebase/dns/records.md'];

const searchIndex = 'public/v1/kb/search.json';
const contentHashes = 'public/v1/content.json';

/** The parts of a MiniSearch index with article numbers. */
interface Index {
  readonly nextId: number;
  readonly documentIds: Readonly<Record<string, string>>;
  readonly fieldLength: Readonly<Record<string, unknown>>;
  readonly storedFields: Readonly<Record<string, unknown>>;
  readonly index: readonly (readonly [string, Readonly<Record<string, Readonly<Record<string, number>>>>])[];
}

/**
 * Replaces article numbers in the search index by paths, sorts its terms, and drops its hash: in `dev`, they depend on the
 * order of saves.
 */
function withNamedArticles(tree: Readonly<Record<string, string>>): Record<string, unknown> {
  const { index, ...file } = JSON.parse(Buffer.from(tree[searchIndex] ?? '', 'latin1').toString() || '{}') as {
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
  const hashes = tree[contentHashes]?.replace(/(?<="\/v1\/kb\/search\.json":")[0-9a-f]+/, '');
  return { ...tree, [searchIndex]: compared, [contentHashes]: hashes };
}

/** Changes, applied in this order. */
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
  ['one more change of that article', { [ssh]: guide('After', 'Words.\n') }],
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

test('after each change, the preview has the same bytes as a first build', async () => {
  const root = createProject();
  const { results, failures } = await watchProject(root, { lenient: true });
  const live = join(previewFolderOf(join(root, 'dist')), 'current');
  const now = new Date().toISOString().slice(0, 10);
  for (const [change, files] of changes) {
    writeFiles(root, files);
    // Only a build with a current release warns about vanished paths.
    rmSync(join(root, 'fresh'), { recursive: true, force: true });
    const fresh = await buildProject(root, { out: join(root, 'fresh'), now, lenient: true });
    const { release, widget: _, sources: __, ...summary } = fresh;
    await expect.poll(() => results.at(-1), { message: change }).toMatchObject(summary);
    if (!release) continue;
    const { 'manifest.json': ___, ...expected } = readTree(join(root, 'fresh/current'));
    const plain = Object.entries(expected).filter(([file]) => !/\.(?:gz|br)$/.test(file));
    const read = () => {
      const { 'manifest.json': ____, ...tree } = readTree(live);
      return { tree: withNamedArticles(tree), listed: Object.keys(results.at(-1)!.release!.files) };
    };
    await expect
      .poll(read, { message: change })
      .toEqual({ tree: withNamedArticles(Object.fromEntries(plain)), listed: plain.map(([file]) => file) });
  }
  expect(failures).toEqual([]);
});

const file = 'public/v1/kb/search.json';
/** Creates articles of 1,000 unique long words, which compress badly: 65 kB, or 38 kB in the gzipped index. */
function createArticles(count: number): Files {
  const toBody = (number: number): string =>
    Array.from({ length: 1000 }, (_, word) => hash('sha256', `${number} ${word}`)).join(' ');
  return Object.fromEntries(
    Array.from({ length: count }, (_, number) => [
      `content/knowledgebase/vps/article-${number}.md`,
      guide(`Article ${number}`, `## Section ${number}\n\n${toBody(number)}\n`),
    ]),
  );
}

test('the search index of dev leaves out more than 300,000 characters of text, unlike a release', async () => {
  const files = createArticles(5);
  const dev = await startDev(files);
  const preview = loadSearch(dev.read(file));
  expect([preview.hasText, preview.options.fields]).toEqual([false, ['title', 'description', 'headings', 'tags']]);
  expect(loadSearch(dev.read(file)).find('section')).toHaveLength(5);
  const root = createProject(files);
  await buildProject(root);
  expect(loadSearch(readFileSync(join(root, 'dist/current', file), 'utf8')).hasText).toBe(true);
});

test('the search index of a release leaves out the text above 1 MB in gzip', async () => {
  const root = createProject(createArticles(22));
  const read = (): string => readFileSync(join(root, 'dist/current', file), 'utf8');
  await buildProject(root);
  const large = gzipSync(read()).length;
  expect([loadSearch(read()).hasText, large < 1_000_000, large > 750_000]).toEqual([true, true, true]);
  writeFiles(root, createArticles(30));
  await buildProject(root);
  expect([loadSearch(read()).hasText, loadSearch(read()).find('section').length]).toEqual([false, 30]);
  const path = realpathSync(join(root, 'dist/current', file));
  writeFiles(root, { 'content/knowledgebase/vps/article-1.md': guide('Article 1', '## Section 1\n\nOther words.\n') });
  await buildProject(root);
  const next = realpathSync(join(root, 'dist/current', file));
  expect([next === path, statSync(next).ino === statSync(path).ino]).toEqual([false, true]);
});

/** Starts `dev` with a draft. */
const serveDraft = (settings: Readonly<Record<string, string>> = {}) =>
  serveDev(
    { 'content/blog/news/draft.md': article({ title: 'A draft', draft: 'true' }, 'Text.\n') },
    { RDAP_BOOTSTRAP_URL: 'off', ...settings },
  );

const lists = ['/v1/blog/list', '/v1/blog/list?x=1'];

test('only local pages may read drafts of dev, unless CORS_ORIGINS allows others', async () => {
  const { get } = await serveDraft();
  for (const target of lists) {
    for (const [Origin, isOpen] of [
      ['http://localhost:5173', true],
      ['http://127.0.0.1:8080', true],
      ['http://[::1]:3000', true],
      ['https://evil.example', false],
      ['http://localhost.evil.example', false],
      ['null', false],
    ] as const) {
      const { status, headers } = await get(target, { Origin });
      expect([status, headers['access-control-allow-origin']]).toEqual([200, isOpen ? Origin : undefined]);
    }
  }
  const open = await serveDraft({ CORS_ORIGINS: '*, https://next.example.com' });
  expect((await open.get(lists[0]!, { Origin: 'https://evil.example' })).headers).not.toHaveProperty(
    'access-control-allow-origin',
  );
  for (const Origin of ['https://next.example.com', 'http://localhost:5173']) {
    expect((await open.get(lists[0]!, { Origin })).headers['access-control-allow-origin']).toBe(Origin);
  }
});

test('dev answers 421 to foreign host names, against DNS rebinding', async () => {
  const { port } = await serveDraft({ PUBLIC_URL: 'https://Preview.example.com/api' });
  const get = (target: string, headers: Readonly<Record<string, string>>) => send(port, target, { headers });
  const targets = [...lists, '/preview', '/preview/blog/news/draft', '/preview/events', '/health', '/nothing'];
  for (const path of targets) {
    for (const Host of ['evil.example', `evil.example:${port}`, 'localhost.evil.example', '127.0.0.1.evil.example']) {
      const { status, text } = await get(path, { Host });
      expect({ path, Host, status, leaks: text.includes('draft') }).toEqual({ path, Host, status: 421, leaks: false });
    }
  }
  for (const Host of ['localhost', `LOCALHOST:${port}`, '192.168.1.7:3000', '[fe80::1]:3000', 'preview.example.com']) {
    expect((await get('/preview', { Host })).status).toBe(200);
    expect((await get(lists[0]!, { Host })).status).toBe(200);
  }
  const upgrade = { Host: 'evil.example', Connection: 'Upgrade', Upgrade: 'websocket' };
  expect((await get('/v1/hosting/game/console/demo/stream', upgrade)).status).toBe(421);
});

test('dev escapes control sequences in file names', async () => {
  const dev = await startDev();
  writeFiles(dev.root, { 'content/blog/news/\u001B]0;title\u0007.md': article({}, 'Text.\n') });
  await expect.poll(dev.printed, eventually).toContain('added content/blog/news/\\u001b]0;title\\u0007.md');
  expect(findActing(dev.printed())).toEqual([]);
});
