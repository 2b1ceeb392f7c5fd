/** What is known about the store from its checks and calls so far. */
export interface HealthState {
  /** Whether the last check was answered. */
  readonly answers: boolean;
  /** Failures that are not over; undefined if there are none. */
  readonly outage: Outage | undefined;
}

interface Outage {
  readonly since: number;
  readonly failures: number;
  readonly lastFailureAt: number;
  readonly loggedAt: number;
}

/** A check or a call; times are in ms. */
export type HealthEvent =
  | { readonly type: 'check answered'; readonly at: number }
  | { readonly type: 'check failed'; readonly at: number }
  | { readonly type: 'call failed'; readonly at: number };

/** A line for the log. */
export interface HealthLine {
  readonly message: 'the store does not answer' | 'the store answers again';
  readonly failures: number;
  readonly seconds: number;
}

/** The state before the first check: a store that was opened answers. */
export const healthy: HealthState = { answers: true, outage: undefined };

/** While an outage lasts, it is logged again after this time. */
const repeatMs = 30_000;

/** An outage ends after this time without a failure: checks only read, and may be answered while writes fail. */
const quietMs = 5000;

/** Returns the next state, and the line to log, if any: one for each outage, one every 30 s of it, and one at its end. */
export function toNextState(
  { answers, outage }: HealthState,
  { type, at }: HealthEvent,
): { readonly state: HealthState; readonly line?: HealthLine } {
  if (type === 'check answered') {
    if (!outage || at - outage.lastFailureAt < quietMs) return { state: { answers: true, outage } };
    return { state: healthy, line: toLine('the store answers again', outage, at) };
  }
  const isLogged = outage !== undefined && at - outage.loggedAt < repeatMs;
  const next = {
    since: outage?.since ?? at,
    failures: (outage?.failures ?? 0) + 1,
    lastFailureAt: at,
    loggedAt: isLogged ? outage.loggedAt : at,
  };
  const state = { answers: answers && type === 'call failed', outage: next };
  return isLogged ? { state } : { state, line: toLine('the store does not answer', next, at) };
}

function toLine(message: HealthLine['message'], { since, failures }: Outage, at: number): HealthLine {
  return { message, failures, seconds: Math.round((at - since) / 1000) };
}
