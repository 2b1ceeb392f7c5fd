import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../../helpers/project.ts';
import { createLeashes } from '../../helpers/upstream-process.ts';
import type { Leashes } from '../../helpers/upstream-process.ts';
import { until } from '../../helpers/upstream.ts';
import { recordConsole } from './console-recorder.ts';
import { failureOf } from '../../helpers/fault-suite.ts';
import { testGameProvider } from './game-suite.ts';
import { createLocal, prepareLocal, prepareRunning } from './local-harness.ts';
import { testVpsProvider } from './vps-suite.ts';

/** Waits for what an action does to the programs of a name. */
function createArrival(leashes: Leashes, name: string) {
  let starts = 0;
  return async (action: string): Promise<void> => {
    if (action === 'stop' || action === 'kill') await until(action, () => leashes.alive(name).length === 0);
    else await leashes.started(name, (starts += 1));
  };
}

testGameProvider('Local', async () => {
  const { leashes, provider } = await prepareLocal();
  return {
    provider,
    ref: 'demo',
    unknownRef: 'other',
    arrived: createArrival(leashes, 'demo'),
    commands: () => leashes.programs.flatMap(({ inputs }) => inputs),
    print: (...lines) => lines.forEach((line) => leashes.alive('demo')[0]!.order('print', `${line}\n`)),
  };
});

testVpsProvider('Local', async () => {
  const leashes = await createLeashes();
  const { provider } = createLocal({ box: { kind: 'vps', command: leashes.command('box') } });
  let done = 0;
  const arrival = createArrival(leashes, 'box');
  return {
    provider,
    ref: 'box',
    unknownRef: 'other',
    async arrived(action) {
      await arrival(action);
      done += 1;
    },
    actions: () => done,
  };
});

describe('power', () => {
  test('stop asks first, and what was printed on the way out is heard', async () => {
    const { game, program } = await prepareRunning();
    const record = recordConsole(game, 'demo');
    await record.followed();
    await game.power('demo', 'stop');
    await until('it is offline', () => record.states.at(-1) === 'offline');
    expect(program.signals).toEqual(['SIGTERM']);
    expect(record.told.slice(-3)).toEqual(['status: stopping', 'line: saving', 'status: offline']);
  });

  test('a server that does not end by itself is ended after its grace', async () => {
    const { game, program } = await prepareRunning({ grace_seconds: 0.3 }, 'stubborn');
    const asked = performance.now();
    await game.power('demo', 'stop');
    await until('it is gone', program.gone);
    expect(performance.now() - asked).toBeGreaterThan(280);
    expect(program.signals).toEqual(['SIGTERM']);
  });

  test('kill does not ask, also while a stop is waiting', async () => {
    const { game, program } = await prepareRunning({ grace_seconds: 600 }, 'stubborn');
    await game.power('demo', 'stop');
    await until('it was asked', () => program.signals.length === 1);
    await game.power('demo', 'kill');
    await until('it is gone', program.gone);
    expect(program.signals).toEqual(['SIGTERM']);
  });

  test('a start while the server is stopping waits its turn', async () => {
    const { game, leashes, program } = await prepareRunning({ grace_seconds: 0.3 }, 'stubborn');
    await game.power('demo', 'stop');
    await game.power('demo', 'start');
    expect(leashes.programs).toHaveLength(1);
    await leashes.started('demo', 2);
    expect(program.gone()).toBe(true);
    expect(leashes.alive('demo')).toHaveLength(1);
  });

  test('a stop takes back a start that waits', async () => {
    const { game, leashes } = await prepareRunning({ grace_seconds: 0.3 }, 'stubborn');
    const record = recordConsole(game, 'demo');
    await record.followed();
    await game.power('demo', 'restart');
    await game.power('demo', 'stop');
    await until('it is offline', () => record.states.at(-1) === 'offline');
    await failureOf(game.command('demo', 'list'));
    expect(leashes.programs).toHaveLength(1);
  });

  test('actions all at once leave one server at the most', async () => {
    const { game, leashes } = await prepareLocal();
    await Promise.all([game.power('demo', 'start'), game.power('demo', 'start'), game.power('demo', 'restart')]);
    await leashes.started('demo');
    await Promise.all([game.power('demo', 'start'), game.power('demo', 'stop'), game.power('demo', 'stop')]);
    await until('it is gone', () => leashes.alive('demo').length === 0);
    expect(leashes.programs).toHaveLength(1);
  });

  test('a stop that comes while the server is being started is not lost', async () => {
    const { game } = await prepareLocal();
    const record = recordConsole(game, 'demo');
    await record.followed();
    await Promise.all([game.power('demo', 'start'), game.power('demo', 'stop')]);
    await until('it is offline', () => record.states.at(-1) === 'offline' && record.states.length > 1);
    expect(record.states).toContain('stopping');
  });

  test('a server that ends by itself is offline, and may be started again', async () => {
    const { game, leashes, program } = await prepareRunning();
    const record = recordConsole(game, 'demo');
    await record.followed();
    program.order('exit', '3');
    await until('it is offline', () => record.states.at(-1) === 'offline');
    expect(leashes.programs).toHaveLength(1);
    await game.power('demo', 'start');
    await leashes.started('demo', 2);
  });

  test.each([
    ['a program that is not there', { command: ['/nowhere/program'] }],
    ['a folder that is not there', { cwd: '/nowhere' }],
    ['a name that no program can have', { command: ['a\0b'] }],
  ])('%s is a failure that proves that nothing was started', async (_, server) => {
    const { game } = await prepareLocal(server);
    const error = await failureOf(game.power('demo', 'start'));
    expect(error).toMatchObject({ outcome: 'refused', message: 'The request could not be completed' });
    expect(await failureOf(game.command('demo', 'list'))).toMatchObject({ outcome: 'refused' });
    expect(await failureOf(game.power('demo', 'start'))).toMatchObject({ outcome: 'refused' });
  });

  test('a game server is no VPS, and a VPS no game server', async () => {
    const { game, vps } = createLocal({ demo: { kind: 'game' }, box: { kind: 'vps' } });
    expect(await failureOf(vps.power('demo', 'start'))).toMatchObject({ outcome: 'refused' });
    expect(await failureOf(game.power('box', 'start'))).toMatchObject({ outcome: 'refused' });
    expect(await recordConsole(game, 'box').ended()).toBe('console is not available');
  });
});

