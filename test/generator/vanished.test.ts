import { mkdirSync, rmSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  article,
  buildProject,
  createProject,
  guide,
  temporaryFolder,
  validProject,
  writeFiles,
} from '../helpers/project.ts';
import type { Files } from '../helpers/project.ts';
import { serve } from '../helpers/upstream.ts';
import { problemsOf, testProblems, testProjects } from './tables.ts';
import { readReleased, runIn } from './releases.ts';

const day = ['--now', '2026-11-20'];

/** Runs `check` or `build`; returns the messages without the summary. */
async function messagesOf(root: string, command: 'check' | 'build', ...args: string[]) {
  const { stderr, status } = await runIn(root, command, ...day, ...args);
  const lines = stderr.split('\n').slice(0, -1);
  return { lines: lines.filter((line) => !/^(?:ok|failed|release|status widget)\b/.test(line)), failed: status === 1 };
}

/** Publishes a project, then changes its files; undefined removes a file. */
async function publishAndChange(changes: Files, published: Files = {}): Promise<string> {
  const root = createProject(published);
  expect(await messagesOf(root, 'build')).toEqual({ lines: [], failed: false });
  writeFiles(root, changes);
  return root;
}

const first = 'content/blog/news/first.md';
const gone = (path: string): string => `warning: ${path} is online but missing from this build`;
const unlinked = { 'content/blog/news/second.md': article({ title: 'Second', date: '2026-03-04' }, 'Second.\n') };
const firstText = article({ title: 'First', date: '2026-01-02' }, 'Hello *world*.\n');

describe('a vanished path is a warning with the line to paste:', () => {
  test.each(['check', 'build'] as const)('a removed article, in %s', async (command) => {
    const root = await publishAndChange({ [first]: undefined }, unlinked);
    const hint =
      'if it is gone for good, add here: - /blog/news/first; ' +
      'if it moved, add to the front matter of its article: aliases: [/blog/news/first]';
    const message = `content/removed.yaml:1:1  ${gone('/blog/news/first')} (${hint})`;
    expect(await messagesOf(root, command)).toEqual({ lines: [message], failed: false });
  });

  test('a build with --strict fails and keeps the release online', async () => {
    const root = await publishAndChange({ [first]: undefined }, unlinked);
    const { lines, failed } = await messagesOf(root, 'build', '--strict');
    expect({ lines: lines.length, failed }).toEqual({ lines: 1, failed: true });
    expect(readReleased(root, 'public/v1/blog/list.json')).toContain('/blog/news/first');
  });

  test('a strict run reports vanished paths together with errors in other articles', async () => {
    const second = article({ title: 'Second', date: '2026-03-04' }, '[x](nowhere.md)\n\n> [!INFO]\n> Text.\n');
    const changes = {
      [first]: undefined,
      'content/blog/news/second.md': second,
      'content/media/kb/new.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>',
    };
    const root = await publishAndChange(changes, unlinked);
    const { lines } = await messagesOf(root, 'check', '--strict');
    expect(lines.map((line) => line.replace(/:.*/, ''))).toEqual([
      'content/blog/news/second.md',
      'content/blog/news/second.md',
      'content/media/kb/new.svg',
      'content/removed.yaml',
    ]);
  });

  test('a moved article, until it lists its old path', async () => {
    const moved = 'content/blog/team/first.md';
    const root = await publishAndChange({ [first]: undefined, [moved]: firstText }, unlinked);
    expect((await messagesOf(root, 'check')).lines).toEqual([expect.stringContaining(gone('/blog/news/first'))]);
    writeFiles(root, { [moved]: firstText.replace('---\n', '---\naliases: [/blog/news/first]\n') });
    expect((await messagesOf(root, 'build', '--strict')).failed).toBe(false);
  });

  test('a removed alias', async () => {
    const file = 'content/knowledgebase/vps/ssh.md';
    const published = {
      [file]: validProject[file]!.toString().replace('---\n', '---\naliases: [/knowledgebase/old]\n'),
    };
    const root = await publishAndChange({ [file]: validProject[file] }, published);
    expect((await messagesOf(root, 'check')).lines).toEqual([expect.stringContaining(gone('/knowledgebase/old'))]);
  });

  test.each([
    ['a draft', { draft: 'true' }, '7:8', 'its article is a draft'],
    ['scheduled', { date: '2026-12-24' }, '4:7', 'its article is not published before 2026-12-24'],
  ])('an article that became %s, at the field', async (_, fields, position, reason) => {
    const root = await publishAndChange({ [first]: article(fields, 'Text.\n') }, unlinked);
    const hint = 'if that is intended, add to content/removed.yaml: - /blog/news/first';
    expect((await messagesOf(root, 'check')).lines).toEqual([
      `${first}:${position}  ${gone('/blog/news/first')}: ${reason} (${hint})`,
    ]);
  });

  test('nothing is compared while an article is unreadable', async () => {
    const root = await publishAndChange({ [first]: '# First\n' }, unlinked);
    expect((await messagesOf(root, 'check')).lines).toEqual([expect.stringContaining('there is no front matter')]);
  });
});

