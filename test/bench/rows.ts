/** What is measured of a row; the names carry the units. */
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

/** What was measured of one thing, round by round. */
export interface Row {
  readonly name: string;
  readonly rounds: readonly Figures[];
}

/** Work of always the same size: what it costs more in one round than in another is the noise of the machine. */
export const noise = 'fixed loop (noise)';

/** One figure of a row in all rounds; nothing where it was not measured. */
export function figuresOf(row: Row | undefined, figure: Figure): number[] | undefined {
  const figures = row?.rounds.map((round) => round[figure]);
  return figures?.every((value) => value !== undefined) ? figures : undefined;
}

/** Which rows are measured: those whose name holds one of some texts, or all of them. */
export type Choice = (name: string) => boolean;

/** Reads a choice of rows, texts separated by commas, in capitals or not. */
export function parseChoice(text: string | undefined): Choice {
  const parts = (text ?? '').split(',').map((part) => part.trim().toLowerCase());
  return (name) => parts.some((part) => name.toLowerCase().includes(part));
}

/** Measures every item once in each round, one after the other; the direction changes from round to round. */
export async function measureInTurn<Item extends { readonly name: string }>(
  items: readonly Item[],
  rounds: number,
  measureOne: (item: Item, round: number) => Promise<Figures>,
): Promise<Row[]> {
  const measured = new Map(items.map((item) => [item, [] as Figures[]]));
  for (let round = 0; round < rounds; round += 1) {
    for (const item of round % 2 === 0 ? items : items.toReversed()) {
      // One at a time: that is what is measured.
      // oxlint-disable-next-line no-await-in-loop
      measured.get(item)!.push(await measureOne(item, round));
    }
  }
  return items.map((item) => ({ name: item.name, rounds: measured.get(item)! }));
}
