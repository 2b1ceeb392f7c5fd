import pLimit from 'p-limit';

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

/** A finding that has the name of its check, unless it has one of its own. */
export type Outcome = Omit<Finding, 'check'> & { readonly check?: string };

/** The outcome of a check that found no fault. */
export const ok = (seen: string): Outcome => ({ state: 'ok', seen });

/** The outcome of a check that found no fault, but something to consider. */
export const hint = (seen: string, advice: string): Outcome => ({ state: 'ok', seen, advice });

/** The outcome of a check that found a fault. */
export const fault = (seen: string, advice: string): Outcome => ({ state: 'fault', seen, advice });

/** The outcome of a check that cannot be made. */
export const skipped = (seen: string): Outcome => ({ state: 'skipped', seen });

type Found = Outcome | readonly Outcome[];

/** Something to look at, by the name that its findings have. */
export interface Check<Subject> {
  readonly name: string;
  readonly run: (subject: Subject) => Found | Promise<Found>;
}

/** A row of a table of checks. */
export const check = <Subject>(name: string, run: Check<Subject>['run']): Check<Subject> => ({ name, run });

/** Makes checks, `parallel` at a time, and returns all findings in order; one that throws has the one of `onError`. */
export async function runChecks<Subject>(
  checks: readonly Check<Subject>[],
  subject: Subject,
  onError: (error: unknown) => Outcome,
  parallel = Infinity,
): Promise<readonly Finding[]> {
  const findings = await pLimit(parallel).map(checks, async ({ name, run }): Promise<Finding[]> => {
    let found: Found;
    try {
      found = await run(subject);
    } catch (error) {
      found = onError(error);
    }
    return [found].flat().map((outcome) => ({ check: name, ...outcome }));
  });
  return findings.flat();
}
