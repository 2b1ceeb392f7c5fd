import { frameBytes, toArgument, toFrames, toMessage } from './frame.ts';

/** The lines that `send logs` answers with. */
const historyLines = 150;

/** What a viewer may be behind, and with it what the backlog of one server can hold, in bytes. */
const maxBytes = 1024 * 1024;

/** How much is sent at once; about what a socket takes before it wants to drain. */
const batchBytes = 64 * 1024;

/** Where panels cut a line as well. JSON makes 384 KiB of it at most, which the backlog has room for. */
const maxLineLength = 64 * 1024;

/** What a backlog keeps. */
export type BacklogEvent = 'console output' | 'status' | 'gap' | 'daemon error';

/** A place in a backlog: how many entries, and how many lines, came before it. */
export interface Cursor {
  readonly entry: number;
  readonly lines: number;
}

/** What follows a place in a backlog. */
export interface Batch {
  readonly frames: Buffer;
  readonly next: Cursor;
}

/**
 * What one console said of late, kept once for all its viewers. Each viewer has a place in it: one who is slow costs
 * no memory of its own, and finds the oldest lines gone when it is more than 1 MiB behind.
 */
export interface Backlog {
  readonly append: (event: BacklogEvent, text: string) => void;
  readonly end: () => Cursor;
  /**
   * What follows a place, and before it what is lost in between; undefined at the end. Before the entry `linesUntil`
   * only lines count.
   */
  readonly read: (from: Cursor, linesUntil: number) => Batch | undefined;
  /** The last 150 lines. */
  readonly history: () => string[];
  /** Where they begin. */
  readonly historyStart: () => Cursor;
  /** What there is so far is no history any more. */
  readonly restartHistory: () => void;
  /** Forgets what is neither history nor still to be sent to a viewer at this place or after it. */
  readonly trim: (oldest: Cursor) => void;
}

interface Entry {
  readonly event: BacklogEvent;
  readonly message: string;
  readonly bytes: number;
  /** How many lines came before it. */
  readonly lines: number;
}

/** The entries that are kept, by their numbers. */
interface Kept {
  readonly entries: Map<number, Entry>;
  first: number;
  next: number;
  /** How many lines there were, dropped ones included. */
  lines: number;
  bytes: number;
  /** The last status that was dropped: a viewer who missed it must still know it. */
  lostStatus: { readonly entry: number; readonly message: string } | undefined;
}

/** Creates an empty backlog. */
export function createBacklog(): Backlog {
  const kept: Kept = { entries: new Map(), first: 0, next: 0, lines: 0, bytes: 0, lostStatus: undefined };
  /** Batches by the entry they begin with: viewers who are at one place share one. */
  const batches = new Map<number, Batch>();
  let historyFrom = 0;

  const readLive = (from: number): Batch => {
    const batch = batches.get(from) ?? collect(kept, from, kept.next, () => true);
    batches.set(from, batch);
    return batch;
  };
  const historyStart = (): Cursor => {
    let at = kept.next;
    const from = Math.max(kept.lines - historyLines, historyFrom);
    while (at > kept.first && kept.entries.get(at - 1)!.lines >= from) at -= 1;
    return cursorAt(kept, at);
  };
  return {
    append(event, text) {
      batches.clear();
      append(kept, event, toMessage(event, text.slice(0, maxLineLength)));
    },
    end: () => cursorAt(kept, kept.next),
    read(from, linesUntil) {
      const start = Math.max(from.entry, kept.first);
      if (start === kept.next) return undefined;
      const batch = start < linesUntil ? collect(kept, start, linesUntil, isLine) : readLive(start);
      const lost = toLost(kept, from, linesUntil);
      return lost.length === 0 ? batch : { ...batch, frames: Buffer.concat([toFrames(lost), batch.frames]) };
    },
    history() {
      const start = historyStart().entry;
      const found = Array.from({ length: kept.next - start }, (_, at) => kept.entries.get(start + at)!);
      return found.filter(isLine).map(({ message }) => toArgument(message));
    },
    historyStart,
    restartHistory() {
      historyFrom = kept.lines;
    },
    trim({ entry }) {
      while (kept.first < entry && kept.lines - kept.entries.get(kept.first)!.lines > historyLines) dropFirst(kept);
      batches.clear();
    },
  };
}

function append(kept: Kept, event: BacklogEvent, message: string): void {
  const entry = { event, message, bytes: frameBytes(message), lines: kept.lines };
  kept.entries.set(kept.next, entry);
  kept.next += 1;
  kept.lines += Number(isLine(entry));
  kept.bytes += entry.bytes;
  while (kept.bytes > maxBytes) dropFirst(kept);
}

function dropFirst(kept: Kept): void {
  const { event, message, bytes } = kept.entries.get(kept.first)!;
  if (event === 'status') kept.lostStatus = { entry: kept.first, message };
  kept.entries.delete(kept.first);
  kept.first += 1;
  kept.bytes -= bytes;
}

function cursorAt({ entries, lines }: Kept, entry: number): Cursor {
  return { entry, lines: entries.get(entry)?.lines ?? lines };
}

function collect(kept: Kept, from: number, until: number, counts: (entry: Entry) => boolean): Batch {
  const messages: string[] = [];
  let at = from;
  for (let size = 0; at < until && size < batchBytes; at += 1) {
    const entry = kept.entries.get(at)!;
    if (!counts(entry)) continue;
    messages.push(entry.message);
    size += entry.bytes;
  }
  return { frames: toFrames(messages), next: cursorAt(kept, at) };
}

/** What a viewer at a place is sent in place of what was dropped after it. */
function toLost(kept: Kept, { entry, lines }: Cursor, linesUntil: number): string[] {
  const { lostStatus, first } = kept;
  const count = cursorAt(kept, Math.max(entry, first)).lines - lines;
  const lost: string[] = [];
  if (count > 0)
    lost.push(toMessage('gap', `${count} ${count === 1 ? 'line was' : 'lines were'} dropped: read too slowly`));
  if (lostStatus && lostStatus.entry >= Math.max(entry, linesUntil)) lost.push(lostStatus.message);
  return lost;
}

function isLine({ event }: Entry): boolean {
  return event === 'console output';
}
