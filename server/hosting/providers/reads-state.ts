import type { PowerState } from './types.ts';

/** When a read began: by a clock that never goes back, and in milliseconds since 1970. */
interface Begin {
  readonly at: number;
  readonly date: number;
}

/** The reads of the states of one account, or of one server. Times are in milliseconds of a clock that never goes back. */
export interface ReadsState {
  readonly running: Begin | undefined;
  /** When the last read ended. */
  readonly endedAt: number;
  /** Why the last read failed. */
  readonly failure: { readonly error: unknown } | undefined;
  /** The result of the last successful read: what the upstream knew when it began, or later. */
  readonly known: { readonly began: Begin; readonly states: ReadonlyMap<string, PowerState> } | undefined;
}

/** The events of reads. There is one read at a time. */
export type ReadsEvent =
  | { readonly type: 'began'; readonly began: Begin }
  | { readonly type: 'answered'; readonly at: number; readonly states: ReadonlyMap<string, PowerState> }
  | { readonly type: 'failed'; readonly at: number; readonly error: unknown };

/** A question for the state of a server. */
export interface Question {
  readonly now: number;
  /** A read counts if it began after this time, so that it does not report a state from before an action. */
  readonly after: number;
  /** The least time between two reads. */
  readonly intervalMs: number;
}

/** What to do about a question. */
export type Decision =
  | { readonly do: 'answer'; readonly known: NonNullable<ReadsState['known']> }
  | { readonly do: 'fail'; readonly error: unknown }
  /** Begin a read, or wait for the one that runs, or for the time when the next one may begin. */
  | { readonly do: 'read' | 'join' }
  | { readonly do: 'wait'; readonly ms: number };

/** How long a failure is shared, and no further read begins. */
const failureMs = 5000;

/** The initial state. */
export const noReads: ReadsState = {
  running: undefined,
  endedAt: Number.NEGATIVE_INFINITY,
  failure: undefined,
  known: undefined,
};

/** The next state of reads after an event. */
export function toNextState(state: ReadsState, event: ReadsEvent): ReadsState {
  if (event.type === 'began') return { ...state, running: event.began };
  const ended = { ...state, running: undefined, endedAt: event.at };
  if (event.type === 'failed') return { ...ended, failure: { error: event.error } };
  return { ...ended, failure: undefined, known: state.running && { began: state.running, states: event.states } };
}

/** Decides how to answer a question. */
export function decide(state: ReadsState, { now, after, intervalMs }: Question): Decision {
  const { running, endedAt, failure, known } = state;
  const ageMs = now - endedAt;
  if (known && known.began.at > after && !failure && ageMs < intervalMs) return { do: 'answer', known };
  if (running) return { do: 'join' };
  if (failure && ageMs < failureMs) return { do: 'fail', error: failure.error };
  const waitMs = Math.max(failure ? 0 : intervalMs - ageMs, after - now);
  // A read that begins at the time of an action may still report the state from before.
  return waitMs < 0 || (waitMs === 0 && now > after) ? { do: 'read' } : { do: 'wait', ms: waitMs + 1 };
}