describe('a vanished path is reported', () => {
  test('until it is published, and again after a rollback', async () => {
    const root = await publishAndChange({ [first]: undefined }, unlinked);
    expect((await messagesOf(root, 'build')).lines).toHaveLength(1);
    expect((await messagesOf(root, 'build')).lines).toEqual([]);
    expect((await messagesOf(root, 'build')).lines).toEqual([]);
    await runIn(root, 'releases', 'rollback');
    expect((await messagesOf(root, 'build')).lines).toHaveLength(1);
  });

  test('by each build with --against, even without changes', async () => {
    const live = await publishAndChange({});
    const root = createProject({ ...unlinked, [first]: undefined });
    const against = ['--against', join(live, 'dist')];
    expect((await messagesOf(root, 'build')).lines).toEqual([]);
    expect((await messagesOf(root, 'build', ...against)).lines).toHaveLength(1);
    expect((await messagesOf(root, 'build', ...against)).lines).toHaveLength(1);
    expect((await messagesOf(root, 'build')).lines).toEqual([]);
    expect((await messagesOf(root, 'build', ...against, '--strict')).failed).toBe(true);
  });
});

describe('content/removed.yaml', () => {
  test('lists paths that are gone for good', async () => {
    const root = await publishAndChange(
      { [first]: undefined, 'content/removed.yaml': '# Gone.\n- /blog/news/first\n' },
      unlinked,
    );
    expect(await messagesOf(root, 'build', '--strict')).toEqual({ lines: [], failed: false });
    expect(await messagesOf(root, 'build', '--strict')).toEqual({ lines: [], failed: false });
  });

  testProjects({
    'is checked': [
      {
        'content/blog/news/third.md': article({ draft: 'true' }, 'x\n'),
        'content/knowledgebase/vps/new.md': guide('New', 'x\n').replace('---\n', '---\naliases: [/knowledgebase/x]\n'),
        'content/removed.yaml': '- /blog/news/gone\n- /blog/news/first\n- /blog/news/third\n- /knowledgebase/x\n',
      },
      'content/removed.yaml:2:3  warning: /blog/news/first is an article (remove this line)',
      'content/removed.yaml:4:3  warning: /knowledgebase/x is an alias in content/knowledgebase/vps/new.md (remove this line)',
    ],
    'is suggested for a similar name': [
      { 'content/remove.yaml': '' },
      'content/remove.yaml:1:1  this file is out of place (did you mean "removed.yaml"?)',
    ],
  });

  const noPath = 'must start with / and a segment';
  testProblems('content/removed.yaml', (text) => text, {
    '- blog/news/gone\n': `1:3  "[0]" ${noPath}`,
    '- /blog/news/gone.md\n- https://www.example.com/blog/x\n': `2:3  "[1]" ${noPath}`,
    'gone: /blog/news/gone\n': '1:1  the YAML must be a list, not a mapping of fields',
  });
});

