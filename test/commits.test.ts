import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from './helpers/project.ts';

const script = resolve(import.meta.dirname, '../.ci/commits');

/** Creates a repository whose first commit adds the script. */
function createRepository() {
  const folder = temporaryFolder();
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], {
      cwd: folder,
      encoding: 'utf8',
      stdio: 'pipe',
    });
  const commit = (message: string) => git('commit', '--quiet', '--allow-empty', '-m', message);
  git('init', '--quiet', '--initial-branch=main');
  commit(`Merge branch 'main' of /tmp/before`);
  cpSync(script, join(folder, '.ci/commits'));
  git('add', '.ci');
  commit('Check commits\n\nThey are read later.');
  const check = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync('bash', ['.ci/commits', ...args], { cwd: folder, encoding: 'utf8' });
    return { status, text: `${stdout}${stderr}`.replaceAll(/^[0-9a-f]{9}: /gm, '') };
  };
  return { folder, git, commit, check };
}

const why = '\n\nThe limit is counted once.';

test.each([
  ['a subject of 72 characters', `${'a'.repeat(72)}${why}`, ''],
  ['an address of the API', `Answer /v1/info and /media/x with a version${why}`, ''],
  ['a subject of 80 characters', `${'ä'.repeat(80)}${why}`, `the subject has 80 characters; write at most 72: `],
  ['a path', `Take the branch of /home/ann/api${why}`, 'holds the path of a machine: '],
  ['a path in its body', `Take the branch\n\nFrom (/tmp/h/api).`, 'holds the path of a machine: '],
  ['no body', 'Count the limit once\n\nSigned-off-by: a <a@example.com>', 'has no body; say why: '],
  ['an unfinished one', `WIP: count${why}`, 'is not finished: '],
])('a commit with %s', (_, message, problem) => {
  const { folder, commit, check } = createRepository();
  commit(message);
  const expected = problem && `${problem}${message.split('\n')[0]}\n`;
  expect(check()).toEqual({ status: problem ? 1 : 0, text: expected });
  // git's hook reports the same.
  writeFileSync(join(folder, 'message'), message);
  expect(check('message')).toEqual({ status: problem ? 1 : 0, text: problem && `message: ${expected}` });
});

test("a merge of a branch is refused, but not GitHub's merge commit of a pull request", () => {
  const { git, commit, check } = createRepository();
  git('checkout', '--quiet', '-b', 'other');
  commit(`One${why}`);
  git('checkout', '--quiet', 'main');
  commit(`Two${why}`);
  git('merge', '--quiet', '--no-ff', '-m', `Merge ${'a'.repeat(40)} into ${'b'.repeat(40)}`, 'other');
  expect(check()).toEqual({ status: 0, text: '' });
  git('commit', '--quiet', '--amend', '-m', `Merge branch 'other'${why}`);
  expect(check()).toEqual({ status: 1, text: "is a merge of a branch; rebase instead: Merge branch 'other'\n" });
});

test('a shallow clone is skipped with a note', () => {
  const { folder, git, commit } = createRepository();
  commit('No body');
  git('clone', '--quiet', '--depth=1', `file://${folder}`, 'clone');
  const { status, stdout } = spawnSync(join(folder, 'clone/.ci/commits'), { encoding: 'utf8' });
  expect([status, stdout]).toEqual([0, 'commits: not checked, this is a shallow clone or no clone\n']);
});
