import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { article, createProject, runGenerator as runProcess } from '../helpers/project.ts';
import { foldersOf, runCommand as run, runIn } from './run-command.ts';
import { readTree } from './tree.ts';

const refusal = (message: string) => ({ status: 1, stdout: '', stderr: `${message}\n` });

test('a release is built, replaced, compared, listed, rolled back and pruned', async () => {
  const first = createProject();
  const out = ['--out', join(first, 'dist')];
  const build = await run('build', ...foldersOf(first), ...out);
  expect(build.stderr).toMatch(
    /^release [0-9a-f]{16} in .*dist: 4 articles, 0 warnings, \d+ kB, \d+\.\d s\nstatus widget: \S+ \S+\n$/,
  );
  expect({ stdout: build.stdout, failed: build.failed }).toEqual({ stdout: '', failed: false });

  const second = createProject({
    'content/blog/news/third.md': article({ date: '2027-01-01' }, 'Later.\n'),
    'content/blog/news/fourth.md': article({ draft: 'true' }, 'Not yet.\n'),
    'content/blog/news/fifth.md': article({}, 'Now.\n'),
  });
  const options = ['--format', 'json', '--now', '2026-11-20', '--no-cache'];
  const rebuild = await run('build', ...foldersOf(second), ...out, ...options);
  const summary = JSON.parse(rebuild.stdout) as { release: string; bytes: number };
  expect(summary).toMatchObject({ ok: true, drafts: 1, scheduled: 1, nextChangeAt: '2027-01-01', diagnostics: [] });
  expect(summary.bytes).toBeGreaterThan(1000);
  expect(rebuild.stderr).toBe('');

  const { stdout: listed } = await run('releases', 'list', ...out, '--json');
  const releases = JSON.parse(listed) as { id: string; current: boolean }[];
  expect(releases.map(({ current }) => current)).toEqual([true, false]);
  expect(releases[0]!.id).toBe(summary.release);

  const ids = releases.map(({ id }) => id);
  const diff = await run('releases', 'diff', ids[1]!, ids[0]!, ...out);
  expect(diff.stdout.split('\n')).toContain('+ public/v1/blog/article/news/fifth.json');
  expect(diff.stdout.split('\n')).toContain('~ public/v1/blog/list.json');
  const reverse = await run('releases', 'diff', ids[0]!, ids[1]!, ...out);
  expect(reverse.stdout.split('\n')).toContain('- public/v1/blog/article/news/fifth.json');

  expect((await run('releases', 'rollback', ...out)).stdout).toBe(`release ${ids[1]!} is current\n`);
  expect((await run('releases', 'list', ...out)).stdout).toMatch(new RegExp(`^\\* ${ids[1]!}  .*\n  ${ids[0]!}  `));
  expect((await run('releases', 'rollback', ...out)).stderr).toBe('there is no earlier release to go back to\n');
  expect((await run('releases', 'rollback', ids[0]!, ...out)).failed).toBe(false);
  expect((await run('releases', 'prune', '--keep', '1', ...out)).stdout).toBe('');
  const history = join(first, 'dist/history');
  writeFileSync(history, readFileSync(history, 'utf8').replaceAll(/^\d{4}/gm, '2020'));
  expect((await run('releases', 'prune', '--keep', '1', ...out)).stdout).toBe(`removed ${ids[1]!}\n`);
});