describe('--against URL', () => {
  const lists: Record<string, unknown> = {
    '/v1/blog/list': [
      { path: '/blog/news/zero', title: 'First', unknown: 1 },
      { path: '/blog/news/first', title: 'First' },
    ],
    '/v1/kb/list': [{ path: '/knowledgebase/vps/gone', title: 'Gone' }],
  };

  test('reads the redirects of a service', async () => {
    const redirects = { '/blog/news/old': '/blog/news/zero', '/blog/news/older': '/blog/news/first' };
    const files: Record<string, unknown> = { ...lists, '/v1/redirects.json': redirects };
    const url = await serve(({ url: target = '' }, response) => void response.end(JSON.stringify(files[target])));
    const { lines } = await messagesOf(createProject(), 'check', '--against', url);
    const paths = ['/blog/news/zero', '/knowledgebase/vps/gone', '/blog/news/old', '/blog/news/older'];
    expect(lines.map((line) => line.replace(/ \(.*/, ''))).toEqual(
      paths.map((path) => `content/removed.yaml:1:1  ${gone(path)}`),
    );
  });

  test.each(['', '/', '/api'])('reads the public lists of a service of an older version at %j', async (base) => {
    const asked: string[] = [];
    const url = await serve(({ url: target = '' }, response) => {
      asked.push(target);
      const list = lists[target.replace('/api', '')];
      response.writeHead(list ? 200 : 404).end(JSON.stringify(list));
    });
    const { lines } = await messagesOf(createProject(), 'check', '--against', url + base);
    expect(lines.map((line) => line.replace(/ \(.*/, ''))).toEqual([
      `content/removed.yaml:1:1  ${gone('/blog/news/zero')}`,
      `content/removed.yaml:1:1  ${gone('/knowledgebase/vps/gone')}`,
    ]);
    const prefix = base === '/api' ? '/api' : '';
    expect(asked.toSorted()).toEqual(
      ['/v1/blog/list', '/v1/kb/list', '/v1/redirects.json'].map((target) => prefix + target),
    );
  });

  test.each<[string, RequestListener, RegExp]>([
    ['has no lists', (_, response) => void response.writeHead(404).end(), /404/],
    [
      'answers with a page',
      (_, response) => void response.end('<!doctype html>'),
      /the response is not a (?:list of articles|map of paths)/,
    ],
    [
      'answers with something else',
      (_, response) => void response.end('{"a":1}'),
      /the response is not a list of articles/,
    ],
    [
      'sends without an end',
      (_, response) => {
        const chunk = Buffer.alloc(1024 * 1024, ' ');
        const send = (): void => {
          while (!response.destroyed && response.write(chunk));
          if (!response.destroyed) response.once('drain', send);
        };
        send();
      },
      /the response is larger than 64 MiB/,
    ],
  ])('is refused if the service %s', async (_, listener, reason) => {
    const url = await serve(listener);
    const { lines, failed } = await messagesOf(createProject(), 'check', '--against', url);
    expect(lines).toEqual([
      expect.stringMatching(/^--against: http:\S+\/v1\/(?:(?:blog|kb)\/list|redirects\.json) cannot be read: /),
    ]);
    expect(lines[0]).toMatch(reason);
    expect(failed).toBe(true);
  });

  test.each([
    [503, 2],
    [429, 1],
  ])('is refused after the answer %i, for which it is asked %i times', async (status, times) => {
    const asked: string[] = [];
    const url = await serve(({ url: target = '' }, response) => {
      asked.push(target);
      const isRefused = target === '/v1/kb/list';
      response.writeHead(isRefused ? status : 200).end(JSON.stringify(lists[target] ?? {}));
    });
    const { lines } = await messagesOf(createProject(), 'check', '--against', url);
    expect(lines).toEqual([expect.stringContaining(`cannot be read: the response is ${status}`)]);
    expect(asked.filter((target) => target === '/v1/kb/list')).toHaveLength(times);
  });

  test('is refused if the service is unreachable', async () => {
    const { lines, failed } = await messagesOf(createProject(), 'check', '--against', 'http://127.0.0.1:9');
    expect(lines).toEqual([expect.stringContaining('cannot be read')]);
    expect(failed).toBe(true);
  });
});

test('--against a folder without a release is refused', async () => {
  const root = createProject();
  const { lines, failed } = await messagesOf(root, 'check', '--against', 'nowhere');
  expect({ lines, failed }).toEqual({ lines: ['--against: there is no release in nowhere'], failed: true });
});

const soldNothing = 'name: Web hosting\nsoldOut: false\nsoldOutMessage: ""\nplans: []\n';

/** Runs a check; returns the errors without warnings about vanished paths. */
async function errorsOf(...args: Parameters<typeof problemsOf>): Promise<string[]> {
  return (await problemsOf(...args)).filter((problem) => !problem.includes('  warning: '));
}

/** Builds a project; returns the errors, and whether it made a release. */
async function buildErrors(root: string, options: Parameters<typeof buildProject>[1] = {}) {
  const { diagnostics, release } = await buildProject(root, options);
  const errors = diagnostics.filter(({ severity }) => severity === 'error').map(({ message }) => message);
  return { errors, isBuilt: release !== undefined };
}

test('another site than the one online is a single warning, once', async () => {
  const guides = Array.from({ length: 12 }, (_, index) => [
    `content/knowledgebase/vps/old-${index}.md`,
    guide(`Old ${index}`, 'Text.\n'),
  ]);
  const root = createProject(Object.fromEntries(guides) as Files);
  await messagesOf(root, 'build');
  rmSync(join(root, 'content'), { recursive: true });
  const { 'content/blog/news/first.md': blog, ...others } = validProject;
  const own = Object.entries(others).filter(([file]) => !/^content\/(?:blog|knowledgebase)\/.*\.md$/.test(file));
  writeFiles(root, {
    ...Object.fromEntries(own),
    'content/blog/news/ours.md': blog!,
    // Both sites happen to share a path.
    'content/knowledgebase/vps/old-1.md': guide('Old too', 'Text.\n'),
    'content/knowledgebase/vps/ours.md': guide('Ours', '![Map](/media/kb/map.svg)\n'),
  });
  const { lines, failed } = await messagesOf(root, 'build');
  expect({ lines, failed }).toEqual({
    lines: [expect.stringMatching(/^content:1:1 {2}warning: 15 of the 16 paths that are online are not in this build/)],
    failed: false,
  });
  expect(await messagesOf(root, 'build')).toEqual({ lines: [], failed: false });
});

test.each<[string, folders: string[], Files]>([
  ['is an empty folder', [], {}],
  ['has empty folders of plans', ['services', 'games'], {}],
  ['has no folders of plans', [], { 'domains.yaml': 'tlds: {}\n' }],
  ['has only a README', [], { 'README.md': 'Plans.\n' }],
  [
    'has only services and games without plans',
    [],
    { 'services/web.yaml': soldNothing, 'games/rust.yaml': soldNothing },
  ],
])('a catalog is refused, even with --allow-empty, if it %s', async (_, folders, files) => {
  const root = createProject();
  const catalog = join(root, 'catalog');
  rmSync(catalog, { recursive: true });
  for (const folder of ['', ...folders]) mkdirSync(join(catalog, folder));
  writeFiles(catalog, files);
  for (const allowEmpty of [false, true]) {
    expect(await errorsOf(root, { allowEmpty })).toEqual([
      'catalog:1:1  the catalog contains no plans (add a plan to services/<key>.yaml or games/<key>.yaml)',
    ]);
  }
});

test('a service without plans is allowed beside others', async () => {
  expect(await errorsOf(createProject({ 'catalog/services/old.yaml': soldNothing }))).toEqual([]);
});

test('a catalog with a single, broken plan has one problem', async () => {
  const root = createProject({ 'catalog/games/minecraft.yaml': undefined, 'catalog/services/web.yaml': 'x: 1\n' });
  expect((await errorsOf(root)).filter((problem) => problem.startsWith('catalog:'))).toEqual([]);
});

describe('a list that is not empty online may become empty only with --allow-empty:', () => {
  test.each([
    ['content/blog', '2 blog articles are'],
    ['content/knowledgebase', '2 knowledge base articles are'],
    ['catalog/domains.yaml', '1 TLD is'],
    ['catalog/status.yaml', '1 monitor is'],
    ['catalog/services', '1 service is'],
    ['catalog/games', '1 game is'],
  ])('%s', async (place, count) => {
    const root = createProject({
      'content/knowledgebase/dns/records.md': validProject['content/knowledgebase/vps/ssh.md'],
    });
    await buildProject(root);
    rmSync(join(root, place), { recursive: true });
    const message = `${count} online, but this build has none`;
    expect(await errorsOf(root)).toEqual([`${place}:1:1  ${message} (use --allow-empty to build anyway)`]);
    expect(await buildErrors(root)).toEqual({ errors: [message], isBuilt: false });
    expect(await buildErrors(root, { allowEmpty: true })).toEqual({ errors: [], isBuilt: true });
    // The list online is empty now.
    expect(await errorsOf(root)).toEqual([]);
  });

  test('also if its articles become drafts or scheduled', async () => {
    const root = createProject();
    await buildProject(root);
    const text = String(validProject['content/blog/news/first.md']);
    writeFiles(root, {
      'content/blog/news/first.md': text.replace('date: 2026-01-02', 'date: 2027-01-02'),
      'content/blog/news/second.md': text.replace('title: First', 'title: Second\ndraft: true'),
    });
    expect(await errorsOf(root)).toEqual([
      'content/blog:1:1  2 blog articles are online, but this build has none (use --allow-empty to build anyway)',
    ]);
  });

  test('except if its sources are broken, which is a separate error', async () => {
    const root = createProject();
    await buildProject(root);
    rmSync(join(root, 'content/blog/news/second.md'));
    writeFiles(root, { 'content/blog/news/first.md': 'no front matter\n' });
    expect((await errorsOf(root)).join('\n')).not.toContain('--allow-empty');
  });

  test('except in a first build', async () => {
    const root = createProject();
    rmSync(join(root, 'content/blog'), { recursive: true });
    expect(await errorsOf(root)).toEqual([]);
  });

  test('also after a rollback, without changed sources', async () => {
    const root = createProject();
    await buildProject(root);
    rmSync(join(root, 'content/blog'), { recursive: true });
    await buildProject(root, { allowEmpty: true });
    expect((await runIn(root, 'releases', 'rollback')).status).toBe(0);
    expect(await buildErrors(root)).toEqual({
      errors: ['2 blog articles are online, but this build has none'],
      isBuilt: false,
    });
    expect(await buildErrors(root, { allowEmpty: true })).toEqual({ errors: [], isBuilt: true });
  });

  test('of build and check, for the releases in --out', async () => {
    const root = createProject();
    const out = join(temporaryFolder(), 'dist');
    expect((await runIn(root, 'build', ...day, '--out', out)).status).toBe(0);
    rmSync(join(root, 'content/blog'), { recursive: true });
    for (const command of ['check', 'build']) {
      const refused = await runIn(root, command, ...day, '--out', out);
      expect(refused.stderr).toMatch(/^content\/blog:1:1 {2}2 blog articles are online, .*\(use --allow-empty /);
      expect(refused.status).toBe(1);
      expect((await runIn(root, command, ...day, '--out', out, '--allow-empty')).status).toBe(0);
    }
    expect((await runIn(root, 'check', '--help')).stdout).toContain('--allow-empty');
  });
});
