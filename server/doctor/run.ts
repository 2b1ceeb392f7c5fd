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

/** The outcome of a check that found no fault, perhaps with something to consider. */
export const ok = (seen: string): Outcome => ({ state: 'ok', seen });
export const hint = (seen: string, advice: string): Outcome => ({ state: 'ok', seen, advice });

/** The outcome of a check that found a fault. */
export const fault = (seen: string, advice: string): Outcome => ({ state: 'fault', seen, advice });

/** The outcome of a check that cannot be made. */
export const skipped = (seen: string): Outcome => ({ state: 'skipped', seen });

/** A row of a table of checks: something to look at, by the name that its findings have. */
export interface Check<Subject> {
  readonly name: string;
  readonly run: (subject: Subject) => Outcome | readonly Outcome[] | Promise<Outcome | readonly Outcome[]>;
  /** Whether a running server repeats it. */
  readonly isWatched?: true;
}

/** Creates a row of a table of checks. */
export const check = <Subject>(name: string, run: Check<Subject>['run']): Check<Subject> => ({ name, run });

/** Creates a row whose check a running server repeats. */
export const watched = <Subject>(...row: Parameters<typeof check<Subject>>): Check<Subject> => ({
  ...check(...row),
  isWatched: true,
});

/** Makes checks, `parallel` at a time, and returns all findings in order; one that throws has the one of `onError`. */
export async function runChecks<Subject>(
  checks: readonly Check<Subject>[],
  toSubject: () => Subject,
  onError: (error: unknown) => Outcome | Promise<Outcome>,
  parallel = Infinity,
): Promise<readonly Finding[]> {
  const findings = await pLimit(parallel).map(checks, async ({ name, run }) => {
    const found = await (async () => run(toSubject()))().catch(onError);
    return [found].flat().map((outcome): Finding => ({ check: name, ...outcome }));
  });
  return findings.flat();
}
