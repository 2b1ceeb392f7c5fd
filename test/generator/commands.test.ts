import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { compileStatusWidget } from '../../generator/static-files.ts';
import {
  article,
  buildProject,
  createProject,
  guide,
  runGenerator as runProcess,
  temporaryFolder,
  writeFiles,
} from '../helpers/project.ts';
import { withoutColours } from '../helpers/terminal.ts';
import type { Files } from '../helpers/project.ts';
import { foldersOf, readReleased, readTree, refusal, runCommand, runIn } from './releases.ts';

test('a build prints what it published, as text and as JSON', async () => {
  const first = createProject();
  const out = ['--out', join(first, 'dist')];
  const build = await runCommand('build', ...foldersOf(first), ...out);
  const { embed } = await compileStatusWidget();
  const [published, widget, ...others] = build.stderr.split('\n');
  expect(published).toMatch(/^release [0-9a-f]{16} in .*dist: 4 articles, 0 warnings, \d+ kB, \d+\.\d s$/);
  expect([widget, ...others]).toEqual([`status widget: ${embed.path} ${embed.integrity}`, '']);
  expect({ stdout: build.stdout, status: build.status }).toEqual({ stdout: '', status: 0 });

  const second = createProject({
    'content/blog/news/third.md': article({ date: '2027-01-01' }, 'Later.\n'),
    'content/blog/news/fourth.md': article({ draft: 'true' }, 'Not yet.\n'),
    'content/blog/news/fifth.md': article({}, 'Now.\n'),
  });
  const options = ['--format', 'json', '--now', '2026-11-20', '--no-cache'];
  const rebuild = await runCommand('build', ...foldersOf(second), ...out, ...options);
  const summary = JSON.parse(rebuild.stdout) as { release: string; bytes: number };
  expect(summary).toMatchObject({ ok: true, drafts: 1, scheduled: 1, nextChangeAt: '2027-01-01', widget: embed });
  expect(summary).toMatchObject({ diagnostics: [] });
  expect(summary.bytes).toBeGreaterThan(1000);
  expect(rebuild.stderr).toBe('');
});

