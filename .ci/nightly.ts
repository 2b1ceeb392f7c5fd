// Prints the nightly tests that a change needs, one per line: the tests with a changed path in the table of
// test/README.md. `--all` prints all. The reasons go to standard error.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** Files that all tests use. */
const shared = ['.ci/', 'package-lock.json', 'vitest.config.ts', 'test/setup.ts', 'test/helpers/', 'test/server/'];

const rows = readFileSync('test/README.md', 'utf8').matchAll(/^\| `(nightly\/\S+)\.test\.ts` .*\| ([^|]+) \|$/gm);
const listed = Array.from(rows, ([, name, paths]) => ({
  file: `test/${name}.test.ts`,
  // A test's helpers are in a folder of the same name.
  paths: [`test/${name}.test.ts`, `test/${name}/`, ...paths.replaceAll(/[`\s]/g, '').split(',')],
}));

function git(...args: string[]): string | undefined {
  try {
    return execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return undefined;
  }
}

/** Finds the commit before the change: the merge base with origin/main or, on main, the parent. */
function findBase(): string | undefined {
  const fork = git('merge-base', 'origin/main', 'HEAD');
  return fork === undefined || fork === git('rev-parse', 'HEAD') ? git('rev-parse', '--verify', 'HEAD^') : fork;
}

/** Lists the files that differ from a commit, including uncommitted files. */
function listChanges(base: string): string[] {
  const files = [git('diff', '--name-only', '--no-renames', base), git('ls-files', '--others', '--exclude-standard')];
  return files.join('\n').split('\n').filter(Boolean);
}

const base = process.argv.includes('--all') ? undefined : findBase();
const changes = base === undefined ? undefined : listChanges(base);
process.stderr.write(`nightly tests: ${base === undefined ? 'all' : `compared with ${base}`}\n`);
for (const { file, paths } of listed) {
  const change = changes?.find((changed) => [...shared, ...paths].some((path) => changed.startsWith(path)));
  const runs = changes === undefined || change !== undefined;
  if (runs) process.stdout.write(`${file}\n`);
  process.stderr.write(`  ${file} ${change ? `runs: ${change} changed` : runs ? 'runs' : 'is left out'}\n`);
}
