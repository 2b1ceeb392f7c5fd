import { chmodSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runCommandLine } from '../../server/commands/run.ts';
import { parseApiKey } from '../../server/keys/authorize.ts';
import { describePostgres } from '../helpers/postgres.ts';
import { temporaryFolder } from '../helpers/project.ts';
import { brokenOutput, create, createCommandLine, refused, runHere } from './run-command.ts';

test.each([
  [
    { DATABASE_URL: 'mysql://u:hunter2@localhost/x' },
    'DATABASE_URL: must be a URL such as postgres://user:password@host/database\n',
  ],
  [
    { DATABASE_URL: 'postgres://u:hunter2@127.0.0.1:1/x' },
    'the PostgreSQL database cannot be used: the server cannot be reached (ECONNREFUSED)\n',
  ],
  [{ DATA_DIR: '/dev/null' }, 'DATA_DIR: files cannot be created in this folder (EEXIST)\n'],
  [{ DATA_DIR: '/proc/x' }, 'DATA_DIR: files cannot be created in this folder (ENOENT)\n'],
])('%j is refused in one line', async (env, stderr) => {
  expect(await runHere(create, env)).toEqual(refused(stderr));
});

test('a data folder of another user is refused, and the error names the right user', async () => {
  const { env, run } = await createCommandLine();
  chmodSync(env.DATA_DIR!, 0);
  const isRoot = process.getuid?.() === 0;
  // File modes do not stop root: run the command as an unprivileged user, 65534.
  if (isRoot) process.seteuid?.(65534);
  const result = await run('keys', 'list').finally(() => isRoot && process.seteuid?.(0));
  chmodSync(env.DATA_DIR!, 0o700);
  expect(result).toEqual(
    refused(
      `DATA_DIR: files cannot be created in this folder (EACCES); run the command as the user who owns ${env.DATA_DIR}\n`,
    ),
  );
});

test('an unexpected error is thrown, not reported as a mistake of the operator', async () => {
  const out = brokenOutput('EIO');
  const settings = (): never => {
    throw new TypeError('a defect');
  };
  await expect(runCommandLine(['keys', 'list'], { out, err: out, settings })).rejects.toThrow('a defect');
});

test.each([
  [[], ['keys', 'servers', 'audit', 'feedback', 'domains']],
  [['keys'], ['create', 'list', 'rotate', 'revoke']],
  [['servers'], ['add', 'list', 'remove']],
])('%j without a command prints the list of commands', async (args, names) => {
  const { run } = await createCommandLine();
  const { status, stdout, stderr } = await run(...args);
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
  for (const name of names) expect(stderr).toContain(`  ${name}`);
});

test.each([
  ['--help', ['keys', 'servers', 'audit']],
  ['keys --help', ['create', 'list', 'rotate', 'revoke']],
  ['keys create -h', ['--server', '--scope', '--label', '--expires', '--json']],
  ['audit --help', ['--server', '--since', '--json']],
])('%s prints the usage without colours and does nothing', async (command, words) => {
  const { run, store } = await createCommandLine();
  const { status, stdout, stderr } = await run(...command.split(' '));
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  for (const word of words) expect(stdout).toContain(word);
  expect(stdout).not.toContain('\u001B');
  expect(await store.apiKeys.list()).toEqual([]);
});

test('on a machine with an installation, a command without its settings names the command to use', async () => {
  const installed = join(temporaryFolder(), 'settings.env');
  const env = { PORT: '0' };
  writeFileSync(installed, 'DATA_DIR=/var/lib/hosting-api/data\n');
  for (const command of [create.join(' '), 'servers list', 'audit', 'store migrate', 'doctor', 'feedback report']) {
    const [name = '', ...args] = command.split(' ');
    expect(await runHere([name, ...args], env, { installed })).toEqual(
      refused(
        'neither DATA_DIR nor DATABASE_URL is set, but this machine has an installation: run ' +
          `\`hosting-api ${name} ...\`, which uses the settings in ${installed}\n`,
      ),
    );
  }
  const DATA_DIR = join(temporaryFolder(), 'data');
  expect(await runHere(create, { DATA_DIR }, { installed })).toMatchObject({ status: 0 });
  expect(await runHere(['keys', '--help'], env, { installed })).toMatchObject({ status: 0 });
  // Advice contains the commands of the installation.
  const { stdout } = await runHere(['doctor'], { DATA_DIR, DIST_DIR: temporaryFolder() }, { installed });
  expect(stdout).toContain('run `hosting-api build`, or go back with `hosting-api releases rollback`');
  expect(stdout).not.toContain('npm run');
});

test('a command that adds no record creates no store', async () => {
  const DATA_DIR = join(temporaryFolder(), 'data');
  const file = join(DATA_DIR, 'hosting.sqlite');
  for (const command of ['keys list', 'keys revoke AbCdEfGhIj01', 'servers list', 'audit', 'feedback report']) {
    expect(await runHere(command.split(' '), { DATA_DIR })).toEqual(
      refused(`there is no database ${file}: the first start, keys create or servers add creates it\n`),
    );
  }
  expect(existsSync(DATA_DIR)).toBe(false);
});

describePostgres((server) => {
  test('all commands work on the database of DATABASE_URL_FILE', async () => {
    const file = join(temporaryFolder(), 'url');
    writeFileSync(file, `${await server().createDatabase()}\n`);
    const { run, json, store } = await createCommandLine({ DATABASE_URL_FILE: file });
    const { stdout } = await run(...create);
    const { id } = parseApiKey(stdout.trim())!;
    await run('servers', 'add', 'game:a', '--provider', 'panel', '--ref', '1');
    expect(await json('keys', 'list', '--json')).toMatchObject([{ id, servers: ['game:a'], revoked: null }]);
    expect(await json('servers', 'list', '--json')).toMatchObject([{ server: 'game:a' }]);
    await run('keys', 'revoke', id);
    const { status, stdout: log, stderr } = await run('audit');
    expect({ status, lines: log.split('\n').length - 1, stderr }).toEqual({ status: 0, lines: 6, stderr: '' });
    expect((await store.apiKeys.find(id))?.revokedAt).toBeGreaterThan(0);
  });
});
