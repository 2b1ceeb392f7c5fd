import { describe, expect, onTestFinished, test } from 'vitest';
import type { Provider, VpsAction } from '../../../server/hosting/providers/types.ts';
import { failureOf } from '../../helpers/fault-suite.ts';
import { testStates } from './state-suite.ts';

/** A provider of VPS, with access to its upstream. */
export interface VpsHarness {
  readonly provider: Provider;
  /** A VPS of the provider. */
  readonly ref: string;
  /** A VPS that the provider does not have. */
  readonly unknownRef: string;
  /** Resolves when the upstream has executed an action. */
  readonly arrived: (action: VpsAction) => Promise<unknown>;
  /** The number of executed actions. */
  readonly actions: () => number;
  /** Lets time pass for the reads of states. */
  readonly pass: (ms: number) => void;
}

/** Tests that apply to every provider of VPS. */
export function testVpsProvider(name: string, setUp: () => Promise<VpsHarness>): void {
  const prepare = async () => {
    const harness = await setUp();
    onTestFinished(() => harness.provider.close());
    return { ...harness, vps: harness.provider.vps! };
  };

  describe(`${name} as a provider of VPS`, () => {
    test('a VPS is started, reset and stopped', async () => {
      const { vps, ref, arrived, actions } = await prepare();
      for (const [index, action] of (['start', 'reset', 'stop'] as const).entries()) {
        await vps.power(ref, action);
        await arrived(action);
        expect(actions()).toBe(index + 1);
      }
    });

    testStates(async () => {
      const { vps, arrived, ...harness } = await prepare();
      return {
        ...harness,
        state: vps.state,
        async act(action) {
          await vps.power(harness.ref, action);
          await arrived(action);
        },
      };
    });

    test('an action that is not confirmed is not sent, and fails with the reason', async () => {
      const { vps, ref, actions } = await prepare();
      const reason = new Error('the key was revoked');
      await expect(vps.power(ref, 'stop', { confirm: () => Promise.reject(reason) })).rejects.toBe(reason);
      expect(actions()).toBe(0);
    });

    test('an unknown VPS is refused with a generic message', async () => {
      const { vps, unknownRef, actions } = await prepare();
      const message = 'The request could not be completed';
      const refused = { code: 'provider_error', outcome: 'refused', message };
      expect(await failureOf(vps.power(unknownRef, 'stop'))).toMatchObject(refused);
      expect(actions()).toBe(0);
    });

    test.each(['', '.', '..', '../42', '42/../7', '42?x=1', '42#', '42 ', '%2e%2e', '042', '__proto__', '-1', '4e2'])(
      'the reference %j never becomes part of a path',
      async (ref) => {
        const { vps, actions } = await prepare();
        const error = await failureOf(vps.power(ref, 'stop'));
        expect(error).toMatchObject({ outcome: 'refused', message: 'The request could not be completed' });
        expect(actions()).toBe(0);
      },
    );

    test('a check of the credentials runs no action', async () => {
      const { provider, actions } = await prepare();
      expect(await provider.check()).toMatchObject([{ level: 'info' }]);
      expect(actions()).toBe(0);
    });

    test('a provider can be closed twice', async () => {
      const { provider, vps, ref, actions } = await prepare();
      await provider.close();
      await provider.close();
      await expect(vps.power(ref, 'start')).rejects.toMatchObject({ outcome: 'refused' });
      expect(actions()).toBe(0);
    });
  });
}
