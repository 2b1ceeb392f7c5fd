import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createProviders } from '../../../server/hosting/providers.ts';
import { ProviderError } from '../../../server/upstream/client.ts';
import { temporaryFolder } from '../../helpers/project.ts';
import { createTestLog } from '../../helpers/upstream.ts';
import { unknownStats } from '#contract/console-stream.ts';
import { createLocal } from './local-harness.ts';
import { recordConsole } from './console-recorder.ts';

/** Creates an instance with the servers `a` and `b` of one local provider, and `c` of another. */
function open(dataDir: string) {
  const program = { kind: 'vps' as const, command: ['sleep', '60'], cwd: '/', env: {}, grace_seconds: 0 };
  const config = {
    here: { type: 'local' as const, servers: { a: program, b: program } },
    there: { type: 'local' as const, servers: { c: program } },
  };
  const providers = createProviders(config, { dataDir, log: createTestLog().log, timeoutMs: 20_000 });
  onTestFinished(async () => void (await Promise.all([...providers.values()].map((provider) => provider.close()))));
  const vpsOf = (ref: string) => providers.get(ref === 'c' ? 'there' : 'here')!.vps!;
  const state = async (ref: string): Promise<string> => (await vpsOf(ref).state(ref, 0)).state;
  return {
    state,
    /** Returns the detail of a refusal, which is only logged. */
    async start(ref: string): Promise<string> {
      try {
        await vpsOf(ref).power(ref, 'start');
        return 'none';
      } catch (error) {
        if (error instanceof ProviderError) return (error.cause as Error).message;
        throw error;
      }
    },
    async stop(ref: string): Promise<void> {
      await vpsOf(ref).power(ref, 'stop');
      await expect.poll(() => state(ref)).toBe('offline');
    },
  };
}

/** Creates two instances with one data folder. */
function prepare() {
  const dataDir = temporaryFolder();
  return { one: open(dataDir), other: open(dataDir), holderFile: join(dataDir, 'local/.holder.json') };
}

/** Creates the holder file of a process that was killed while it ran `a` with this guard. */
async function prepareDead() {
  const { one, other, holderFile } = prepare();
  await one.start('a');
  const holder = readFileSync(holderFile, 'utf8');
  await one.stop('a');
  const child = spawn('sleep', ['60'], { detached: true, stdio: 'ignore' });
  await once(child, 'spawn');
  onTestFinished(() => void child.kill('SIGKILL'));
  const stat = readFileSync(`/proc/${child.pid}/stat`, 'utf8');
  const started = stat.slice(stat.lastIndexOf(')')).split(' ')[20]!;
  const text = holder.replace(/"here\/a":"[^"]*"/, `"here/a":"${child.pid} ${started}"`);
  return { other, holderFile, text, started, child };
}

test('only one of two instances runs servers, until its last server has ended', async () => {
  const { one, other, holderFile } = prepare();
  expect([await one.start('a'), await one.start('c')]).toEqual(['none', 'none']);
  const refused = new RegExp(`^process ${process.pid} on ${hostname()} runs the local servers of`);
  for (const ref of ['a', 'b', 'c']) expect(await other.start(ref)).toMatch(refused);
  expect([await one.state('a'), await one.state('c'), await one.state('b')]).toEqual(['running', 'running', 'offline']);
  await one.stop('a');
  expect(await other.start('a')).toMatch(refused);
  await one.stop('c');
  expect(existsSync(holderFile)).toBe(false);
  expect(await other.start('a')).toBe('none');
  expect(await one.start('b')).toMatch(refused);
});

test('of two concurrent starts by two instances one succeeds', async () => {
  const { one, other } = prepare();
  const answers = await Promise.all([one.start('a'), other.start('a')]);
  expect(answers.filter((answer) => answer === 'none')).toHaveLength(1);
});

test('only the states of servers that another instance runs are unknown', async () => {
  const { one, other } = prepare();
  expect(await other.state('a')).toBe('offline');
  await one.start('a');
  expect([await other.state('a'), await other.state('b'), await other.state('c')]).toEqual([
    'unknown',
    'offline',
    'offline',
  ]);
  await one.stop('a');
  expect(await other.state('a')).toBe('offline');
});

test.runIf(process.platform === 'linux')(
  'a start waits for the guard of a dead holder, unless its ID was reused',
  async () => {
    const { other, holderFile, text, started, child } = await prepareDead();
    const startAfter = async (holder: string): Promise<string> => {
      writeFileSync(holderFile, holder);
      const detail = await other.start('b');
      await other.stop('b');
      return detail;
    };
    expect(await startAfter(text)).toContain('has ended, but its local servers still run');
    // The ID was reused by another group, or the holder was on another machine.
    expect(await startAfter(text.replace(` ${started}"`, ' 1"'))).toBe('none');
    expect(await startAfter(text.replaceAll(hostname(), 'elsewhere'))).toBe('none');
    expect(await startAfter('{"name":')).toBe('none');
    child.kill('SIGKILL');
    await expect.poll(() => startAfter(text)).toBe('none');
  },
);

test.runIf(process.platform === 'linux')(
  "the state of a dead holder's server is unknown while the server runs",
  async () => {
    const { other, holderFile, text, child } = await prepareDead();
    writeFileSync(holderFile, text);
    expect([await other.state('a'), await other.state('b')]).toEqual(['unknown', 'offline']);
    child.kill('SIGKILL');
    await expect.poll(() => other.state('a')).toBe('offline');
  },
);

test('an unusable folder is a refusal', async () => {
  const dataDir = temporaryFolder();
  mkdirSync(join(dataDir, 'local'));
  mkdirSync(join(dataDir, 'local/.lock'));
  expect(await open(dataDir).start('a')).toContain('cannot be locked');
});

test('the CPU and the memory of a local server are read from its process, whatever its name', async () => {
  const code = "process.title = ') S 1 2 3'; for (;;);";
  const { game } = createLocal({ demo: { command: [process.execPath, '-e', code] } });
  const { source } = recordConsole(game, 'demo');
  expect(await source.stats()).toMatchObject({ cpu: 0, memory_bytes: 0 });
  await game.power('demo', 'start');
  await expect.poll(async () => (await source.stats()).cpu).toBeGreaterThan(0);
  const { memory_bytes: memory, ...others } = await source.stats();
  expect(memory).toBeGreaterThan(10_000_000);
  expect(others).toMatchObject({ disk_bytes: null, network_rx_bytes: null, network_tx_bytes: null });
  expect(await recordConsole(game, 'other').source.stats()).toEqual(unknownStats);
});
