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
export type Outcome = Omit<Finding, 'check'> & {
  readonly check?: string;
  /** What did not answer: a clock that is wrong may be the reason, as it refuses certificates. */
  readonly url?: string;
};

/** The outcome of a check that found no fault, perhaps with something to consider. */
export const ok = (seen: string): Outcome => ({ state: 'ok', seen });
export const hint = (seen: string, advice: string): Outcome => ({ state: 'ok', seen, advice });

/** The outcome of a check that found a fault. */
export const fault = (seen: string, advice: string): Outcome => ({ state: 'fault', seen, advice });

/** The outcome of a check that cannot be made. */
export const skipped = (seen: string): Outcome => ({ state: 'skipped', seen });

type Found = Outcome | readonly Outcome[];

/** A table of checks, by the names that their findings have. */
export type Checks<Subject> = Readonly<Record<string, (subject: Subject) => Found | Promise<Found>>>;

/** Makes checks, `parallel` at a time, and returns all findings in order; one that throws has the one of `onError`. */
export async function runChecks<Subject>(
  checks: Checks<Subject>,
  toSubject: () => Subject,
  onError: (error: unknown) => Outcome | Promise<Outcome>,
  parallel = Infinity,
) {
  const findings = await pLimit(parallel).map(Object.entries(checks), async ([check, run]) => {
    const found = await (async () => run(toSubject()))().catch(onError);
    return [found].flat().map((outcome) => ({ check, ...outcome }));
  });
  return findings.flat();
}
