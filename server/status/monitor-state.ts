/** What the checks of a monitor have shown so far. */
export interface MonitorState {
  /** What visitors see; undefined where nothing was decided yet. */
  readonly up: boolean | undefined;
  /** Whether it was decided by checks of what is checked now. */
  readonly settled: boolean;
  /** The latest checks with one result: so many that passed, or, below zero, that failed. */
  readonly run: number;
  /** How much longer than usual it must be steady before it is up again; 0 where it was steady for long. */
  readonly damping: number;
}

/** What a monitor's checks are counted by. */
export interface MonitorRule {
  /** Failures in a row before it counts. */
  readonly failures: number;
  readonly intervalMs: number;
  /** Whether maintenance of it is running: visitors do not see it change then. */
  readonly inMaintenance: boolean;
}

/** Before the first check. */
export const unchecked: MonitorState = { up: undefined, settled: false, run: 0, damping: 0 };

/** A server that restarts in a loop passes a few checks each time: with the usual minute between them, five are five minutes. */
const steadyChecks = 5;

/** It takes up to four times as long where it begins to fail again: what passed 20 checks and falls has had two outages. */
const mostDamping = 4;

/** After so many passes in a row, what was before is forgotten. */
const calmChecks = 60;

/** Nothing has to be watched for longer than this: with hours between checks, a few passes are proof enough. */
const longestMs = 30 * 60_000;

/**
 * The state after one more check. It goes down after `failures` in a row and comes back after a longer row of passes, which
 * doubles each time that it begins to fail again: whatever flaps in phases of less than five checks is down once, until it is steady.
 */
export function toNextState(state: MonitorState, passed: boolean, rule: MonitorRule): MonitorState {
  const run = passed ? Math.max(state.run, 0) + 1 : Math.min(state.run, 0) - 1;
  if (rule.inMaintenance || !state.settled) {
    // There is nothing to be steady against: the first pass decides. A planned restart is no flapping either.
    const decided = passed || -run >= rule.failures;
    return {
      up: decided ? passed : state.up,
      settled: state.settled || decided,
      run,
      damping: passed ? 0 : state.damping,
    };
  }
  const damping = dampen(state, run);
  const up = state.up ? passed || -run < rule.failures : run >= passesNeeded(damping, rule);
  return { up, settled: true, run, damping };
}

/** Each failure after a pass says that it is not steady, whether or not visitors see it. */
function dampen({ run: before, damping }: MonitorState, run: number): number {
  if (run >= calmChecks) return 0;
  if (before < 0 || run > 0) return damping;
  return damping === 0 ? 1 : Math.min(damping * 2, mostDamping);
}

function passesNeeded(damping: number, { failures, intervalMs }: MonitorRule): number {
  const wanted = Math.max(steadyChecks, 2 * failures + 1) * Math.max(damping, 1);
  return Math.min(wanted, Math.max(failures, Math.ceil(longestMs / intervalMs)));
}
