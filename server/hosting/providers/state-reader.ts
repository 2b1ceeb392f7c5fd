import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { toRefusal } from '../../upstream/client.ts';
import type { PowerState, StateClock, StateReport } from './types.ts';

/** What is read, and how often. */
interface StateReaderOptions {
  /** Reads the states of a group, which is an account or one server, by the references of its servers. */
  readonly read: (group: string) => Promise<ReadonlyMap<string, PowerState>>;
  /** The least time between two reads of a group. */
  readonly intervalMs: number;
  /** How long the upstream may repeat what it knew before. */
  readonly lagMs: number;
  /** Whether the budget of the upstream has room for a read; default always. */
  readonly hasRoom?: () => boolean;
  readonly clock?: StateClock | undefined;
}

/** How long a question waits for the next read; beyond that the state is `unknown`. */
const maxWaitMs = 6000;

/** How long a failure is shared, and no further read begins. */
const failureMs = 5000;

/** The maximum number of groups in memory. */
const maxGroups = 10_000;

/** The reads of a group. There is one read at a time. */
interface Group {
  running: Promise<void> | undefined;
  /** When the last read ended. */
  endedAt: number;
  /** Why the last read failed. */
  failure: { readonly error: unknown } | undefined;
  /** What the last successful read found, and when it began: by the clock, and in milliseconds since 1970. */
  known: { readonly at: number; readonly date: number; readonly states: ReadonlyMap<string, PowerState> } | undefined;
}

const systemClock: StateClock = {
  now: () => performance.now(),
  sleep: (ms) => sleep(ms, undefined, { ref: false }),
};

/** Creates what reads the state of a server of a group, as `state` of a provider. All questions about a group share its reads. */
export function createStateReader(options: StateReaderOptions) {
  const { read, intervalMs, lagMs, hasRoom = () => true, clock = systemClock } = options;
  const groups = new LRUCache<string, Group>({ max: maxGroups });

  const begin = async (name: string, group: Group): Promise<void> => {
    const began = { at: clock.now(), date: Date.now() };
    try {
      group.known = { ...began, states: await read(name) };
      group.failure = undefined;
    } catch (error) {
      group.failure = { error };
    }
    group.endedAt = clock.now();
    group.running = undefined;
  };

  return async (name: string, ref: string, maxAgeMs: number): Promise<StateReport> => {
    const group = groups.get(name) ?? { running: undefined, endedAt: -Infinity, failure: undefined, known: undefined };
    groups.set(name, group);
    const asked = clock.now();
    // A read counts if it began after this time, so that it does not report a state from before an action.
    const after = asked - maxAgeMs + lagMs;
    for (;;) {
      const { running, endedAt, failure, known } = group;
      const now = clock.now();
      const ageMs = now - endedAt;
      if (known && known.at > after && !failure && ageMs < intervalMs) return toReport(known, ref);
      // A read that begins at the time of an action may still report the state from before.
      const waitMs = Math.max(failure ? 0 : intervalMs - ageMs, after - now + 1);
      if (running) await running;
      else if (failure && ageMs < failureMs) throw failure.error;
      else if (waitMs > 0) {
        if (now + waitMs > asked + maxWaitMs) return { state: 'unknown', checkedAt: Date.now() };
        await clock.sleep(waitMs);
      } else if (known && !hasRoom()) return { state: 'unknown', checkedAt: known.date };
      else await (group.running = begin(name, group));
    }
  };
}

function toReport({ date, states }: NonNullable<Group['known']>, ref: string): StateReport {
  const state = states.get(ref);
  if (state === undefined) throw toRefusal(`the upstream lists no server ${ref}`);
  return { state, checkedAt: date };
}
