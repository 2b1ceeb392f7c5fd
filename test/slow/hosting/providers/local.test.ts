import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { failureOf } from '../../../helpers/fault-suite.ts';
import { temporaryFolder, writeFiles } from '../../../helpers/project.ts';
import { createSupervisor } from '../../../helpers/upstream-process.ts';
import type { Supervisor } from '../../../helpers/upstream-process.ts';
import { until } from '../../../helpers/upstream.ts';
import { followConsole, recordConsole } from '../../../hosting/providers/console-recorder.ts';
import { testGameProvider, testVpsProvider } from '../../../hosting/providers/provider-suite.ts';
import {
  createLocal,
  prepareLocal,
  prepareRecorded,
  prepareRunning,
  spyOnSignals,
} from '../../../hosting/providers/local-harness.ts';
import { createServable, startProcess } from '../../../server/process.ts';

/** Creates the harness of the suites for a local provider. */
function createHarness(supervisor: Supervisor, name: string) {
  let starts = 0;
  let done = 0;
  return {
    ref: name,
    unknownRef: 'other',
    // The state is our own, so it is never stale.
    pass: () => undefined,
    async arrived(action: string): Promise<void> {
      if (action === 'stop' || action === 'kill') await until(action, () => supervisor.alive(name).length === 0);
      else await supervisor.started(name, (starts += 1));
      done += 1;
    },
    actions: () => done,
  };
}

testGameProvider('Local', async () => {
  const { supervisor, provider } = await prepareLocal();
  return {
    ...createHarness(supervisor, 'demo'),
    provider,
    commands: () => supervisor.programs.flatMap(({ inputs }) => inputs),
    print: (...lines) => lines.forEach((line) => supervisor.alive('demo')[0]!.send('print', `${line}\n`)),
  };
});

testVpsProvider('Local', async () => {
  const supervisor = await createSupervisor();
  const { provider } = createLocal({ box: { kind: 'vps', command: supervisor.command('box') } });
  return { ...createHarness(supervisor, 'box'), provider };
});

describe('power', () => {
  test('stop sends SIGTERM, and the output is read to its end', async () => {
    const { game, program, record } = await prepareRecorded();
    await game.power('demo', 'stop');
    await until('it is offline', () => record.states.at(-1) === 'offline');
    expect(program.signals).toEqual(['SIGTERM']);
    expect(record.events.slice(-3)).toEqual(['status: stopping', 'line: saving', 'status: offline']);
  });

  test('a server that ignores SIGTERM is killed after its grace period', async () => {
    const { game, program } = await prepareRunning({ grace_seconds: 1 }, 'ignore-sigterm');
    const started = performance.now();
    await game.power('demo', 'stop');
    await until('it is gone', program.gone);
    expect(performance.now() - started).toBeGreaterThan(980);
    expect(program.signals).toEqual(['SIGTERM']);
  });

  test('kill does not wait, not even during a stop', async () => {
    const { game, program } = await prepareRunning({ grace_seconds: 600 }, 'ignore-sigterm');
    await game.power('demo', 'stop');
    await until('it got SIGTERM', () => program.signals.length === 1);
    await game.power('demo', 'kill');
    await until('it is gone', program.gone);
    expect(program.signals).toEqual(['SIGTERM']);
  });

  test.each(['start', 'restart'] as const)('a %s while the server is stopping waits for its end', async (action) => {
    const { game, supervisor, program } = await prepareRunning({ grace_seconds: 1 }, 'ignore-sigterm');
    await game.power('demo', 'stop');
    await game.power('demo', action);
    expect(supervisor.programs).toHaveLength(1);
    await supervisor.started('demo', 2);
    expect(program.gone()).toBe(true);
    expect(supervisor.alive('demo')).toHaveLength(1);
  });

  test('a stop cancels a waiting start', async () => {
    const { game, supervisor, record } = await prepareRecorded({ grace_seconds: 1 }, 'ignore-sigterm');
    await game.power('demo', 'restart');
    await game.power('demo', 'stop');
    await until('it is offline', () => record.states.at(-1) === 'offline');
    await failureOf(game.command('demo', 'list'));
    expect(supervisor.programs).toHaveLength(1);
  });

  test('concurrent actions leave at most one server', async () => {
    const { game, supervisor } = await prepareLocal();
    await Promise.all([game.power('demo', 'start'), game.power('demo', 'start'), game.power('demo', 'restart')]);
    await supervisor.started('demo');
    await Promise.all([game.power('demo', 'start'), game.power('demo', 'stop'), game.power('demo', 'stop')]);
    await until('it is gone', () => supervisor.alive('demo').length === 0);
    expect(supervisor.programs).toHaveLength(1);
  });

  test('a stop while the server is starting is not lost', async () => {
    const { game } = await prepareLocal();
    const record = await followConsole(game, 'demo');
    await Promise.all([game.power('demo', 'start'), game.power('demo', 'stop')]);
    await until('it is offline', () => record.states.at(-1) === 'offline' && record.states.length > 1);
    expect(record.states).toContain('stopping');
  });

  test.each([
    ['a program that does not exist', { command: ['/nowhere/program'] }],
    ['a folder that does not exist', { cwd: '/nowhere' }],
    ['an invalid program name', { command: ['a\0b'] }],
  ])('%s is a definite failure without a start', async (_, server) => {
    const { game } = await prepareLocal(server);
    const error = await failureOf(game.power('demo', 'start'));
    expect(error).toMatchObject({ outcome: 'refused', message: 'The request could not be completed' });
    expect(await failureOf(game.command('demo', 'list'))).toMatchObject({ outcome: 'refused' });
    expect(await failureOf(game.power('demo', 'start'))).toMatchObject({ outcome: 'refused' });
  });

  test('a game server is not controlled as a VPS, nor a VPS as a game server', async () => {
    const { game, vps } = createLocal({ demo: { kind: 'game' }, box: { kind: 'vps' } });
    expect(await failureOf(vps.power('demo', 'start'))).toMatchObject({ outcome: 'refused' });
    expect(await failureOf(game.power('box', 'start'))).toMatchObject({ outcome: 'refused' });
    expect(await recordConsole(game, 'box').ended()).toBe('console is not available');
  });
});

