import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { article, createProject, runGenerator } from '../../helpers/project.ts';
import { readTree } from '../../generator/tree.ts';

const refusal = (message: string) => ({ status: 1, stdout: '', stderr: `${message}\n` });

describe('a command refuses', () => {
  test.each([
    ['build --contnet x', "unknown option '--contnet' (Did you mean --content?)"],
    ['build --no-cahce', "unknown option '--no-cahce' (Did you mean --no-cache?)"],
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
  ])('%s', async (line, message) => {
    const root = createProject();
    const before = readTree(root);
    expect(await runGenerator(line.split(' '), { cwd: root })).toEqual(refusal(message));
    expect(readTree(root)).toEqual(before);
  });

  test.each(['2026-02-30', 'today', '2026-11-20T00:00:00Z'])('the day "%s"', async (day) => {
    const result = await runGenerator(['check', `--now=${day}`], { cwd: createProject() });
    expect(result).toEqual(refusal('--now must be a calendar date of the form YYYY-MM-DD'));
  });

  test.each([
    [[], /build .*check .*dev .*releases /s],
    [['releases'], /list .*rollback .*diff .*prune /s],
  ])('%j, and prints the list of commands', async (args, usage) => {
    const { status, stdout, stderr } = await runGenerator(args, { cwd: createProject() });
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(usage);
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
  const { status, stdout, stderr } = await runGenerator(args, { cwd: root });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  for (const word of words) expect(stdout).toContain(word);
  expect(readdirSync(root).toSorted()).toEqual(['catalog', 'content']);
});

describe('check', () => {
  test('writes nothing', async () => {
    const root = createProject();
    const before = readTree(root);
    const { status, stdout, stderr } = await runGenerator(['check'], { cwd: root });
    expect({ status, stdout }).toEqual({ status: 0, stdout: '' });
    expect(stderr).toMatch(/^ok: 4 articles, 0 warnings, \d+\.\d s\n$/);
    expect(readTree(root)).toEqual(before);
    expect(readdirSync(root).toSorted()).toEqual(['catalog', 'content']);
  });

  test('reads the sources from --content and --catalog', async () => {
    const root = createProject();
    const args = ['--content', join(root, 'content'), `--catalog=${join(root, 'catalog')}`];
    expect((await runGenerator(['check', ...args], { cwd: createProject({ 'content/x': 'x' }) })).status).toBe(0);
  });
});

describe('build', () => {
  test('prints the release and how to embed the widget in two lines, without progress', async () => {
    const root = createProject();
    const { status, stdout, stderr } = await runGenerator(['build'], { cwd: root });
    expect({ status, stdout }).toEqual({ status: 0, stdout: '' });
    const [id] = readdirSync(join(root, 'dist/releases'));
    expect(stderr).toMatch(
      new RegExp(
        `^release ${id} in dist: 4 articles, 0 warnings, \\d+ kB, \\d+\\.\\d s\\nstatus widget: /v1/\\S+ sha384-\\S+\\n$`,
      ),
    );
  });

  test('counts drafts and scheduled articles', async () => {
    const root = createProject({
      'content/blog/news/draft.md': article({ draft: 'true' }, 'Text.\n'),
      'content/blog/news/later.md': article({ date: '2999-01-01' }, 'Text.\n'),
    });
    const { stderr } = await runGenerator(['build', '--no-cache'], { cwd: root });
    expect(stderr).toMatch(/^release \w+ in dist: 4 articles, 1 draft, 1 scheduled \(next 2999-01-01\), 0 warnings, /);
    expect(existsSync(join(root, 'dist/.cache'))).toBe(false);
  });

  test('prints one JSON document with --format json', async () => {
    const root = createProject();
    const { status, stdout, stderr } = await runGenerator(['build', '--format', 'json'], { cwd: root });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    const result = JSON.parse(stdout) as Record<string, unknown>;
    expect(result).toMatchObject({ ok: true, release: readdirSync(join(root, 'dist/releases'))[0], diagnostics: [] });
    expect(result.bytes).toBeGreaterThan(1000);
  });

  test('compresses better with --compress best, and publishes the same content', async () => {
    const sizes: Record<string, number> = {};
    const texts: Record<string, unknown> = {};
    for (const compress of ['fast', 'best']) {
      const root = createProject();
      await runGenerator(['build', '--compress', compress], { cwd: root });
      const tree = readTree(join(root, 'dist/releases', readdirSync(join(root, 'dist/releases'))[0]!));
      sizes[compress] = tree['public/v1/openapi.json.br']!.length;
      texts[compress] = Object.entries(tree).filter(([path]) => !/\.(?:br|gz)$|manifest/.test(path));
    }
    expect(sizes.best).toBeLessThan(sizes.fast!);
    expect(texts.best).toEqual(texts.fast);
  });
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
    const { status, stderr } = await runGenerator(['build', '--lenient'], { cwd: root });
    expect(status).toBe(0);
    expect(stderr.split('\n').slice(0, 3)).toEqual(problems);
    expect(stderr.split('\n')[3]).toMatch(/^release \w+ in dist: 4 articles, 3 warnings, /);
    const strict = await runGenerator(['build'], { cwd: root });
    expect(strict.status).toBe(1);
    expect(strict.stderr.split('\n').slice(0, 3)).toEqual(problems.map((line) => line.replace('warning: ', '')));
  });

  test('reports everything else as an error', async () => {
    const root = createProject({ ...broken, 'content/blog/news/first.md': article({ title: '5' }, '## Details\n') });
    const { status, stderr } = await runGenerator(['build', '--lenient'], { cwd: root });
    expect(status).toBe(1);
    expect(stderr).toContain('content/blog/news/first.md:2:8  "title" must be text');
    expect(stderr).toContain('failed: 3 articles, 3 warnings, 1 error, ');
  });

  test('annotates warnings as warnings', async () => {
    const { stdout } = await runGenerator(['check', '--lenient', '--format=github'], { cwd: createProject(broken) });
    expect(stdout.split('\n')[0]).toBe(
      '::warning file=content/blog/news/second.md,line=6,col=8::there is no /media/kb/none.png in content/',
    );
  });
});
