import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { toRefusal } from '../../upstream/reply.ts';
import { decide, noReads, toNextState } from './reads-state.ts';
import type { ReadsState } from './reads-state.ts';
import type { PowerState, StateReport } from './types.ts';

/** The time, which tests replace. */
export interface StateClock {
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
  readonly sleep: (ms: number) => Promise<unknown>;
}

/** Options of a reader. */
export interface StateReaderOptions {
  /** Reads the states of a group, which is an account or one server, by the references of its servers. */
  readonly read: (group: string) => Promise<ReadonlyMap<string, PowerState>>;
  /** The least time between two reads of a group; it may grow as the budget of the upstream shrinks. */
  readonly intervalMs: () => number;
  /** How long the upstream may repeat what it knew before. */
  readonly lagMs: number;
  readonly clock?: StateClock | undefined;
}

/** Reads the state of a server of a group; see `state` of a provider. */
export type ReadState = (group: string, ref: string, maxAgeMs: number) => Promise<StateReport>;

/** How long a question waits for the next read; beyond that the state is `unknown`. */
const maxWaitMs = 6000;

/** The maximum number of groups in memory. */
const maxGroups = 10_000;

const systemClock: StateClock = {
  now: () => performance.now(),
  sleep: (ms) => sleep(ms, undefined, { ref: false }),
};

/** Creates {@link ReadState}. All questions about a group share its reads; `toNextState` and `decide` hold the decisions. */
export function createStateReader({ read, intervalMs, lagMs, clock = systemClock }: StateReaderOptions): ReadState {
  const groups = new LRUCache<string, Group>({ max: maxGroups });

  const begin = (name: string, group: Group): void => {
    group.state = toNextState(group.state, { type: 'began', began: { at: clock.now(), date: Date.now() } });
    group.running = read(name).then(
      (states) => void (group.state = toNextState(group.state, { type: 'answered', at: clock.now(), states })),
      (error: unknown) => void (group.state = toNextState(group.state, { type: 'failed', at: clock.now(), error })),
    );
  };

  return async (name, ref, maxAgeMs) => {
    let group = groups.get(name);
    if (!group) groups.set(name, (group = { state: noReads, running: Promise.resolve() }));
    const asked = clock.now();
    for (;;) {
      const now = clock.now();
      const decision = decide(group.state, { now, after: asked - maxAgeMs + lagMs, intervalMs: intervalMs() });
      if (decision.do === 'answer') return toReport(decision.known, ref);
      if (decision.do === 'fail') throw decision.error;
      if (decision.do === 'wait') {
        if (now + decision.ms > asked + maxWaitMs) return { state: 'unknown', checkedAt: Date.now() };
        await clock.sleep(decision.ms);
        continue;
      }
      if (decision.do === 'read') begin(name, group);
      await group.running;
    }
  };
}

interface Group {
  state: ReadsState;
  running: Promise<void>;
}

function toReport({ began, states }: NonNullable<ReadsState['known']>, ref: string): StateReport {
  const state = states.get(ref);
  if (state === undefined) throw toRefusal(`the upstream lists no server ${ref}`);
  return { state, checkedAt: began.date };
}