describe('a command refuses', () => {
  test.each([
    ['build --contnet x', "unknown option '--contnet' (Did you mean --content?)"],
    ['build --no-cahce', "unknown option '--no-cahce' (Did you mean --no-cache?)"],
    ['check --lenient --strict', "option '--lenient' cannot be used with option '--strict'"],
    ['build --lenint', "unknown option '--lenint' (Did you mean --lenient?)"],
    ['build -x', "unknown option '-x'"],
    ['build --no-out', "unknown option '--no-out' (Did you mean --out?)"],
    ['check --no-content', "unknown option '--no-content' (Did you mean --content?)"],
    ['check --compress best', "unknown option '--compress'"],
    ['releases list --jsno', "unknown option '--jsno' (Did you mean --json?)"],
    ['releases prune --keep 1 --kep 1', "unknown option '--kep' (Did you mean --keep?)"],
    ['build extra', "too many arguments for 'build'. Expected 0 arguments but got 1: extra."],
    ['releases diff a b c', "too many arguments for 'diff'. Expected 2 arguments but got 3: a, b, c."],
    ['build --out', "option '--out <DIR>' argument missing"],
    ['build --out --lenient', "option '--out <DIR>' argument missing"],
    ['build --out a --out b', "option '--out <DIR>' is given twice"],
    ['check --content= --catalog catalog', "option '--content <DIR>' argument '' is invalid. It must be a folder."],
    ['releases list --out', "option '--out <DIR>' argument missing"],
    [
      'build --format xml',
      "option '--format <FORMAT>' argument 'xml' is invalid. Allowed choices are text, json, github.",
    ],
    [
      'build --compress most',
      "option '--compress <LEVEL>' argument 'most' is invalid. Allowed choices are fast, best.",
    ],
    ['releases prune --kep 1', "unknown option '--kep' (Did you mean --keep?)"],
    ['releases prune', '--keep is missing'],
    ['biuld', "unknown command 'biuld' (Did you mean build?)"],
    ['releases lsit', "unknown command 'lsit' (Did you mean list?)"],
    ...['2026-02-30', 'today', '2026-11-20T00:00:00Z'].map((day) => [
      `check --now=${day}`,
      '--now must be a calendar date of the form YYYY-MM-DD',
    ]),
  ])('%s', async (line, message) => {
    const root = createProject();
    const before = readTree(root);
    expect(await runIn(root, ...line.split(' '))).toEqual(refusal(message));
    expect(readTree(root)).toEqual(before);
  });

  test.each([
    [[], /build .*check .*dev .*releases /s],
    [['releases'], /list .*rollback .*diff .*prune /s],
  ])('%j, and prints the list of commands', async (args, usage) => {
    const { status, stdout, stderr } = await runIn(createProject(), ...args);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(usage);
  });

  test.each(['build', 'dev'])('an --out below /proc, in one line: %s', async (command) => {
    const root = createProject();
    expect(await runProcess([command, ...foldersOf(root), '--out', '/proc/x/y'])).toEqual(
      refusal('--out: the folder cannot be created (ENOENT)'),
    );
  });
});

test.each([
  [['--help'], ['build', 'check', 'dev', 'releases']],
  [
    ['build', '--help'],
    ['--content', '--catalog', '--out', '--now', '--lenient', '--no-cache', '--compress', '--threads', '--format'],
  ],
  [
    ['releases', 'prune', '-h'],
    ['--keep', '--out'],
  ],
])('%j prints the usage, and does nothing', async (args, words) => {
  const root = createProject();
  const { status, stdout, stderr } = await runIn(root, ...args);
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  for (const word of words) expect(stdout).toContain(word);
  expect(readdirSync(root).toSorted()).toEqual(['catalog', 'content']);
});

test('check writes nothing', async () => {
  const root = createProject();
  const before = readTree(root);
  const { status, stdout, stderr } = await runIn(root, 'check');
  expect({ status, stdout }).toEqual({ status: 0, stdout: '' });
  expect(stderr).toMatch(/^ok: 4 articles, 0 warnings, \d+\.\d s\n$/);
  expect(readTree(root)).toEqual(before);
  expect(readdirSync(root).toSorted()).toEqual(['catalog', 'content']);
});

test('check reads the sources from --content and --catalog', async () => {
  const root = createProject();
  const args = ['--content', join(root, 'content'), `--catalog=${join(root, 'catalog')}`];
  expect((await runIn(createProject({ 'content/x': 'x' }), 'check', ...args)).status).toBe(0);
});

