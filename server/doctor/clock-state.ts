import type { Outcome } from './finding.ts';
import { fault, ok } from './finding.ts';

/** What is known of the clock. All times are in milliseconds. */
export interface ClockState {
  /** The difference between the clock and the time since the start, which no one sets. */
  readonly offset: number;
  /** The newest jump that is not long ago. */
  readonly jump: { readonly byMs: number; readonly at: number } | undefined;
}

/** The two clocks at one moment. */
export interface ClockReading {
  /** The time of day. */
  readonly wall: number;
  /** The time since the start. */
  readonly monotonic: number;
}

/** NTP slews a clock by 30 ms a minute at most. */
const maxSlewMs = 5000;

/** After this time without another jump, the clock is steady again. */
const steadyMs = 600_000;

/** The state at the first reading. */
export const toFirstState = ({ wall, monotonic }: ClockReading): ClockState => ({
  offset: wall - monotonic,
  jump: undefined,
});

/** Returns the state after a reading. */
export function toNextState({ offset, jump }: ClockState, { wall, monotonic }: ClockReading): ClockState {
  const byMs = wall - monotonic - offset;
  const next = { offset: wall - monotonic };
  if (Math.abs(byMs) > maxSlewMs) return { ...next, jump: { byMs, at: monotonic } };
  return { ...next, jump: jump && monotonic - jump.at < steadyMs ? jump : undefined };
}

/** What the state means. */
export function toOutcome({ jump }: ClockState): Outcome {
  if (!jump) return ok('steady');
  const seconds = Math.round(jump.byMs / 1000);
  return fault(
    `the clock jumped by ${seconds} s: keys, tokens and scheduled articles ended or began at the wrong time`,
    'see why the clock was set, or the machine paused, and let NTP keep it',
  );
}