describe('a child process of a server', () => {
  test.each(['stop', 'kill'] as const)('ends with the server on %s', async (action) => {
    const { game, supervisor, program } = await prepareRunning({ grace_seconds: 1 });
    program.send('spawn-child', 'child');
    const child = await supervisor.started('child');
    const record = await followConsole(game, 'demo');
    await game.power('demo', action);
    await until('both are gone', () => program.gone() && child.gone());
    await until('it is offline', () => record.states.at(-1) === 'offline');
    expect(child.signals).toHaveLength(action === 'stop' ? 1 : 0);
  });

  test('ends with a crashed server, before the next start', async () => {
    const { game, supervisor, program } = await prepareRunning({ grace_seconds: 1 });
    program.send('spawn-child', 'child');
    const child = await supervisor.started('child');
    program.send('exit', '1');
    await until('the child got SIGTERM', () => child.signals.length === 1);
    await game.power('demo', 'start');
    await supervisor.started('demo', 2);
    expect(child.gone()).toBe(true);
  });

  test('ends with this process, even after SIGKILL', async () => {
    const supervisor = await createSupervisor();
    const parent = spawn(
      process.execPath,
      [
        fileURLToPath(new URL('../../../helpers/upstream-parent.ts', import.meta.url)),
        temporaryFolder(),
        ...supervisor.command('demo'),
      ],
      { stdio: 'inherit' },
    );
    onTestFinished(() => void parent.kill('SIGKILL'));
    const program = await supervisor.started('demo');
    program.send('spawn-child', 'child');
    const child = await supervisor.started('child');
    parent.kill('SIGKILL');
    await once(parent, 'exit');
    await until('both are gone', () => program.gone() && child.gone());
    // The child ignores SIGTERM.
    expect(child.signals).toEqual(['SIGTERM']);
  });

  test('ends with the provider', async () => {
    const { provider, supervisor, program } = await prepareRunning();
    await provider.close();
    await until('it is gone', program.gone);
    expect(program.signals).toEqual(['SIGTERM']);
    expect(supervisor.alive('demo')).toEqual([]);
  });
});

