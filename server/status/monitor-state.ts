/** The state of a monitor after its checks so far. */
export interface MonitorState {
  /** What visitors see; undefined while undecided. */
  readonly up: boolean | undefined;
  /** Whether checks of the current target have decided `up`. */
  readonly decided: boolean;
  /** The number of passes in a row or, negative, of failures in a row. */
  readonly streak: number;
  /** The factor by which more passes are needed to come back up; 0 after a long stable period. */
  readonly damping: number;
}

/** The rule by which checks of a monitor are counted. */
export interface MonitorRule {
  /** Failures in a row until the monitor is down. */
  readonly failures: number;
  readonly intervalMs: number;
  /** Whether maintenance is running, during which visitors do not see changes. */
  readonly inMaintenance: boolean;
}

/** The state before the first check. */
export const unchecked: MonitorState = { up: undefined, decided: false, streak: 0, damping: 0 };

/** A server that restarts in a loop passes a few checks each time. With the default interval, five take five minutes. */
const stableChecks = 5;

/** Repeated failures raise the number of passes up to this factor: a failure after 20 passes is a new outage. */
const maxDamping = 4;

/** Passes in a row after which earlier failures are forgotten. */
const resetChecks = 60;

/** The maximum time to come back up: with hours between checks, a few passes are enough. */
const maxRecoveryMs = 30 * 60_000;

/**
 * Returns the state after one more check. A monitor goes down after `failures` in a row. It comes back up after more
 * passes in a row, twice as many after each relapse, so that visitors do not see flapping.
 */
export function toNextState(state: MonitorState, passed: boolean, rule: MonitorRule): MonitorState {
  const streak = passed ? Math.max(state.streak, 0) + 1 : Math.min(state.streak, 0) - 1;
  if (rule.inMaintenance || !state.decided) {
    // The first pass decides. A planned restart is no flapping.
    const decides = passed || -streak >= rule.failures;
    return {
      up: decides ? passed : state.up,
      decided: state.decided || decides,
      streak,
      damping: passed ? 0 : state.damping,
    };
  }
  const damping = dampen(state, streak);
  const up = state.up ? passed || -streak < rule.failures : streak >= passesNeeded(damping, rule);
  return { up, decided: true, streak, damping };
}

/** Doubles the damping at each failure after a pass, whether or not visitors see it. */
function dampen({ streak: before, damping }: MonitorState, streak: number): number {
  if (streak >= resetChecks) return 0;
  if (before < 0 || streak > 0) return damping;
  return damping === 0 ? 1 : Math.min(damping * 2, maxDamping);
}

function passesNeeded(damping: number, { failures, intervalMs }: MonitorRule): number {
  const wanted = Math.max(stableChecks, 2 * failures + 1) * Math.max(damping, 1);
  return Math.min(wanted, Math.max(failures, Math.ceil(maxRecoveryMs / intervalMs)));
}
