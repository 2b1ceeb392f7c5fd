import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createLeashes } from '../../helpers/upstream-process.ts';
import { until } from '../../helpers/upstream.ts';
import { failureOf } from '../../helpers/fault-suite.ts';
import { recordConsole } from './console-recorder.ts';
import { createLocal, prepareLocal, prepareRunning } from './local-harness.ts';

/** What was sent to process groups, but for the question whether they are there. */
function spyOnSignals() {
  const kill = vi.spyOn(process, 'kill');
  onTestFinished(() => kill.mockRestore());
  return {
    sent: () => kill.mock.calls.map(([, signal]) => signal).filter((signal) => signal !== 0),
    isGroupGone: () => kill.mock.results.some(({ type }) => type === 'throw'),
  };
}

/** A VPS on a leash, which unlike a game server can be reset. */
async function prepareVps(manner?: 'stubborn') {
  const leashes = await createLeashes();
  const command = leashes.command('box', manner);
  const { vps } = createLocal({ box: { kind: 'vps', command, grace_seconds: 1 } });
  return { leashes, signals: spyOnSignals(), power: (action: 'start' | 'stop' | 'reset') => vps.power('box', action) };
}

describe('while a server is offline', () => {
  test('a restart starts it', async () => {
    const { game, leashes } = await prepareLocal();
    await game.power('demo', 'restart');
    expect(await leashes.started('demo')).toBe(leashes.programs[0]);
  });

  test('a reset starts it', async () => {
    const { leashes, power } = await prepareVps();
    await power('reset');
    expect(await leashes.started('box')).toBe(leashes.programs[0]);
  });

  test('its provider closes at once', async () => {
    const { provider } = await prepareLocal();
    await expect(provider.close()).resolves.toBeUndefined();
  });
});

describe('while a server is starting', () => {
  test.each(['start', 'restart'] as const)('a %s waits, and fails with the start', async (action) => {
    const { game } = createLocal({ demo: { command: ['/nowhere/program'] } });
    const record = recordConsole(game, 'demo');
    await record.followed();
    const start = failureOf(game.power('demo', 'start'));
    expect(await failureOf(game.power('demo', action))).toMatchObject({ outcome: 'refused' });
    expect(await start).toMatchObject({ outcome: 'refused' });
    expect(record.states).toEqual(['offline', 'starting', 'offline']);
  });

  test('a kill ends it once it runs', async () => {
    const { game } = await prepareLocal({}, 'stubborn');
    const signals = spyOnSignals();
    const record = recordConsole(game, 'demo');
    await record.followed();
    await Promise.all([game.power('demo', 'start'), game.power('demo', 'kill')]);
    await until('it is offline', () => record.states.at(-1) === 'offline' && record.states.length > 1);
    expect(record.states).toEqual(['offline', 'starting', 'running', 'stopping', 'offline']);
    expect(signals.sent()).toEqual(['SIGKILL']);
  });

  test('a reset ends it once it runs, and starts it again', async () => {
    const { leashes, signals, power } = await prepareVps('stubborn');
    await Promise.all([power('start'), power('reset')]);
    await until('it was ended', () => signals.sent().length > 0);
    await until('it runs', () => leashes.alive('box').length === 1);
    expect(signals.sent()).toEqual(['SIGKILL']);
  });

  test('its provider closes once it has run', async () => {
    const { game, provider, leashes } = await prepareLocal();
    const start = game.power('demo', 'start');
    await provider.close();
    await start;
    expect(leashes.alive('demo')).toEqual([]);
  });

  test('its provider closes also where it cannot be started', async () => {
    const { game, provider } = createLocal({ demo: { command: ['/nowhere/program'] } });
    const start = failureOf(game.power('demo', 'start'));
    await provider.close();
    expect(await start).toMatchObject({ outcome: 'refused' });
  });
});

describe('while a server is stopping', () => {
  test('a restart starts it after its end', async () => {
    const { game, leashes, program } = await prepareRunning({ grace_seconds: 0.3 }, 'stubborn');
    await game.power('demo', 'stop');
    await game.power('demo', 'restart');
    await leashes.started('demo', 2);
    expect(program.gone()).toBe(true);
  });

  test('a reset ends it at once, and starts it again', async () => {
    const { leashes, signals, power } = await prepareVps('stubborn');
    await power('start');
    await leashes.started('box');
    await power('stop');
    await power('reset');
    await leashes.started('box', 2);
    expect(signals.sent()).toEqual(['SIGTERM', 'SIGKILL']);
  });

  test('its provider closes after its end, which no action takes back', async () => {
    const { game, provider, program, leashes } = await prepareRunning({ grace_seconds: 0.3 }, 'stubborn');
    await game.power('demo', 'restart');
    const close = provider.close();
    expect(await failureOf(game.power('demo', 'start'))).toMatchObject({ outcome: 'refused' });
    for (const action of ['stop', 'restart', 'kill'] as const) await game.power('demo', action);
    await close;
    await until('it is gone', program.gone);
    expect(leashes.programs).toHaveLength(1);
  });
});

describe('while the last lines of a server are read', () => {
  test('a kill takes a start back, and is seen', async () => {
    const { game, leashes, program } = await prepareRunning();
    const record = recordConsole(game, 'demo');
    await record.followed();
    program.order('abandon', 'holder');
    await leashes.started('holder');
    const signals = spyOnSignals();
    program.order('exit', '0');
    await until('its group is gone', signals.isGroupGone);
    await game.power('demo', 'start');
    await game.power('demo', 'kill');
    await until('it is offline', () => record.states.includes('offline'));
    expect(record.states).toEqual(['running', 'stopping', 'offline']);
  });

  test('a reset starts it after them', async () => {
    const { leashes, signals, power } = await prepareVps();
    await power('start');
    const program = await leashes.started('box');
    program.order('abandon', 'holder');
    await leashes.started('holder');
    program.order('exit', '0');
    await until('its group is gone', signals.isGroupGone);
    await power('reset');
    await leashes.started('box', 2);
    expect(signals.sent()).toEqual([]);
  });
});

test('once the provider is closed, what would start a server is refused', async () => {
  const { provider, game, vps } = createLocal({ demo: {}, box: { kind: 'vps' } });
  await provider.close();
  for (const action of ['start', 'restart'] as const) {
    expect(await failureOf(game.power('demo', action))).toMatchObject({ outcome: 'refused' });
  }
  expect(await failureOf(vps.power('box', 'reset'))).toMatchObject({ outcome: 'refused' });
  await Promise.all([game.power('demo', 'stop'), game.power('demo', 'kill'), vps.power('box', 'stop')]);
});