/** Creates a server that has ended, while a detached process keeps its output open for up to a second. */
async function prepareEnded() {
  const local = await prepareRecorded({ grace_seconds: 0.5 });
  const { supervisor, program, record } = local;
  program.send('spawn-detached', 'holder');
  await supervisor.started('holder');
  const signals = spyOnSignals();
  program.send('exit', '0');
  await signals.groupGone();
  signals.kill.mockClear();
  expect(record.states).toEqual(['running']);
  return { ...local, signals };
}

test.each(['stop', 'kill', 'restart'] as const)(
  'a %s during the last output sends no signal and keeps the grace period of the next stop',
  async (action) => {
    const { game, supervisor, record, signals } = await prepareEnded();
    await game.power('demo', action);
    await until('it is offline', () => record.states.includes('offline'));
    // The process group ID may be in use again.
    expect(signals.kill.mock.calls).toEqual([]);
    await game.power('demo', 'start');
    const program = await supervisor.started('demo', 2);
    program.send('spawn-child', 'child');
    const child = await supervisor.started('child');
    await game.power('demo', 'stop');
    await until('both are gone', () => program.gone() && child.gone());
    expect(child.signals).toEqual(['SIGTERM']);
  },
);

test('a start during the last output waits until the output is read', async () => {
  const { game, supervisor, record } = await prepareEnded();
  await game.power('demo', 'start');
  await supervisor.started('demo', 2);
  expect(record.states.slice(0, 2)).toEqual(['running', 'offline']);
});

/** Creates a VPS with a test program: only VPS have a reset. */
async function prepareVps(mode?: 'ignore-sigterm') {
  const supervisor = await createSupervisor();
  const command = supervisor.command('box', mode);
  const { vps } = createLocal({ box: { kind: 'vps', command, grace_seconds: 1 } });
  return {
    supervisor,
    signals: spyOnSignals(),
    power: (action: 'start' | 'stop' | 'reset') => vps.power('box', action),
  };
}

describe('while a server is offline', () => {
  test('a restart starts the server', async () => {
    const { game, supervisor } = await prepareLocal();
    await game.power('demo', 'restart');
    expect(await supervisor.started('demo')).toBe(supervisor.programs[0]);
  });

  test('a reset starts the server', async () => {
    const { supervisor, power } = await prepareVps();
    await power('reset');
    expect(await supervisor.started('box')).toBe(supervisor.programs[0]);
  });
});

describe('while a server is starting', () => {
  test.each(['start', 'restart'] as const)('a %s waits for the start and fails with it', async (action) => {
    const { game } = createLocal({ demo: { command: ['/nowhere/program'] } });
    const record = await followConsole(game, 'demo');
    const start = failureOf(game.power('demo', 'start'));
    expect(await failureOf(game.power('demo', action))).toMatchObject({ outcome: 'refused' });
    expect(await start).toMatchObject({ outcome: 'refused' });
    expect(record.states).toEqual(['offline', 'starting', 'offline']);
  });

  test('a kill ends the server after its start', async () => {
    const { game } = await prepareLocal({}, 'ignore-sigterm');
    const signals = spyOnSignals();
    const record = await followConsole(game, 'demo');
    await Promise.all([game.power('demo', 'start'), game.power('demo', 'kill')]);
    await until('it is offline', () => record.states.at(-1) === 'offline' && record.states.length > 1);
    expect(record.states).toEqual(['offline', 'starting', 'running', 'stopping', 'offline']);
    expect(signals.sent()).toEqual(['SIGKILL']);
  });

  test('a reset ends the server after its start, and starts it again', async () => {
    const { supervisor, signals, power } = await prepareVps('ignore-sigterm');
    await Promise.all([power('start'), power('reset')]);
    await until('it was ended', () => signals.sent().length > 0);
    await until('it runs', () => supervisor.alive('box').length === 1);
    expect(signals.sent()).toEqual(['SIGKILL']);
  });

  test('closing its provider stops the server after its start', async () => {
    const { game, provider, supervisor } = await prepareLocal();
    const start = game.power('demo', 'start');
    await provider.close();
    await start;
    expect(supervisor.alive('demo')).toEqual([]);
  });

  test('closing its provider also works if the start fails', async () => {
    const { game, provider } = createLocal({ demo: { command: ['/nowhere/program'] } });
    const start = failureOf(game.power('demo', 'start'));
    await provider.close();
    expect(await start).toMatchObject({ outcome: 'refused' });
  });
});

