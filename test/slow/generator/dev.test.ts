import { existsSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Manifest } from '#contract/release.ts';
import { matchResource } from '#contract/resources.ts';
import { startDev } from '../../helpers/dev.ts';
import { findFreePort } from '../../helpers/free-port.ts';
import { article, guide, validProject, writeFiles } from '../../helpers/project.ts';
import { ask } from '../../server/ask.ts';
import type { Answer } from '../../server/ask.ts';
import { eventually } from '../../server/shared.ts';

const first = 'public/v1/blog/article/news/first.json';

test('a saved article is compiled at once, with its lists', async () => {
  const dev = await startDev();
  expect(dev.printed()).toMatch(/^built: 4 articles, 0 warnings, \d+ ms\n/);
  expect(dev.read(first)).toContain('Hello <em>world</em>');
  writeFiles(dev.root, { 'content/blog/news/first.md': article({ title: 'Renewed' }, '## Details\n\nNew *words*.\n') });
  await expect.poll(() => dev.read(first), eventually).toContain('New <em>words</em>');
  await expect.poll(() => dev.read('public/v1/blog/list.json'), eventually).toContain('Renewed');
});

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
  expect(existsSync(join(dev.root, 'dist/.dev/current/public/v1/kb/article/new'))).toBe(false);
  expect(dev.read('public/v1/kb/list/new.json')).toBe('');
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
  // The folder b.svg had to go first; its file may be reported after the others.
  await expect.poll(dev.printed, eventually).toContain('removed content/media/b.svg/c.svg');
  // The link is created outside the watched folders, so that there is one change and not two.
  symlinkSync(path('a.svg/d.svg'), join(dev.root, 'link'));
  renameSync(join(dev.root, 'link'), path('b.svg'));
  await expect.poll(dev.printed, eventually).toMatch(/content\/media\/b\.svg:1:1 .+\n.+not built/);
  for (const name of ['a.svg', 'b.svg']) rmSync(path(name), { recursive: true });
  const isShown = (name: string): boolean => existsSync(join(dev.root, 'dist/.dev/current/public/media', name));
  await expect.poll(() => isShown('a.svg') || isShown('b.svg'), eventually).toBe(false);
});

test('an error is printed once, named at each save, and keeps the old files until it is fixed; a warning is reported once', async () => {
  const dead = { 'content/blog/news/dead.md': article({}, '[gone](gone.md)\n') };
  const dev = await startDev(dead, ['--no-serve', '--lenient']);
  const before = dev.read(first);
  writeFiles(dev.root, { 'content/blog/news/first.md': article({ date: 'soon' }, '## Details\n\nChanged.\n') });
  const error =
    /content\/blog\/news\/first\.md:4:7 {2}.+\nchanged content\/blog\/news\/first\.md; not built: \d articles, .+1 error, /;
  await expect.poll(dev.printed, eventually).toMatch(error);
  writeFiles(dev.root, { 'content/blog/news/second.md': article({ title: 'Second' }, 'Changed too.\n') });
  const again = /changed content\/blog\/news\/second\.md; not built, still content\/blog\/news\/first\.md:4:7 /;
  await expect.poll(dev.printed, eventually).toMatch(again);
  expect(dev.read(first)).toBe(before);
  expect(dev.read('public/v1/blog/article/news/second.json')).not.toContain('Changed too');
  writeFiles(dev.root, { 'content/blog/news/first.md': article({ title: 'First' }, 'Fixed.\n') });
  await expect.poll(() => dev.read(first), eventually).toContain('Fixed');
  await expect.poll(() => dev.read('public/v1/blog/article/news/second.json'), eventually).toContain('Changed too');
  expect(dev.printed().match(/^content\/blog\/news\/first\.md:4:7/gm)).toHaveLength(1);
  expect(dev.printed().match(/warning: there is no article/g)).toHaveLength(1);
});

test('after a first build with errors, dev says when the preview starts', async () => {
  const dev = await startDev({ 'content/blog/news/first.md': article({ date: 'soon' }, 'Text.\n') });
  await expect.poll(dev.printed, eventually).toContain('the preview starts once the problems are fixed\n');
  writeFiles(dev.root, { 'content/blog/news/first.md': article({}, '## Details\n') });
  await expect.poll(dev.printed, eventually).toMatch(/changed content\/blog\/news\/first\.md; built: /);
});

test('a file in the wrong folder is an error until it is removed', async () => {
  const dev = await startDev();
  mkdirSync(join(dev.root, 'content/odd'));
  writeFileSync(join(dev.root, 'content/odd/page.md'), 'text');
  await expect.poll(dev.printed, eventually).toContain('content/odd/page.md:1:1  this file is out of place');
  // The new folder alone may have started a build before.
  await expect.poll(dev.printed, eventually).toContain('added content/odd/page.md; not built');
  rmSync(join(dev.root, 'content/odd'), { recursive: true });
  await expect.poll(dev.printed, eventually).toMatch(/removed content\/odd\/page\.md; built: 4 articles/);
});

test('a browser asks for all that dev serves before it shows it again', async () => {
  const port = await findFreePort();
  const dev = await startDev({}, [], { PORT: String(port), DATA_DIR: 'data', DNS_SERVERS: 'off' });
  const get = (target: string, headers = {}): Promise<Answer> => ask({ port }, target, { headers });
  const ready = () =>
    get('/ready').then(
      ({ status }) => status,
      () => 0,
    );
  await expect.poll(ready, eventually).toBe(200);
  const { files } = Manifest.parse(JSON.parse(dev.read('manifest.json')));
  const targets = Object.keys(files).flatMap((file) => matchResource(file)?.target ?? []);
  for (const target of [...targets, '/v1/domains/tlds', '/v1/kb/list?category=none']) {
    // Each one is answered from the disk first, and then from memory.
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

test('dev starts a server that serves each saved change, and stops with dev', async () => {
  const port = await findFreePort();
  const dev = await startDev({}, [], { PORT: String(port), DATA_DIR: 'data', DNS_SERVERS: 'off' });
  const read = async (): Promise<string> => {
    const url = `http://127.0.0.1:${port}/v1/blog/article?path=/blog/news/first`;
    // oxlint-disable-next-line no-restricted-globals -- A request to our own server, not to an upstream.
    return fetch(url).then(
      (response) => response.text(),
      () => '',
    );
  };
  await expect.poll(read, eventually).toContain('Hello <em>world</em>');
  const text = validProject['content/blog/news/first.md']!.toString().replace('world', 'reader');
  writeFiles(dev.root, { 'content/blog/news/first.md': text });
  await expect.poll(read, eventually).toContain('Hello <em>reader</em>');
  expect(await dev.end()).toBe(0);
  expect(await read()).toBe('');
});

test('an empty catalog is refused until it has a plan, and one that becomes empty leaves the preview as it was', async () => {
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
