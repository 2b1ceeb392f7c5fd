import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { article, createProject, runGenerator as runProcess } from '../helpers/project.ts';
import { foldersOf, runCommand as run } from './run-command.ts';

test('a release is built, replaced, compared, listed, rolled back and pruned', async () => {
  const first = createProject();
  const out = ['--out', join(first, 'dist')];
  const build = await run('build', ...foldersOf(first), ...out);
  expect(build.stderr).toMatch(
    /^release [0-9a-f]{16} in .*dist: 4 articles, 0 warnings, \d+ kB, \d+\.\d s\nstatus widget: \S+ \S+\n$/,
  );
  expect(build.failed).toBe(false);

  const second = createProject({
    'content/blog/news/third.md': article({ date: '2027-01-01' }, 'Later.\n'),
    'content/blog/news/fourth.md': article({ draft: 'true' }, 'Not yet.\n'),
    'content/blog/news/fifth.md': article({}, 'Now.\n'),
  });
  const options = ['--format', 'json', '--now', '2026-11-20', '--no-cache', '--compress', 'best'];
  const rebuild = await run('build', ...foldersOf(second), ...out, ...options);
  const summary = JSON.parse(rebuild.stdout) as { release: string };
  expect(summary).toMatchObject({ ok: true, drafts: 1, scheduled: 1, nextChangeAt: '2027-01-01', diagnostics: [] });

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

test('a check prints errors as text or as workflow annotations, and fails', async () => {
  const root = createProject({ 'content/blog/news/first.md': article({ titel: 'x' }, '## Details\n\n[x](none.md)\n') });
  const text = await run('check', ...foldersOf(root), '--now', '2026-11-20');
  expect(text.stderr).toMatch(
    /first\.md:7:1 {2}unknown field "titel" \(did you mean "title"\?\)\n.*first\.md:12:1 {2}there is no article .*\nfailed: 3 articles, .*2 errors/,
  );
  expect(text.failed).toBe(true);
  const github = await run('check', ...foldersOf(root), '--format', 'github');
  expect(github.stdout).toMatch(/^::error file=.*first\.md,line=7,col=1::unknown field "titel"/);
});

test('a lenient check reports a dead link as a warning', async () => {
  const root = createProject({ 'content/blog/news/first.md': article({}, '## Details\n\n[x](none.md)\n') });
  const { stderr, failed } = await run('check', ...foldersOf(root), '--lenient');
  expect(stderr).toMatch(
    /first\.md:11:1 {2}warning: there is no article \/blog\/news\/none\nok: 4 articles, 1 warning, /,
  );
  expect(failed).toBe(false);
});

test.each([
  [['--now', 'today'], '--now must be a calendar date of the form YYYY-MM-DD\n'],
  [['--lenint'], "unknown option '--lenint' (Did you mean --lenient?)\n"],
  [['--lenient', '--strict'], "option '--lenient' cannot be used with option '--strict'\n"],
  [['surplus'], "too many arguments for 'check'. Expected 0 arguments but got 1: surplus.\n"],
  [['--content='], "option '--content <DIR>' argument '' is invalid. It must be a folder.\n"],
])('a check with %j is refused', async (args, message) => {
  const root = createProject();
  const { stderr, failed } = await run('check', ...foldersOf(root), ...args);
  expect(stderr).toBe(message);
  expect(failed).toBe(true);
});

test('if the release cannot be written, the command prints one line and fails', async () => {
  const root = createProject({ 'dist/releases': 'a file where the folder should be' });
  const { stderr, failed } = await run('build', ...foldersOf(root), '--out', join(root, 'dist'));
  expect(stderr).toMatch(
    /^the release could not be written, and the current one stays as it is: (?:EEXIST|ENOTDIR): .*\n$/,
  );
  expect(failed).toBe(true);
});

test.each(['build', 'dev'])('%s refuses an --out below /proc in one line', async (command) => {
  const root = createProject();
  const { status, stderr } = await runProcess([command, ...foldersOf(root), '--out', '/proc/x/y']);
  expect(stderr).toBe('--out: the folder cannot be created (ENOENT)\n');
  expect(status).toBe(1);
});

test('releases reads DIST_DIR without --out', async () => {
  const root = createProject();
  vi.stubEnv('DIST_DIR', join(root, 'dist'));
  expect((await run('releases', 'list')).stdout).toBe('');
  expect((await run('releases', 'prune', '--keep', 'all')).stderr).toBe('--keep must be a whole number, at least 1\n');
  vi.unstubAllEnvs();
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
