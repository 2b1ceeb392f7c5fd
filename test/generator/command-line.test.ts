import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { article, createProject, runGenerator } from '../helpers/project.ts';
import { readTree } from './tree.ts';

const refusal = (message: string) => ({ status: 1, stdout: '', stderr: `${message}\n` });

describe('a command refuses', () => {
  test.each([
    ['build --contnet x', 'unknown option --contnet (did you mean --content?)'],
    ['build --no-cahce', 'unknown option --no-cahce (did you mean --no-cache?)'],
    ['build --lenint', 'unknown option --lenint (did you mean --lenient?)'],
    ['build -x', 'unknown option -x'],
    ['build --no-out', 'unknown option --no-out'],
    ['check --no-content', 'unknown option --no-content (did you mean --content?)'],
    ['check --out x', 'unknown option --out'],
    ['releases list --jsno', 'unknown option --jsno (did you mean --json?)'],
    ['releases prune --keep 1 --kep 1', 'unknown option --kep (did you mean --keep?)'],
    ['build extra', 'unexpected argument "extra"'],
    ['releases diff a b c', 'unexpected argument "c"'],
    ['build --out', '--out needs a value'],
    ['check --content= --catalog catalog', '--content needs a value'],
    ['releases list --out', '--out needs a value'],
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
    [['build', '--format', 'xml'], /^Invalid value for argument: .*--format.*xml.*text.*json.*github/],
    [['build', '--compress', 'most'], /^Invalid value for argument: .*--compress.*most.*fast.*best/],
    [['releases', 'prune'], /^Missing required argument: .*--keep/],
    [['biuld'], /^Unknown command .*biuld/],
    [['releases', 'lsit'], /^Unknown command .*lsit/],
  ])('%j, and shows how it is used', async (args, message) => {
    const { status, stdout, stderr } = await runGenerator(args, { cwd: createProject() });
    expect(status).toBe(1);
    expect(stderr).toMatch(message);
    expect(stdout).toContain('USAGE');
  });
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

  test('takes its sources from where it is told', async () => {
    const root = createProject();
    const args = ['--content', join(root, 'content'), `--catalog=${join(root, 'catalog')}`];
    expect((await runGenerator(['check', ...args], { cwd: createProject({ 'content/x': 'x' }) })).status).toBe(0);
  });
});

describe('build', () => {
  test('says what it published and how to embed the widget, in two lines and without a word of its progress', async () => {
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

  test('is one JSON document with --format json', async () => {
    const root = createProject();
    const { status, stdout, stderr } = await runGenerator(['build', '--format', 'json'], { cwd: root });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    const result = JSON.parse(stdout) as Record<string, unknown>;
    expect(result).toMatchObject({ ok: true, release: readdirSync(join(root, 'dist/releases'))[0], diagnostics: [] });
    expect(result.bytes).toBeGreaterThan(1000);
  });

  test('compresses harder with --compress best, and publishes the same', async () => {
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

  test('takes dead links and missing media for warnings, and publishes', async () => {
    const root = createProject(broken);
    const { status, stderr } = await runGenerator(['build', '--lenient'], { cwd: root });
    expect(status).toBe(0);
    expect(stderr.split('\n').slice(0, 3)).toEqual(problems);
    expect(stderr.split('\n')[3]).toMatch(/^release \w+ in dist: 4 articles, 3 warnings, /);
    const strict = await runGenerator(['build'], { cwd: root });
    expect(strict.status).toBe(1);
    expect(strict.stderr.split('\n').slice(0, 3)).toEqual(problems.map((line) => line.replace('warning: ', '')));
  });

  test('takes nothing else for a warning', async () => {
    const root = createProject({ ...broken, 'content/blog/news/first.md': article({ title: '5' }, '# Details\n') });
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
