import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { until } from '../../helpers/upstream.ts';
import { recordConsole } from './console-recorder.ts';
import { prepareRunning } from './local-harness.ts';

/** A server that ended by itself and has nothing left, but for an output that goes on: it is read for up to a second. */
async function prepareEnded() {
  const local = await prepareRunning({ grace_seconds: 0.5 });
  const { game, leashes, program } = local;
  const record = recordConsole(game, 'demo');
  await record.followed();
  program.order('abandon', 'holder');
  await leashes.started('holder');
  const signals = vi.spyOn(process, 'kill');
  onTestFinished(() => signals.mockRestore());
  program.order('exit', '0');
  await until('its group is known to be gone', () => signals.mock.results.some(({ type }) => type === 'throw'));
  signals.mockClear();
  expect(record.states).toEqual(['running']);
  return { ...local, record, signals };
}

describe.each(['stop', 'kill', 'restart'] as const)('a %s while the last lines of a server are read', (action) => {
  test('signals nobody, as its group may be of others by now', async () => {
    const { game, record, signals } = await prepareEnded();
    await game.power('demo', action);
    await until('it is offline', () => record.states.includes('offline'));
    expect(signals.mock.calls).toEqual([]);
  });

  test('takes nothing from the time and the end that the next stop gives', async () => {
    const { game, leashes, record } = await prepareEnded();
    await game.power('demo', action);
    await until('it is offline', () => record.states.includes('offline'));
    await game.power('demo', 'start');
    const program = await leashes.started('demo', 2);
    program.order('breed', 'child');
    const child = await leashes.started('child');
    await game.power('demo', 'stop');
    await until('both are gone', () => program.gone() && child.gone());
    expect(child.signals).toEqual(['SIGTERM']);
  });
});

test('a start while the last lines of a server are read comes after them', async () => {
  const { game, leashes, record } = await prepareEnded();
  await game.power('demo', 'start');
  await leashes.started('demo', 2);
  expect(record.states.slice(0, 2)).toEqual(['running', 'offline']);
});