describe('while a server is stopping', () => {
  test('a reset kills the server and starts it again', async () => {
    const { supervisor, signals, power } = await prepareVps('ignore-sigterm');
    await power('start');
    await supervisor.started('box');
    await power('stop');
    await power('reset');
    await supervisor.started('box', 2);
    expect(signals.sent()).toEqual(['SIGTERM', 'SIGKILL']);
  });

  test('closing its provider waits for its end, and no action can cancel the wait', async () => {
    const { game, provider, program, supervisor } = await prepareRunning({ grace_seconds: 1 }, 'ignore-sigterm');
    await game.power('demo', 'restart');
    const close = provider.close();
    expect(await failureOf(game.power('demo', 'start'))).toMatchObject({ outcome: 'refused' });
    for (const action of ['stop', 'restart', 'kill'] as const) await game.power('demo', action);
    await close;
    await until('it is gone', program.gone);
    expect(supervisor.programs).toHaveLength(1);
  });
});

test('during the last output, a kill cancels a start and is reported as a status', async () => {
  const { game, record } = await prepareEnded();
  await game.power('demo', 'start');
  await game.power('demo', 'kill');
  await until('it is offline', () => record.states.includes('offline'));
  expect(record.states).toEqual(['running', 'stopping', 'offline']);
});

test('during the last output, a reset starts the server afterwards', async () => {
  const { supervisor, signals, power } = await prepareVps();
  await power('start');
  const program = await supervisor.started('box');
  program.send('spawn-detached', 'holder');
  await supervisor.started('holder');
  program.send('exit', '0');
  await signals.groupGone();
  await power('reset');
  await supervisor.started('box', 2);
  expect(signals.sent()).toEqual([]);
});

test('a closed provider refuses actions that would start a server', async () => {
  const { provider, game, vps } = createLocal({ demo: {}, box: { kind: 'vps' } });
  await provider.close();
  for (const action of ['start', 'restart'] as const) {
    expect(await failureOf(game.power('demo', action))).toMatchObject({ outcome: 'refused' });
  }
  expect(await failureOf(vps.power('box', 'reset'))).toMatchObject({ outcome: 'refused' });
  await Promise.all([game.power('demo', 'stop'), game.power('demo', 'kill'), vps.power('box', 'stop')]);
});

test('the service warns at its start of each local server that cannot start, with the reason', async () => {
  const { root, settings } = await createServable();
  writeFiles(root, { 'bin/good': '#!/bin/sh\n' });
  chmodSync(join(root, 'bin/good'), 0o755);
  const servers = {
    onPath: { command: ['sleep', '1'] },
    absolute: { command: [process.execPath] },
    relative: { command: ['./good'], cwd: 'bin' },
    ownPath: { command: ['good'], env: { PATH: join(root, 'bin') } },
    typo: { command: ['slep', '1'] },
    gone: { command: ['/opt/none/run.sh'] },
    nowhere: { command: ['sleep', '1'], cwd: 'none' },
  };
  const entries = Object.entries(servers).map(([ref, server]) => [ref, { kind: 'game', ...server }]);
  const providers = { here: { type: 'local', servers: Object.fromEntries(entries) as unknown } };
  writeFiles(root, { 'providers.yaml': JSON.stringify({ providers }) });
  const server = startProcess({
    ...settings,
    DATA_DIR: join(root, 'data'),
    PROVIDERS_FILE: join(root, 'providers.yaml'),
  });
  const readWarnings = () => {
    const warnings = server.log().filter(({ level }) => level === 'warn');
    return warnings.map(({ check, msg }) => `${String(check)}: ${String(msg)}`).toSorted();
  };
  const expected = [
    '"gone" cannot start: the program /opt/none/run.sh does not exist',
    `"nowhere" cannot start: its folder ${join(root, 'none')} does not exist`,
    '"typo" cannot start: the program slep is not in PATH',
  ];
  await expect.poll(readWarnings).toEqual(expected.map((line) => `provider here: The server ${line}`));
});
