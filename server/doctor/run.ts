import pLimit from 'p-limit';

/** A result of a check. */
export interface DoctorResult {
  /** The name of the result; by default the name of its check. */
  readonly check?: string;
  readonly state: 'ok' | 'fault' | 'skipped';
  readonly seen: string;
  /** The remedy of a fault, or a hint. Constant while the fault lasts. */
  readonly advice?: string;
}

/** A result with its name, as reported. */
export type NamedResult = DoctorResult & { readonly check: string };

export const ok = (seen: string): DoctorResult => ({ state: 'ok', seen });
export const hint = (seen: string, advice: string): DoctorResult => ({ state: 'ok', seen, advice });
export const fault = (seen: string, advice: string): DoctorResult => ({ state: 'fault', seen, advice });
/** Creates faults with the same remedy. */
export const faultWith = (advice: string) => (seen: string) => fault(seen, advice);
export const skipped = (seen: string): DoctorResult => ({ state: 'skipped', seen });

type Results = DoctorResult | readonly DoctorResult[];

/** A table of checks by name. */
export type Checks<Subject> = Readonly<Record<string, (subject: Subject) => Results | Promise<Results>>>;

/** Runs checks, `parallel` at a time, and returns their results in order; `onError` converts exceptions. */
export async function runChecks<Subject>(
  checks: Checks<Subject>,
  toSubject: () => Subject,
  onError: (error: unknown) => DoctorResult | Promise<DoctorResult>,
  parallel = Infinity,
): Promise<NamedResult[]> {
  const results = await pLimit(parallel).map(Object.entries(checks), async ([check, run]) => {
    const found = await (async () => run(toSubject()))().catch(onError);
    return [found].flat().map((result) => ({ check, ...result }));
  });
  return results.flat();
}

/** The maximum number of faults of a check. */
const maxFaults = 10;

/** Reports the first ten items as faults; the last of them says how many more there are. */
export function faultEach<Item>(items: readonly Item[], describe: (item: Item) => readonly [string, string]) {
  const more = items.length - maxFaults;
  return items.slice(0, maxFaults).map((item, at) => {
    const [seen, advice] = describe(item);
    return fault(more > 0 && at === maxFaults - 1 ? `${seen}; the same for ${more} more` : seen, advice);
  });
}

/** Formats a number with its noun, such as `1 server` or `2 servers`. */
export const countOf = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;
