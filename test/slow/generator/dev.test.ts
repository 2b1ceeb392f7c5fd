import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { findFreePort } from '../../helpers/free-port.ts';
import { article, createProject, guide, validProject, writeFiles } from '../../helpers/project.ts';
import type { Files } from '../../helpers/project.ts';

const main = resolve(import.meta.dirname, '../../../generator/main.js');
const eventually = { timeout: 20_000, interval: 10 };

/** A running `dev`. */
interface Dev {
  readonly root: string;
  /** Its output so far. */
  readonly printed: () => string;
  /** The text of a file of the preview; empty if the file does not exist. */
  read(file: string): string;
  /** Sends SIGINT; returns the exit status, or the signal that ended it. */
  end(): Promise<number | string>;
}

/** Starts `dev` in a project, and waits until it watches. */
async function startDev(files: Files = {}, args: readonly string[] = ['--no-serve'], env = {}): Promise<Dev> {
  const root = createProject(files);
  const child = spawn(process.execPath, [main, 'dev', ...args], {
    cwd: root,
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let printed = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (printed += chunk.toString()));
  const closed = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
  onTestFinished(async () => {
    child.kill('SIGTERM');
    await closed;
  });
  await expect.poll(() => printed, eventually).toContain('watching content and catalog; press Ctrl-C to stop\n');
  return {
    root,
    printed: () => printed,
    read(file) {
      const path = join(root, 'dist/.dev/current', file);
      return existsSync(path) ? readFileSync(path, 'utf8') : '';
    },
    async end() {
      child.kill('SIGINT');
      const [status, signal] = await closed;
      return status ?? signal!;
    },
  };
}

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

test('a folder can replace a file and a file a folder, but a link is refused', async () => {
  const dev = await startDev({ 'content/media/a.svg': 'A', 'content/media/b.svg/c.svg': 'C' });
  const path = (name: string): string => join(dev.root, 'content/media', name);
  for (const name of ['a.svg', 'b.svg']) rmSync(path(name), { recursive: true });
  writeFiles(dev.root, { 'content/media/a.svg/d.svg': 'D', 'content/media/b.svg': 'B' });
  await expect.poll(() => dev.read('public/media/a.svg/d.svg') + dev.read('public/media/b.svg'), eventually).toBe('DB');
  // The link is created outside the watched folders, so that there is one change and not two.
  symlinkSync(path('b.svg'), join(dev.root, 'link'));
  renameSync(join(dev.root, 'link'), path('a.svg/d.svg'));
  await expect.poll(dev.printed, eventually).toMatch(/content\/media\/a\.svg\/d\.svg:1:1 .+\n.+not built/);
  rmSync(path('a.svg'), { recursive: true });
  await expect.poll(() => existsSync(join(dev.root, 'dist/.dev/current/public/media/a.svg')), eventually).toBe(false);
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

test('a file in the wrong folder is an error until it is removed', async () => {
  const dev = await startDev();
  mkdirSync(join(dev.root, 'content/odd'));
  writeFileSync(join(dev.root, 'content/odd/page.md'), 'text');
  await expect.poll(dev.printed, eventually).toContain('content/odd/page.md:1:1  this file is out of place');
  rmSync(join(dev.root, 'content/odd'), { recursive: true });
  await expect
    .poll(dev.printed, eventually)
    .toMatch(/added content\/odd\/page\.md; not built(?:.|\n)*removed content\/odd\/page\.md; built: 4 articles/);
});

test('dev starts a server that serves each saved change, and stops with dev', async () => {
  const port = await findFreePort();
  const dev = await startDev({}, [], { PORT: String(port), DATA_DIR: 'data', DNS_SERVERS: 'off' });
  const ask = async (): Promise<string> => {
    const url = `http://127.0.0.1:${port}/v1/blog/article?path=/blog/news/first`;
    // oxlint-disable-next-line no-restricted-globals -- A request to our own server, not to an upstream.
    return fetch(url).then(
      (response) => response.text(),
      () => '',
    );
  };
  await expect.poll(ask, eventually).toContain('Hello <em>world</em>');
  const text = validProject['content/blog/news/first.md']!.toString().replace('world', 'reader');
  writeFiles(dev.root, { 'content/blog/news/first.md': text });
  await expect.poll(ask, eventually).toContain('Hello <em>reader</em>');
  expect(await dev.end()).toBe(0);
  expect(await ask()).toBe('');
});
