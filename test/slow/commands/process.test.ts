import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdirSync, openSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { parseApiKey } from '../../../server/keys/authorize.ts';
import { openStore } from '../../../server/store/index.ts';
import { temporaryFolder } from '../../helpers/project.ts';
import { auditEntry } from '../../store/samples.ts';
import { createCommandLine, environment, main, runCommand } from '../../commands/run-command.ts';
import type { ShownKey } from '../../commands/run-command.ts';

// These tests run commands as child processes; the tests in test/commands/ use the process of the test, which is faster.

const create = ['keys', 'create', '--server', 'game:a', '--scope', 'game-logs:read'];

async function keyIds(dataDir: string): Promise<string[]> {
  const store = await openStore({ DATA_DIR: dataDir });
  const keys = await store.apiKeys.list();
  await store.close();
  return keys.map(({ id }) => id);
}

describe('the settings', () => {
  test('are optional: the store is in .data of the working directory, and a note reports a new store', async () => {
    const cwd = temporaryFolder();
    const first = await runCommand(create, { cwd, env: {} });
    expect(await keyIds(join(cwd, '.data'))).toEqual([parseApiKey(first.stdout.trim())!.id]);
    expect(first.stderr.split('\n')[0]).toBe(
      `note: ${join(cwd, '.data/hosting.sqlite')} is new; the server must use the same DATA_DIR, and run as the user who ran this command`,
    );
    expect((await runCommand(['keys', 'list'], { cwd, env: {} })).stderr).toBe('');
  });

  test('are read from .env, and overridden by the environment', async () => {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, '.env'), 'DATA_DIR=from-file\n');
    await runCommand(create, { cwd, env: {} });
    await runCommand(create, { cwd, env: { DATA_DIR: 'from-environment' } });
    expect(await keyIds(join(cwd, 'from-file'))).toHaveLength(1);
    expect(await keyIds(join(cwd, 'from-environment'))).toHaveLength(1);
  });

  test('in an unreadable .env give an error in one line, but --help still works', async () => {
    const cwd = temporaryFolder();
    mkdirSync(join(cwd, '.env'));
    expect(await runCommand(create, { cwd, env: {} })).toEqual({
      status: 1,
      stdout: '',
      stderr: '.env: must be a regular file of at most 64 KiB\n',
    });
    expect(await runCommand(['keys', '--help'], { cwd, env: {} })).toMatchObject({ status: 0, stderr: '' });
    expect(existsSync(join(cwd, '.data'))).toBe(false);
  });
});

test('npm run passes on the arguments and the exit status', async () => {
  const { env, store } = await createCommandLine();
  const npm = (...args: string[]) =>
    promisify(execFile)('npm', ['run', '--silent', ...args], {
      cwd: resolve(import.meta.dirname, '../../..'),
      env: environment(env),
    });
  const { stdout } = await npm('keys', '--', ...create.slice(1), '--json');
  expect(await store.apiKeys.find((JSON.parse(stdout) as ShownKey).id)).toBeDefined();
  await expect(npm('servers', '--', 'lsit')).rejects.toMatchObject({
    code: 1,
    stderr: "unknown command 'lsit' (Did you mean list?)\n",
  });
  expect((await npm('audit', '--', '--json', '--server', 'game:none')).stdout).toBe('');
});

describe('the output', () => {
  test('may be closed early by its reader', async () => {
    const { env, store } = await createCommandLine();
    for (let index = 0; index < 3000; index += 1) await store.audit.append(auditEntry({ requestId: `r${index}` }));
    const child = spawn(process.execPath, [main, 'audit'], { env: environment(env) });
    let stderr = '';
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    child.stdout.once('data', () => child.stdout.destroy());
    expect(await once(child, 'close')).toEqual([0, null]);
    expect(stderr).toBe('');
  });

  test('reaches a pipe completely, whatever its length', async () => {
    const { env, store } = await createCommandLine();
    const ids = Array.from({ length: 2500 }, (_, index) => `r${index}`);
    for (const requestId of ids) await store.audit.append(auditEntry({ requestId }));
    const { stdout } = await runCommand(['audit', '--json'], { cwd: temporaryFolder(), env });
    const lines = stdout.trim().split('\n');
    expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject(ids.map((requestId) => ({ requestId })));
  });

  test.runIf(existsSync('/dev/full'))('on a full disk gives status 1 for stdout, and status 0 for stderr', async () => {
    const { env, store } = await createCommandLine();
    const full = openSync('/dev/full', 'w');
    const run = (...outputs: ['pipe' | number, 'pipe' | number]) =>
      spawn(process.execPath, [main, ...create], { env: environment(env), stdio: ['ignore', ...outputs] });
    const withoutStdout = run(full, 'pipe');
    const [stderr, ended] = await Promise.all([text(withoutStdout.stderr!), once(withoutStdout, 'close')]);
    expect(ended).toEqual([1, null]);
    const [{ id } = { id: '' }] = await store.apiKeys.list();
    expect(stderr).toContain(
      `the output cannot be written: ENOSPC, and this secret is lost: run keys rotate ${id} to get a new secret\n`,
    );

    const withoutStderr = run('pipe', full);
    const [stdout, closed] = await Promise.all([text(withoutStderr.stdout!), once(withoutStderr, 'close')]);
    expect(closed).toEqual([0, null]);
    expect(parseApiKey(stdout.trim())).toBeDefined();
    closeSync(full);
  });
});
