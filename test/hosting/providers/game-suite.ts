import { describe, expect, onTestFinished, test } from 'vitest';
import { ConsoleStats } from '#contract/console-stream.ts';
import type { GameAction, Provider } from '../../../server/hosting/providers/types.ts';
import { until } from '../../helpers/upstream.ts';
import { recordConsole } from './console-recorder.ts';
import { failureOf } from '../../helpers/fault-suite.ts';
import { testStates } from './state-suite.ts';

/** A provider of game servers, with access to its upstream. */
export interface GameHarness {
  readonly provider: Provider;
  /** A game server of the provider; it is offline. */
  readonly ref: string;
  /** A game server that the provider does not have. */
  readonly unknownRef: string;
  /** Resolves when the upstream has executed the next action. */
  readonly arrived: (action: GameAction) => Promise<unknown>;
  /** The commands that the game server received. */
  readonly commands: () => readonly string[];
  /** Makes a running game server print lines. */
  readonly print: (...lines: readonly string[]) => void;
  /** Lets time pass for the reads of states. */
  readonly pass: (ms: number) => void;
}

const offline = 'The server must be online to receive commands';
const generic = 'The request could not be completed';

/** Tests that apply to every provider of game servers. */
export function testGameProvider(name: string, setUp: () => Promise<GameHarness>): void {
  const prepare = async () => {
    const harness = await setUp();
    onTestFinished(() => harness.provider.close());
    return { ...harness, game: harness.provider.game! };
  };
  const prepareRunning = async () => {
    const harness = await prepare();
    await harness.game.power(harness.ref, 'start');
    await harness.arrived('start');
    return harness;
  };

  describe(`${name} as a provider of game servers`, () => {
    test('a game server is started, restarted, stopped and killed', async () => {
      const { game, ref, arrived } = await prepare();
      for (const action of ['start', 'restart', 'stop', 'start', 'kill'] as const) {
        await game.power(ref, action);
        await expect(arrived(action)).resolves.not.toThrow();
      }
    });

    testStates(async () => {
      const { game, arrived, ...harness } = await prepare();
      return {
        ...harness,
        state: game.state,
        async act(action) {
          await game.power(harness.ref, action);
          await arrived(action);
        },
      };
    });

    test('a command arrives unchanged and once', async () => {
      const { game, ref, commands } = await prepareRunning();
      await game.command(ref, 'say "hello" to ${all} & \\ everyone; ünïcode ✓');
      await until('the command arrived', () => commands().length > 0);
      await game.command(ref, 'list');
      await until('the second command arrived', () => commands().length > 1);
      expect(commands()).toEqual(['say "hello" to ${all} & \\ everyone; ünïcode ✓', 'list']);
    });

    test('an action that is not confirmed is not sent, and fails with the reason', async () => {
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

    test('an unknown game server is refused with a generic message', async () => {
      const { game, unknownRef } = await prepare();
      for (const call of [
        () => game.power(unknownRef, 'kill'),
        () => game.command(unknownRef, 'list'),
        () => game.latestLog(unknownRef, null),
      ]) {
        const error = await failureOf(call());
        expect(error).toMatchObject({ code: 'provider_error', outcome: 'refused', message: generic });
      }
      expect(await recordConsole(game, unknownRef).ended()).toBe('console is not available');
    });

    test.each(['', '.', '..', '../account', 'a/../b', 'a?x=1', 'a#', 'a b', '%2e%2e', '__proto__'])(
      'the reference %j never becomes part of a path',
      async (ref) => {
        const { game } = await prepare();
        expect(await failureOf(game.power(ref, 'stop'))).toMatchObject({ outcome: 'refused', message: generic });
        expect(await failureOf(game.command(ref, 'list'))).toMatchObject({ outcome: 'refused', message: generic });
        expect(await recordConsole(game, ref).ended()).toBe('console is not available');
      },
    );

    test('a console sends its history, then new lines, with colours', async () => {
      const { game, ref, print } = await prepareRunning();
      const early = recordConsole(game, ref);
      await early.ready();
      print('one', '\u001B[33mtwo\u001B[0m');
      await early.received('\u001B[33mtwo\u001B[0m');
      const late = recordConsole(game, ref);
      await late.received('\u001B[33mtwo\u001B[0m');
      print('three');
      await Promise.all([early.received('three'), late.received('three')]);
      expect(late.lines).toEqual(['one', '\u001B[33mtwo\u001B[0m', 'three']);
      expect(late.states).toEqual(['running']);
      expect([...early.gaps, ...late.gaps, ...late.ends]).toEqual([]);
    });

    test('a console says once that its buffered lines are complete', async () => {
      const { game, ref, print } = await prepareRunning();
      const early = recordConsole(game, ref);
      await early.ready();
      print('one', 'two');
      await early.received('two');
      const late = recordConsole(game, ref);
      await until('the lines are complete', () => early.loads === 1 && late.loads === 1);
      expect(late.lines).toEqual(['one', 'two']);
    });

    test('a console has the statistics of its server, which uses nothing while it is offline', async () => {
      const { game, ref, arrived } = await prepareRunning();
      const record = recordConsole(game, ref);
      await record.ready();
      expect(ConsoleStats.parse(await record.source.stats())).toMatchObject({ cpu: expect.any(Number) });
      await game.power(ref, 'stop');
      await arrived('stop');
      await until('the stop is reported', () => record.states.at(-1) === 'offline');
      await expect.poll(() => record.source.stats()).toMatchObject({ cpu: 0, memory_bytes: 0 });
    });

    test('a console of an offline game server reports this, and follows its start and stop', async () => {
      const { game, ref, arrived } = await prepare();
      const record = recordConsole(game, ref);
      await record.ready();
      expect(record.states).toEqual(['offline']);
      await game.power(ref, 'start');
      await arrived('start');
      await until('the start is reported', () => record.states.includes('running'));
      await game.power(ref, 'stop');
      await until('the stop is reported', () => record.states.filter((state) => state === 'offline').length === 2);
      expect(record.ends).toEqual([]);
    });

    test('a closed console sends nothing more', async () => {
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

    test('a provider can be closed twice, and its consoles then send nothing', async () => {
      const { provider, game, ref } = await prepareRunning();
      const record = recordConsole(game, ref);
      await record.ready();
      await provider.close();
      await provider.close();
      await expect(game.power(ref, 'start')).rejects.toMatchObject({ outcome: 'refused' });
      expect(record.gaps).toEqual([]);
    });
  });
}
