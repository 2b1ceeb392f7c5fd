/** What a check found. */
export interface Finding {
  /** What was checked, in a few words. */
  readonly check: string;
  readonly state: 'ok' | 'fault' | 'skipped';
  /** What was seen, or why nothing was checked. */
  readonly seen: string;
  /** What to change: always if it is a fault, and else a hint. It does not change as long as the fault lasts. */
  readonly advice?: string;
}

/** The result of a check, without its name. */
export type Outcome = Omit<Finding, 'check'>;

/** The outcome of a check that found no fault. */
export const ok = (seen: string): Outcome => ({ state: 'ok', seen });

/** The outcome of a check that found no fault, but something to consider. */
export const hint = (seen: string, advice: string): Outcome => ({ state: 'ok', seen, advice });

/** The outcome of a check that found a fault. */
export const fault = (seen: string, advice: string): Outcome => ({ state: 'fault', seen, advice });

/** The outcome of a check that cannot be made. */
export const skipped = (seen: string): Outcome => ({ state: 'skipped', seen });
