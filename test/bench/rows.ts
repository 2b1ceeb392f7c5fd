/** The figures that are measured for a row; their names contain the units. */
export type Figure =
  | 'cpuSeconds'
  | 'wallSeconds'
  | 'peakMegabytes'
  | 'cpuMicroseconds'
  | 'requestsPerSecond'
  | 'p99Milliseconds'
  | 'residentMegabytes'
  | 'latencyMilliseconds'
  | 'cpuMilliseconds';

/** The figures of one row in one round. */
export type Figures = Readonly<Partial<Record<Figure, number>>>;

/** One thing that is measured, with its figures for each round. */
export interface Row {
  readonly name: string;
  readonly rounds: readonly Figures[];
}

/** The row of a fixed workload: its variation between rounds is the noise of the machine. */
export const noise = 'fixed loop (noise)';

/** One figure of a row in all rounds; undefined if it was not measured. */
export function figuresOf(row: Row | undefined, figure: Figure): number[] | undefined {
  const figures = row?.rounds.map((round) => round[figure]);
  return figures?.every((value) => value !== undefined) ? figures : undefined;
}

/** Whether the row of a name is measured. */
export type Choice = (name: string) => boolean;

/** Parses a comma-separated list of texts: rows whose name contains one of them are chosen, ignoring case. */
export function parseChoice(text: string | undefined): Choice {
  const parts = (text ?? '').split(',').map((part) => part.trim().toLowerCase());
  return (name) => parts.some((part) => name.toLowerCase().includes(part));
}

/** Measures every item once in each round, one after the other; every second round is in reverse order. */
export async function measureInTurn<Item extends { readonly name: string }>(
  items: readonly Item[],
  rounds: number,
  measureOne: (item: Item, round: number) => Promise<Figures>,
): Promise<Row[]> {
  const measured = new Map(items.map((item) => [item, [] as Figures[]]));
  for (let round = 0; round < rounds; round += 1) {
    for (const item of round % 2 === 0 ? items : items.toReversed()) {
      // One at a time, so that measurements do not affect each other.
      // oxlint-disable-next-line no-await-in-loop
      measured.get(item)!.push(await measureOne(item, round));
    }
  }
  return items.map((item) => ({ name: item.name, rounds: measured.get(item)! }));
}
