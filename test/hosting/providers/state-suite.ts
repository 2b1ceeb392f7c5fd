import { expect, test } from 'vitest';
import type { PowerState, ServerProvider } from '../../../server/hosting/providers/types.ts';
import { failureOf } from '../../helpers/fault-suite.ts';

/** A server of a provider, and time that passes for the provider alone. */
export interface StateHarness {
  readonly ref: string;
  readonly unknownRef: string;
  readonly state: ServerProvider['state'];
  /** Starts or stops the server, and waits for the effect. */
  readonly act: (action: 'start' | 'stop') => Promise<void>;
  readonly pass: (ms: number) => void;
}

/** Longer than any provider may repeat a state from before an action. */
const longMs = 60_000;
const always = Number.POSITIVE_INFINITY;

/** Tests of the power state that apply to every provider. */
export function testStates(prepare: () => Promise<StateHarness>): void {
  test('the power state is that of the server, and says when it was known', async () => {
    const { ref, state, act, pass } = await prepare();
    for (const [action, expected] of [
      ['start', 'running'],
      ['stop', 'offline'],
      ['start', 'running'],
    ] as const) {
      await act(action);
      pass(longMs);
      // A process of this machine needs some time to end.
      await expect.poll(async () => (await state(ref, longMs)).state).toBe(expected);
      pass(longMs);
      const before = Date.now();
      const { checkedAt } = await state(ref, longMs);
      expect(checkedAt).toBeGreaterThanOrEqual(before);
      expect(checkedAt).toBeLessThanOrEqual(Date.now());
    }
  });

  test('after an action, the power state is never the one from before', async () => {
    const { ref, state, act, pass } = await prepare();
    await act('start');
    pass(longMs);
    expect((await state(ref, always)).state).toBe('running');
    for (const [action, before, after] of [
      ['stop', 'running', 'offline'],
      ['start', 'offline', 'running'],
    ] as const) {
      await act(action);
      // The time since the action, as the service passes it.
      const seen: PowerState[] = [(await state(ref, 0)).state];
      for (let since = 1000; since < longMs; since += 1000) {
        pass(1000);
        seen.push((await state(ref, since)).state);
      }
      expect(seen).not.toContain(before);
      await expect.poll(async () => (await state(ref, longMs)).state).toBe(after);
    }
  });

  test('the power state of an unknown server, and of no reference, is refused', async () => {
    const { unknownRef, state } = await prepare();
    for (const ref of [unknownRef, '', '..', '../42', '42/../7', '42?x=1', '__proto__']) {
      const error = await failureOf(state(ref, always));
      expect(error).toMatchObject({ code: 'provider_error', outcome: 'refused' });
      expect(error.message).toBe('The request could not be completed');
    }
  });
}
