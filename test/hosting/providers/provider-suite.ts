import { describe, expect, test } from 'vitest';
import type {
  GameAction,
  PowerAction,
  PowerState,
  Provider,
  ServerProvider,
  VpsAction,
} from '../../../server/hosting/providers/types.ts';
import { failureOf } from '../../helpers/fault-suite.ts';
import { until } from '../../helpers/upstream.ts';
import { followConsole, recordConsole } from './console-recorder.ts';

/** A provider, with access to its upstream. */
export interface ProviderHarness<Action extends PowerAction = PowerAction> {
  readonly provider: Provider;
  /** A server of the provider; a game server is offline. */
  readonly ref: string;
  readonly unknownRef: string;
  /** Resolves when the upstream has executed the next action. */
  arrived(this: void, action: Action): Promise<unknown>;
  /** The number of executed actions. */
  readonly actions: () => number;
  /** Advances the clock of state reads. */
  readonly pass: (ms: number) => void;
}

/** A provider of game servers, with access to its upstream. */
export interface GameHarness extends ProviderHarness<GameAction> {
  readonly commands: () => readonly string[];
  readonly print: (...lines: readonly string[]) => void;
}

interface Prepared extends ProviderHarness {
  readonly server: ServerProvider;
}

const offline = 'The server must be online to receive commands';
const generic = 'The request could not be completed';

async function expectRefusal(call: Promise<unknown>): Promise<void> {
  expect(await failureOf(call)).toMatchObject({ code: 'provider_error', outcome: 'refused', message: generic });
}

/** Longer than any provider may return a state from before an action. */
const longMs = 60_000;
const always = Number.POSITIVE_INFINITY;

/** Tests that apply to every provider; `refuses` checks further refusals of a ref. */
function testServers(
  prepare: () => Promise<Prepared>,
  cycle: readonly PowerAction[],
  refuses: (provider: Provider, ref: string) => Promise<void> = () => Promise.resolve(),
): void {
  const prepareActing = async () => {
    const harness = await prepare();
    const act = async (action: PowerAction): Promise<void> => {
      await harness.server.power(harness.ref, action);
      await harness.arrived(action);
    };
    const state = (maxAgeMs: number) => harness.server.state(harness.ref, maxAgeMs);
    return { ...harness, act, state };
  };

  test(`a server performs each action: ${cycle.join(', ')}`, async () => {
    const { act, actions } = await prepareActing();
    for (const [index, action] of cycle.entries()) {
      await act(action);
      expect(actions()).toBe(index + 1);
    }
  });

  test('the power state is current and has the time of its check', async () => {
    const { state, act, pass } = await prepareActing();
    for (const [action, expected] of [
      ['start', 'running'],
      ['stop', 'offline'],
      ['start', 'running'],
    ] as const) {
      await act(action);
      pass(longMs);
      // A local process takes some time to end.
      await expect.poll(async () => (await state(longMs)).state).toBe(expected);
      pass(longMs);
      const before = Date.now();
      const { checkedAt } = await state(longMs);
      expect(checkedAt).toBeGreaterThanOrEqual(before);
      expect(checkedAt).toBeLessThanOrEqual(Date.now());
    }
  });

  test('after an action, the power state is never from before', async () => {
    const { state, act, pass } = await prepareActing();
    await act('start');
    pass(longMs);
    expect((await state(always)).state).toBe('running');
    for (const [action, before, after] of [
      ['stop', 'running', 'offline'],
      ['start', 'offline', 'running'],
    ] as const) {
      await act(action);
      // The time since the action, as the service passes it.
      const seen: PowerState[] = [(await state(0)).state];
      for (let since = 1000; since < longMs; since += 1000) {
        pass(1000);
        seen.push((await state(since)).state);
      }
      expect(seen).not.toContain(before);
      await expect.poll(async () => (await state(longMs)).state).toBe(after);
    }
  });

  test('an unconfirmed action is not sent, and fails with the reason', async () => {
    const { server, ref, actions } = await prepare();
    const reason = new Error('the key was revoked');
    for (const action of ['start', 'stop'] as const) {
      await expect(server.power(ref, action, { confirm: () => Promise.reject(reason) })).rejects.toBe(reason);
    }
    expect(actions()).toBe(0);
  });

  const wrong = ['', '.', '..', '../42', '42/../7', '42?x=1', '42#', '42 ', '%2e%2e', '042', '__proto__', '-1', '4e2'];
  test.each([...wrong, '../account', 'a/../b', 'a?x=1', 'a#', 'a b', undefined])(
    'an unknown ref is refused, and never becomes part of a path: %j',
    async (given) => {
      const { provider, server, unknownRef, actions } = await prepare();
      const ref = given ?? unknownRef;
      await expectRefusal(server.power(ref, 'stop'));
      await expectRefusal(server.state(ref, always));
      await refuses(provider, ref);
      expect(actions()).toBe(0);
    },
  );

  test('a provider can be closed twice', async () => {
    const { provider, server, ref, actions } = await prepare();
    await provider.close();
    await provider.close();
    await expect(server.power(ref, 'start')).rejects.toMatchObject({ outcome: 'refused' });
    expect(actions()).toBe(0);
  });
}

