import type { PlatformStatus } from './types.ts';

/** What is known about the status of the platform. All times are in milliseconds since 1970. */
export interface StatusState {
  /** The last known status, and when it was known. */
  readonly last: { readonly status: PlatformStatus; readonly at: number } | undefined;
  /** `starting` until the first read of this process has ended. */
  readonly phase: 'starting' | 'known' | 'failing';
  /** When the first of several failed reads in a row ended. */
  readonly failingSince: number;
  /** When the last read ended. */
  readonly checkedAt: number;
}

/** What changes the state: a read ended, or the status of an earlier process was loaded. */
export type StatusEvent =
  | { readonly kind: 'read' | 'restored'; readonly status: PlatformStatus; readonly at: number }
  /** `undecided`: the first checks of the monitors have not decided yet. */
  | { readonly kind: 'failed' | 'undecided'; readonly at: number };

/** The state of a new process. */
export const initialState: StatusState = { last: undefined, phase: 'starting', failingSince: 0, checkedAt: -Infinity };

/** The maximum age of a status. Visitors must not see an old one as the current one. */
const maxAgeMs = 10 * 60_000;

/** How long the last status is shown after reads began to fail. */
const graceMs = 60_000;

/** The pause after a failed read: a recovery is soon visible, but a hanging source gets no read from each visitor. */
const failedMs = 2000;

/** The pause while monitors are undecided, which needs no request to them. */
const undecidedMs = 250;

/** Returns the state after an event. */
export function toNextState(state: StatusState, event: StatusEvent): StatusState {
  const { kind, at } = event;
  if (kind === 'restored') return state.last ? state : { ...state, last: { status: event.status, at } };
  if (kind === 'read') return { ...state, last: { status: event.status, at }, phase: 'known', checkedAt: at };
  if (kind === 'undecided' && state.phase === 'starting') return { ...state, checkedAt: at };
  const failingSince = state.phase === 'failing' ? state.failingSince : at;
  return { ...state, phase: 'failing', failingSince, checkedAt: at };
}

/** The status that visitors see; undefined if it is unknown. */
export function knownStatus({ last, phase, failingSince }: StatusState, now: number): PlatformStatus | undefined {
  if (!last || now - last.at > maxAgeMs) return undefined;
  return phase === 'failing' && now - failingSince >= graceMs ? undefined : last.status;
}

/** The pause after the last read. */
export function toPauseMs({ phase }: StatusState, cacheMs: number): number {
  if (phase === 'known') return cacheMs;
  return phase === 'starting' ? undecidedMs : failedMs;
}

/** Whether the status must be read again. A negative age means that the clock was set back. */
export function isDue(state: StatusState, now: number, cacheMs: number): boolean {
  const age = now - state.checkedAt;
  return age < 0 || age >= toPauseMs(state, cacheMs);
}