describe('a command refuses', () => {
  test.each([
    ['build --contnet x', "unknown option '--contnet' (Did you mean --content?)"],
    ['check --lenient --strict', "option '--lenient' cannot be used with option '--strict'"],
    ['build -x', "unknown option '-x'"],
    ['build --no-out', "unknown option '--no-out' (Did you mean --out?)"],
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

test('check with a warning passes, and announces that a pull request fails', async () => {
  const root = createProject({ 'content/blog/news/first.md': article({}, '# One\n\n## Details\n') });
  const { status, stderr } = await runIn(root, 'check');
  expect(status).toBe(0);
  expect(stderr).toMatch(/\nok: 4 articles, 1 warning, \d+\.\d s; 1 warning would fail a pull request \(--strict\)\n$/);
  expect((await runIn(root, 'build')).stderr).not.toContain('pull request');
  expect((await runIn(root, 'check', '--strict')).stderr).toMatch(
    /\nfailed: 4 articles, 0 warnings, 1 error, [^\n]+\n$/,
  );
});

test('the sample content and catalog of this repository have no problems', async () => {
  const { status, stdout, stderr } = await runIn(resolve(import.meta.dirname, '../..'), 'check');
  expect({ status, stdout }).toEqual({ status: 0, stdout: '' });
  expect(stderr).toMatch(/^ok: \d+ articles, .*0 warnings, \d+\.\d s\n$/);
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

  test('reports other problems as errors', async () => {
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

test('a release that cannot be written fails with one line', async () => {
  const root = createProject({ 'dist/releases': 'a file where the folder should be' });
  const { stderr, status } = await runCommand('build', ...foldersOf(root), '--out', join(root, 'dist'));
  expect(stderr).toMatch(
    /^the release could not be written, and the current release is unchanged: (?:EEXIST|ENOTDIR): .*\n$/,
  );
  expect(status).toBe(1);
});

test('a dist that is a file fails with one line', async () => {
  expect(await runIn(createProject({ dist: 'x' }), 'build')).toEqual(
    refusal('DIST_DIR: the folder cannot be created (EEXIST)'),
  );
});

test('a terminal shows the progress of the build', async () => {
  const root = createProject();
  const terminal = Object.getOwnPropertyDescriptor(process.stderr, 'isTTY');
  Object.defineProperty(process.stderr, 'isTTY', { value: true, configurable: true });
  const { stderr } = await runIn(root, 'check');
  if (terminal) Object.defineProperty(process.stderr, 'isTTY', terminal);
  else Reflect.deleteProperty(process.stderr, 'isTTY');
  expect(stderr).toContain('\r\u001B[Kreading, 0.0 s');
  expect(withoutColours(stderr)).toContain('\r\u001B[Kok: 4 articles');
});

/** Files with problems in the catalog, file names, front matter, YAML and links. */
const broken: Files = {
  'catalog/games/7.yaml': 'name: Seven\nsoldOut: false\nsoldOutMessage: ""\nplans: []\n',
  'catalog/status.yaml': 'monitors: []\nmaintenance: soon\n',
  'content/blog/news/Bad Name.md': 'x',
  'content/blog/news/first.md': article({ title: '1', cover: undefined, date: 'soon' }, '## Details\n'),
  'content/blog/news/second.md': article({}, 'A [b](none.md) [c](#none).\n'),
  'content/knowledgebase/vps/ssh.md': guide('"', 'A [b](none.md).\n'),
};

const problems = [
  'catalog/games/7.yaml:1:1  the file name must contain at least one letter',
  'catalog/status.yaml:2:14  "maintenance" must be a list, not text',
  'content/blog/news/Bad Name.md:1:1  "Bad Name" must contain only lower-case letters, digits and hyphens (rename it to "bad-name.md")',
  'content/blog/news/first.md:2:1  missing field "cover"',
  'content/blog/news/first.md:2:8  "title" must be text, not a number (put it in quotes)',
  'content/blog/news/first.md:4:7  "date" must be a calendar date of the form YYYY-MM-DD',
  'content/blog/news/second.md:9:3  there is no article /blog/news/none',
  'content/blog/news/second.md:9:16  there is no heading or anchor #none in /blog/news/second',
  'content/knowledgebase/vps/ssh.md:2:8  this quote is not closed (add " at the end of the text)',
  'content/knowledgebase/vps/ssh.md:6:3  there is no article /knowledgebase/vps/none',
];

/** Builds the valid project, then breaks it. `knowledgebase/dns/records.md` has no link to the broken article. */
async function createBroken(): Promise<string> {
  const root = createProject({ 'content/knowledgebase/dns/records.md': guide('DNS records', 'Text.\n') });
  await buildProject(root);
  writeFiles(root, broken);
  return root;
}

describe('a build with problems in many files', () => {
  test('reports all problems by file and line, exits with status 1, and leaves dist unchanged', async () => {
    const root = await createBroken();
    const before = readTree(join(root, 'dist'));
    const { status, stdout, stderr } = await runIn(root, 'build', '--no-cache');
    expect(status).toBe(1);
    expect(stdout).toBe('');
    expect(stderr.replace(/, \d+\.\d s\n$/, '\n')).toBe(
      `${problems.join('\n')}\nfailed: 2 articles, 0 warnings, 10 errors\n`,
    );
    expect(readTree(join(root, 'dist'))).toEqual(before);
  });

  test('reports the same problems in every working directory, with relative paths', async () => {
    const root = await createBroken();
    const { stderr } = await runIn(join(root, 'dist'), 'check', ...foldersOf(root));
    expect(stderr.split('\n').slice(0, -2)).toEqual(problems.map((line) => `../${line}`));
  });

  test('prints only one JSON document to stdout with --format json', async () => {
    const root = await createBroken();
    const { status, stdout, stderr } = await runIn(root, 'check', '--format', 'json');
    expect(status).toBe(1);
    expect(stderr).toBe('');
    const { seconds, diagnostics, ...summary } = JSON.parse(stdout) as Record<string, unknown>;
    expect(seconds).toBeTypeOf('number');
    expect(summary).toEqual({
      ok: false,
      release: null,
      counts: { blogArticles: 1, knowledgeBaseArticles: 1, services: 1, games: 1, tlds: 1, monitors: 0, media: 2 },
      drafts: 0,
      scheduled: 0,
      nextChangeAt: null,
      widget: null,
      bytes: 0,
    });
    expect(diagnostics).toHaveLength(10);
    expect(diagnostics).toContainEqual({
      severity: 'error',
      file: 'content/blog/news/first.md',
      line: 2,
      column: 8,
      message: '"title" must be text, not a number',
      hint: 'put it in quotes',
    });
  });

  test('prints an annotation for each problem with --format github', async () => {
    const root = await createBroken();
    const { status, stdout } = await runIn(root, 'check', '--format', 'github');
    expect(status).toBe(1);
    expect(stdout.split('\n').slice(0, -1)).toEqual(
      problems.map((line) => line.replace(/^(.*?):(\d+):(\d+) {2}/, '::error file=$1,line=$2,col=$3::')),
    );
  });
});

describe('the text of a source file', () => {
  const hostile = {
    'content/blog/news/a.md': article({ '"\\u001b[31m\\u009b2J\\r\\n::error::x%0A\\u202e"': 'x' }, 'Text.\n'),
    'content/blog/news/se,c:o%nd.md': 'x',
  };
  const escaped = String.raw`\u001b[31m\u009b2J\u000d\u000a::error::x%0A\u202e`;

  test('never reaches a terminal as control characters', async () => {
    const { stderr } = await runIn(createProject(hostile), 'check');
    expect(stderr).toContain(`content/blog/news/a.md:7:1  unknown field "${escaped}" (the fields are `);
    expect(stderr.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u202E]/u);
  });

  test('cannot end an annotation, start another or change its file', async () => {
    const { stdout } = await runIn(createProject(hostile), 'check', '--format', 'github');
    const [first, second, ...others] = stdout.split('\n').slice(0, -1);
    expect(first).toMatch(/^::error file=content\/blog\/news\/a\.md,line=7,col=1::/);
    expect(first).toContain(escaped.replaceAll('%', '%25'));
    expect(second).toMatch(/^::error file=content\/blog\/news\/se%2Cc%3Ao%25nd\.md,line=1,col=1::"se,c:o%25nd" must/);
    expect(others).toEqual([]);
  });

  test('is escaped in JSON', async () => {
    const { stdout } = await runIn(createProject(hostile), 'check', '--format', 'json');
    expect(stdout).not.toContain('\u001B');
    const { diagnostics } = JSON.parse(stdout) as { diagnostics: { message: string }[] };
    expect(diagnostics[0]!.message).toBe('unknown field "\u001B[31m\u009B2J\r\n::error::x%0A\u202E"');
  });
});

afterEach(() => vi.unstubAllEnvs());

/** Runs `build` on a project with an environment. */
async function buildWith(root: string, environment: Record<string, string>) {
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
  return runCommand('build', ...foldersOf(root), '--out', join(root, 'dist'), '--now', '2026-11-20');
}

const feedOf = (root: string): string => readReleased(root, 'public/v1/blog/feed.xml');

test('build reads addresses, name and support page of the service from the environment', async () => {
  const root = createProject();
  const urls = { SITE_URL: 'https://www.example.com/', PUBLIC_URL: 'https://API.example.com:443/v/' };
  await buildWith(root, { ...urls, SITE_NAME: 'Nord', SUPPORT_URL: 'https://nord.example/help' });
  expect(feedOf(root)).toContain('<link rel="alternate" type="text/html" href="https://www.example.com/blog"/>');
  expect(feedOf(root)).toContain('<id>https://api.example.com/v/v1/blog/feed.xml</id>');
  expect(readReleased(root, 'public/docs/index.html')).toMatch(
    /<title>Nord<\/title>[^]*href="https:\/\/nord\.example\/help"/,
  );
});

test('build reads settings from the files in <NAME>_FILE', async () => {
  const root = createProject();
  const file = join(temporaryFolder(), 'url');
  writeFileSync(file, ' https://www.example.com\n');
  await buildWith(root, { SITE_URL_FILE: file, PUBLIC_URL: 'https://api.example.com' });
  expect(feedOf(root)).toContain('href="https://www.example.com/blog"');
});

describe('content in a separate repository is', () => {
  const settingsOf = (root: string) => ({
    CONTENT_DIR: join(root, 'site/content'),
    CATALOG_DIR: join(root, 'site/catalog'),
  });
  /** Runs a command in the folder of the program, with settings for content elsewhere. */
  const runElsewhere = (root: string, ...args: string[]) => {
    for (const [name, value] of Object.entries(settingsOf(root))) vi.stubEnv(name, value);
    return runIn(join(root, 'program'), ...args);
  };

  test.each(['CONTENT_DIR', 'CATALOG_DIR'])('read from %s, unless an option names another folder', async (setting) => {
    const root = temporaryFolder();
    createProject({}, join(root, 'site'));
    vi.stubEnv(setting, join(root, 'nothing'));
    const options = foldersOf(join(root, 'site'));
    expect((await runIn(root, 'check', ...options)).status).toBe(0);
    expect(
      (await runIn(root, 'check', ...options.slice(...(setting === 'CONTENT_DIR' ? [2] : [0, 2])))).stderr,
    ).toContain('nothing:1:1  the folder does not exist');
  });

  test('built, and extended by new', async () => {
    const root = temporaryFolder();
    createProject({}, join(root, 'site'));
    expect((await runElsewhere(root, 'build')).stderr).toMatch(/^release [0-9a-f]{16} in dist: 4 articles, 0 warnings/);
    const { stdout } = await runElsewhere(root, 'new', 'kb', 'More', '--category', 'vps');
    expect(stdout).toBe('../site/content/knowledgebase/vps/more.md\n');
  });

  test.each<[string, Files, string]>([
    ['its repository', { 'site/.git': 'gitdir: elsewhere\n' }, 'content'],
    [
      'the working directory, if one repository holds both',
      { '.git/HEAD': 'ref: refs/heads/main\n' },
      '../site/content',
    ],
    ['the folder that holds it, without a repository', {}, 'content'],
  ])('shown in messages as in %s', async (_, files, shown) => {
    const root = temporaryFolder();
    createProject({ 'content/blog/news/bad.md': 'No front matter.\n' }, join(root, 'site'));
    writeFiles(root, files);
    const { stderr, status } = await runElsewhere(root, 'check');
    expect(status).toBe(1);
    expect(stderr.split('\n')[0]).toMatch(new RegExp(`^${shown}/blog/news/bad\\.md:1:1  `));
  });
});

describe('wrong addresses are refused by name without values, and nothing is built:', () => {
  const rule = 'must be an http or https URL without user, query and fragment';

  test.each<[string, Record<string, string>, string]>([
    ['no scheme', { SITE_URL: 'hunter2.example.com' }, `SITE_URL: ${rule}`],
    ['a password', { PUBLIC_URL: 'https://user:hunter2@example.com' }, `PUBLIC_URL: ${rule}`],
    ['both', { SITE_URL: 'ftp://a.example', PUBLIC_URL: 'https://a?b' }, `SITE_URL: ${rule}; PUBLIC_URL: ${rule}`],
  ])('%s', async (_, environment, message) => {
    const root = createProject();
    expect(await buildWith(root, environment)).toEqual(refusal(message));
    expect(existsSync(join(root, 'dist'))).toBe(false);
  });
});