/** Tests that apply to every provider of VPS. */
export function testVpsProvider(name: string, setUp: () => Promise<ProviderHarness<VpsAction>>): void {
  const prepare = async () => {
    const harness = await setUp();
    return { ...harness, server: harness.provider.vps! };
  };

  describe(`${name} as a provider of VPS`, () => {
    testServers(prepare, ['start', 'reset', 'stop']);

    test('a check of the credentials runs no action', async () => {
      const { provider, actions } = await prepare();
      expect(await provider.check()).toMatchObject([{ level: 'info' }]);
      expect(actions()).toBe(0);
    });
  });
}

/** Tests that apply to every provider of game servers. */
export function testGameProvider(name: string, setUp: () => Promise<GameHarness>): void {
  const prepare = async () => {
    const harness = await setUp();
    const game = harness.provider.game!;
    return { ...harness, game, server: game };
  };
  const prepareRunning = async () => {
    const harness = await prepare();
    await harness.game.power(harness.ref, 'start');
    await harness.arrived('start');
    return harness;
  };

  describe(`${name} as a provider of game servers`, () => {
    testServers(prepare, ['start', 'restart', 'stop', 'start', 'kill'], async ({ game }, ref) => {
      await expectRefusal(game!.command(ref, 'list'));
      await expectRefusal(game!.latestLog(ref, null));
      expect(await recordConsole(game!, ref).ended()).toBe('console is not available');
    });

    test('a command arrives unchanged and once', async () => {
      const { game, ref, commands } = await prepareRunning();
      await game.command(ref, 'say "hello" to ${all} & \\ everyone; ünïcode ✓');
      await until('the command arrived', () => commands().length > 0);
      await game.command(ref, 'list');
      await until('the second command arrived', () => commands().length > 1);
      expect(commands()).toEqual(['say "hello" to ${all} & \\ everyone; ünïcode ✓', 'list']);
    });

    test('an unconfirmed kill or command is not sent', async () => {
      const { game, ref, commands, arrived } = await prepareRunning();
      const reason = new Error('the key was revoked');
      const confirm = () => Promise.reject(reason);
      await expect(game.power(ref, 'kill', { confirm })).rejects.toBe(reason);
      await expect(game.command(ref, 'stop', { confirm })).rejects.toBe(reason);
      await game.command(ref, 'list');
      await until('the command arrived', () => commands().length > 0);
      expect(commands()).toEqual(['list']);
      await game.power(ref, 'kill', { confirm: () => Promise.resolve() });
      await expect(arrived('kill')).resolves.not.toThrow();
    });

    test('a command to an offline game server is refused with the reason', async () => {
      const { game, ref, commands } = await prepare();
      const error = await failureOf(game.command(ref, 'list'));
      expect(error).toMatchObject({ code: 'provider_error', outcome: 'refused', message: offline });
      expect(commands()).toEqual([]);
    });

    test('a console sends its backlog, one `loaded` event, then new lines, with colours', async () => {
      const { game, ref, print } = await prepareRunning();
      const early = await followConsole(game, ref);
      print('one', '\u001B[33mtwo\u001B[0m');
      await early.received('\u001B[33mtwo\u001B[0m');
      const late = recordConsole(game, ref);
      await until('the lines are complete', () => early.loads === 1 && late.loads === 1);
      expect(late.lines).toEqual(['one', '\u001B[33mtwo\u001B[0m']);
      print('three');
      await Promise.all([early.received('three'), late.received('three')]);
      expect(late.lines).toEqual(['one', '\u001B[33mtwo\u001B[0m', 'three']);
      expect(late.states).toEqual(['running']);
      expect([early.loads, late.loads]).toEqual([1, 1]);
      expect([...early.gaps, ...late.gaps, ...late.ends]).toEqual([]);
    });

    test('a console reports that its server is offline, starts and stops', async () => {
      const { game, ref, arrived } = await prepare();
      const record = await followConsole(game, ref);
      expect(record.states).toEqual(['offline']);
      await game.power(ref, 'start');
      await arrived('start');
      await until('the start is reported', () => record.states.includes('running'));
      await game.power(ref, 'stop');
      await until('the stop is reported', () => record.states.filter((state) => state === 'offline').length === 2);
      expect(record.ends).toEqual([]);
    });

    test('a closed console sends no more events', async () => {
      const { game, ref, print } = await prepareRunning();
      const closed = recordConsole(game, ref);
      const never = recordConsole(game, ref);
      never.source.close();
      const open = recordConsole(game, ref);
      print('before');
      await Promise.all([closed.received('before'), open.received('before')]);
      closed.source.close();
      print('after');
      await open.received('after');
      expect(closed.lines).toEqual(['before']);
      expect(closed.ends).toEqual([]);
      expect(never.events).toEqual([]);
    });

    test('the consoles of a closed provider send no more events', async () => {
      const { provider, game, ref } = await prepareRunning();
      const record = await followConsole(game, ref);
      await provider.close();
      await expect(game.power(ref, 'start')).rejects.toMatchObject({ outcome: 'refused' });
      expect(record.gaps).toEqual([]);
    });
  });
}
