import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createSupervisor } from '../../../helpers/upstream-process.ts';
import { until } from '../../../helpers/upstream.ts';
import { failureOf } from '../../../helpers/fault-suite.ts';
import { recordConsole } from '../../../hosting/providers/console-recorder.ts';
import {
  createLocal,
  prepareLocal,
  prepareRecorded,
  prepareRunning,
} from '../../../hosting/providers/local-harness.ts';

/** The signals sent to process groups, without the existence checks (signal 0). */
function spyOnSignals() {
  const kill = vi.spyOn(process, 'kill');
  onTestFinished(() => kill.mockRestore());
  return {
    sent: () => kill.mock.calls.map(([, signal]) => signal).filter((signal) => signal !== 0),
    isGroupGone: () => kill.mock.results.some(({ type }) => type === 'throw'),
  };
}

/** A VPS with a test program; unlike a game server it has a reset. */
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
  test('a restart starts it', async () => {
    const { game, supervisor } = await prepareLocal();
    await game.power('demo', 'restart');
    expect(await supervisor.started('demo')).toBe(supervisor.programs[0]);
  });

  test('a reset starts it', async () => {
    const { supervisor, power } = await prepareVps();
    await power('reset');
    expect(await supervisor.started('box')).toBe(supervisor.programs[0]);
  });
});

describe('while a server is starting', () => {
  test.each(['start', 'restart'] as const)('a %s waits for the start and fails with it', async (action) => {
    const { game } = createLocal({ demo: { command: ['/nowhere/program'] } });
    const record = recordConsole(game, 'demo');
    await record.ready();
    const start = failureOf(game.power('demo', 'start'));
    expect(await failureOf(game.power('demo', action))).toMatchObject({ outcome: 'refused' });
    expect(await start).toMatchObject({ outcome: 'refused' });
    expect(record.states).toEqual(['offline', 'starting', 'offline']);
  });

  test('a kill ends it after its start', async () => {
    const { game } = await prepareLocal({}, 'ignore-sigterm');
    const signals = spyOnSignals();
    const record = recordConsole(game, 'demo');
    await record.ready();
    await Promise.all([game.power('demo', 'start'), game.power('demo', 'kill')]);
    await until('it is offline', () => record.states.at(-1) === 'offline' && record.states.length > 1);
    expect(record.states).toEqual(['offline', 'starting', 'running', 'stopping', 'offline']);
    expect(signals.sent()).toEqual(['SIGKILL']);
  });

  test('a reset ends it after its start, and starts it again', async () => {
    const { supervisor, signals, power } = await prepareVps('ignore-sigterm');
    await Promise.all([power('start'), power('reset')]);
    await until('it was ended', () => signals.sent().length > 0);
    await until('it runs', () => supervisor.alive('box').length === 1);
    expect(signals.sent()).toEqual(['SIGKILL']);
  });

  test('closing its provider stops it after its start', async () => {
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
  test('a restart starts it after it has ended', async () => {
    const { game, supervisor, program } = await prepareRunning({ grace_seconds: 0.3 }, 'ignore-sigterm');
    await game.power('demo', 'stop');
    await game.power('demo', 'restart');
    await supervisor.started('demo', 2);
    expect(program.gone()).toBe(true);
  });

  test('a reset kills it and starts it again', async () => {
    const { supervisor, signals, power } = await prepareVps('ignore-sigterm');
    await power('start');
    await supervisor.started('box');
    await power('stop');
    await power('reset');
    await supervisor.started('box', 2);
    expect(signals.sent()).toEqual(['SIGTERM', 'SIGKILL']);
  });

  test('closing its provider waits for its end, and no action can cancel this', async () => {
    const { game, provider, program, supervisor } = await prepareRunning({ grace_seconds: 0.3 }, 'ignore-sigterm');
    await game.power('demo', 'restart');
    const close = provider.close();
    expect(await failureOf(game.power('demo', 'start'))).toMatchObject({ outcome: 'refused' });
    for (const action of ['stop', 'restart', 'kill'] as const) await game.power('demo', action);
    await close;
    await until('it is gone', program.gone);
    expect(supervisor.programs).toHaveLength(1);
  });
});

test('while the last output of a server is read a kill cancels a start, and is shown as a status', async () => {
  const { game, supervisor, program, record } = await prepareRecorded();
  program.send('spawn-detached', 'holder');
  await supervisor.started('holder');
  const signals = spyOnSignals();
  program.send('exit', '0');
  await until('its group is gone', signals.isGroupGone);
  await game.power('demo', 'start');
  await game.power('demo', 'kill');
  await until('it is offline', () => record.states.includes('offline'));
  expect(record.states).toEqual(['running', 'stopping', 'offline']);
});

test('while the last output of a server is read a reset starts it afterwards', async () => {
  const { supervisor, signals, power } = await prepareVps();
  await power('start');
  const program = await supervisor.started('box');
  program.send('spawn-detached', 'holder');
  await supervisor.started('holder');
  program.send('exit', '0');
  await until('its group is gone', signals.isGroupGone);
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
