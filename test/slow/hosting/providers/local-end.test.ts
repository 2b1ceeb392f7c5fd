import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { until } from '../../../helpers/upstream.ts';
import { recordConsole } from '../../../hosting/providers/console-recorder.ts';
import { prepareRunning } from '../../../hosting/providers/local-harness.ts';

/** A server that has ended, while a detached process holds its output open: the output is read for up to a second. */
async function prepareEnded() {
  const local = await prepareRunning({ grace_seconds: 0.5 });
  const { game, supervisor, program } = local;
  const record = recordConsole(game, 'demo');
  await record.ready();
  program.send('spawn-detached', 'holder');
  await supervisor.started('holder');
  const signals = vi.spyOn(process, 'kill');
  onTestFinished(() => signals.mockRestore());
  program.send('exit', '0');
  await until('its process group is gone', () => signals.mock.results.some(({ type }) => type === 'throw'));
  signals.mockClear();
  expect(record.states).toEqual(['running']);
  return { ...local, record, signals };
}

describe.each(['stop', 'kill', 'restart'] as const)('a %s while the last output of a server is read', (action) => {
  test('sends no signal, as the process group id may be in use again', async () => {
    const { game, record, signals } = await prepareEnded();
    await game.power('demo', action);
    await until('it is offline', () => record.states.includes('offline'));
    expect(signals.mock.calls).toEqual([]);
  });

  test('does not shorten the grace period of the next stop', async () => {
    const { game, supervisor, record } = await prepareEnded();
    await game.power('demo', action);
    await until('it is offline', () => record.states.includes('offline'));
    await game.power('demo', 'start');
    const program = await supervisor.started('demo', 2);
    program.send('spawn-child', 'child');
    const child = await supervisor.started('child');
    await game.power('demo', 'stop');
    await until('both are gone', () => program.gone() && child.gone());
    expect(child.signals).toEqual(['SIGTERM']);
  });
});

test('a start while the last output of a server is read waits until it is read', async () => {
  const { game, supervisor, record } = await prepareEnded();
  await game.power('demo', 'start');
  await supervisor.started('demo', 2);
  expect(record.states.slice(0, 2)).toEqual(['running', 'offline']);
});