test('the sample content and catalog of this repository have no problems', async () => {
  const { status, stdout, stderr } = await runIn(resolve(import.meta.dirname, '../..'), 'check');
  expect({ status, stdout }).toEqual({ status: 0, stdout: '' });
  expect(stderr).toMatch(/^ok: \d+ articles, .*0 warnings, \d+\.\d s\n$/);
});

test('build counts drafts and scheduled articles', async () => {
  const root = createProject({
    'content/blog/news/draft.md': article({ draft: 'true' }, 'Text.\n'),
    'content/blog/news/later.md': article({ date: '2999-01-01' }, 'Text.\n'),
  });
  const { stderr } = await runIn(root, 'build', '--no-cache');
  expect(stderr).toMatch(/^release \w+ in dist: 4 articles, 1 draft, 1 scheduled \(next 2999-01-01\), 0 warnings, /);
  expect(existsSync(join(root, 'dist/.cache'))).toBe(false);
});

describe('--lenient', () => {
  const broken = {
    'content/blog/news/second.md': article({ cover: '/media/kb/none.png' }, '[x](none.md) ![y](/media/kb/gone.png)\n'),
  };
  const problems = [
    'content/blog/news/second.md:6:8  warning: there is no /media/kb/none.png in content/',
    'content/blog/news/second.md:9:1  warning: there is no article /blog/news/none',
    'content/blog/news/second.md:9:14  warning: there is no /media/kb/gone.png in content/',
  ];

  test('reports dead links and missing media as warnings, and publishes', async () => {
    const root = createProject(broken);
    const { status, stderr } = await runIn(root, 'build', '--lenient');
    expect(status).toBe(0);
    expect(stderr.split('\n').slice(0, 3)).toEqual(problems);
    expect(stderr.split('\n')[3]).toMatch(/^release \w+ in dist: 4 articles, 3 warnings, /);
    const strict = await runIn(root, 'build');
    expect(strict.status).toBe(1);
    expect(strict.stderr.split('\n').slice(0, 3)).toEqual(problems.map((line) => line.replace('warning: ', '')));
  });

  test('reports everything else as an error', async () => {
    const root = createProject({ ...broken, 'content/blog/news/first.md': article({ title: '5' }, '## Details\n') });
    const { status, stderr } = await runIn(root, 'build', '--lenient');
    expect(status).toBe(1);
    expect(stderr).toContain('content/blog/news/first.md:2:8  "title" must be text');
    expect(stderr).toContain('failed: 3 articles, 3 warnings, 1 error, ');
  });

  test('annotates warnings as warnings', async () => {
    const { stdout } = await runIn(createProject(broken), 'check', '--lenient', '--format=github');
    expect(stdout.split('\n')[0]).toBe(
      '::warning file=content/blog/news/second.md,line=6,col=8::there is no /media/kb/none.png in content/',
    );
  });
});

test('if the release cannot be written, the command prints one line and fails', async () => {
  const root = createProject({ 'dist/releases': 'a file where the folder should be' });
  const { stderr, failed } = await run('build', ...foldersOf(root), '--out', join(root, 'dist'));
  expect(stderr).toMatch(
    /^the release could not be written, and the current one stays as it is: (?:EEXIST|ENOTDIR): .*\n$/,
  );
  expect(failed).toBe(true);
});

test('a terminal shows the progress of the build', async () => {
  const root = createProject();
  const terminal = Object.getOwnPropertyDescriptor(process.stderr, 'isTTY');
  Object.defineProperty(process.stderr, 'isTTY', { value: true, configurable: true });
  const { stderr } = await run('check', ...foldersOf(root));
  if (terminal) Object.defineProperty(process.stderr, 'isTTY', terminal);
  else Reflect.deleteProperty(process.stderr, 'isTTY');
  expect(stderr).toContain('\r\u001B[Krendering 1/4');
  expect(stderr).toContain('\r\u001B[Kok: 4 articles');
});
