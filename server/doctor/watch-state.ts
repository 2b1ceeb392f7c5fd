import type { Finding } from './finding.ts';

/** The faults that last, by what identifies them. */
export type WatchState = ReadonlyMap<string, Condition>;

interface Condition {
  readonly finding: Finding;
  readonly since: number;
  readonly loggedAt: number;
}

/** What some checks found at one time, in milliseconds. */
export interface Look {
  readonly at: number;
  readonly findings: readonly Finding[];
}

/** A line for the log. */
export interface WatchLine {
  readonly type: 'begins' | 'lasts' | 'ends';
  readonly finding: Finding;
  /** How long it has lasted. */
  readonly seconds: number;
}

/** The state before the first look. */
export const noFaults: WatchState = new Map();

/** While a fault lasts, it is logged again after this time. */
const repeatMs = 3_600_000;

/** What is seen of a fault changes from look to look, what to do about it does not. */
const identify = ({ check, advice = '' }: Finding): string => `${check}: ${advice}`;

/**
 * Returns the state after a look, and the lines to log: one when a fault begins, one an hour while it lasts, and one when it
 * ends. A fault stays as it was if its check was not made, or found nothing out.
 */
export function toNextState(
  state: WatchState,
  { at, findings }: Look,
): { readonly state: WatchState; readonly lines: readonly WatchLine[] } {
  const next = new Map(state);
  const lines: WatchLine[] = [];
  const faults = new Map(
    findings.filter((finding) => finding.state === 'fault').map((finding) => [identify(finding), finding]),
  );
  for (const [id, finding] of faults) {
    const { since, loggedAt } = state.get(id) ?? { since: at, loggedAt: Number.NEGATIVE_INFINITY };
    const isDue = at - loggedAt >= repeatMs;
    if (isDue) lines.push({ type: state.has(id) ? 'lasts' : 'begins', finding, seconds: toSeconds(at - since) });
    next.set(id, { finding, since, loggedAt: isDue ? at : loggedAt });
  }
  const open = new Set(findings.filter((finding) => finding.state === 'skipped').map(({ check }) => check));
  const made = new Set(findings.map(({ check }) => check));
  for (const [id, { finding, since }] of state) {
    const { check } = finding;
    if (faults.has(id) || !made.has(check) || open.has(check)) continue;
    next.delete(id);
    lines.push({ type: 'ends', finding, seconds: toSeconds(at - since) });
  }
  return { state: next, lines };
}

const toSeconds = (ms: number): number => Math.round(ms / 1000);