describe('what a server starts', () => {
  test.each(['stop', 'kill'] as const)('ends with it on %s', async (action) => {
    const { game, leashes, program } = await prepareRunning({ grace_seconds: 0.3 });
    program.order('breed', 'child');
    const child = await leashes.started('child');
    const record = recordConsole(game, 'demo');
    await record.followed();
    await game.power('demo', action);
    await until('both are gone', () => program.gone() && child.gone());
    await until('it is offline', () => record.states.at(-1) === 'offline');
    expect(child.signals).toHaveLength(action === 'stop' ? 1 : 0);
  });

  test('ends with it when it fails, before it is started again', async () => {
    const { game, leashes, program } = await prepareRunning({ grace_seconds: 0.3 });
    program.order('breed', 'child');
    const child = await leashes.started('child');
    program.order('exit', '1');
    await until('the child was asked', () => child.signals.length === 1);
    await game.power('demo', 'start');
    await leashes.started('demo', 2);
    expect(child.gone()).toBe(true);
  });

  test('ends with this process, even when that is killed', async () => {
    const leashes = await createLeashes();
    const parent = spawn(
      process.execPath,
      [
        fileURLToPath(new URL('../../helpers/upstream-parent.ts', import.meta.url)),
        temporaryFolder(),
        ...leashes.command('demo'),
      ],
      { stdio: 'inherit' },
    );
    onTestFinished(() => void parent.kill('SIGKILL'));
    const program = await leashes.started('demo');
    program.order('breed', 'child');
    const child = await leashes.started('child');
    parent.kill('SIGKILL');
    await once(parent, 'exit');
    await until('both are gone', () => program.gone() && child.gone());
    // The child took no notice of this.
    expect(child.signals).toEqual(['SIGTERM']);
  });

  test('ends with the provider', async () => {
    const { provider, leashes, program } = await prepareRunning();
    await provider.close();
    await until('it is gone', program.gone);
    expect(program.signals).toEqual(['SIGTERM']);
    expect(leashes.alive('demo')).toEqual([]);
  });
});
