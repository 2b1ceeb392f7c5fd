import type { GameState } from '../providers/types.ts';
import { frameBytes, toArgument, toFrames, toMessage } from './frame.ts';

/** The lines that `send logs` answers with. */
const historyLines = 150;

/** What a viewer may be behind, and with it what the backlog of one server can hold, in bytes. */
const maxBytes = 1024 * 1024;

/** How much is sent at once; about what a socket takes before it wants to drain. */
const batchBytes = 64 * 1024;

/** Where panels cut a line as well. JSON makes 384 KiB of it at most, which the backlog has room for. */
const maxLineLength = 64 * 1024;

interface Entry {
  readonly kind: 'line' | 'status' | 'note';
  readonly message: string;
  readonly bytes: number;
  /** How many lines came before it. */
  readonly lines: number;
}

/** A place in a backlog: how many entries, and how many lines, came before it. */
export interface Cursor {
  readonly entry: number;
  readonly lines: number;
}

/** What follows a place in a backlog. */
export interface Batch {
  /** Where something between the place and the frames is lost: what the viewer is told in its stead. */
  readonly lost: readonly string[];
  readonly frames: Buffer;
  readonly next: Cursor;
}

/**
 * What one console said of late, kept once for all its viewers. Each viewer has a place in it: one who is slow costs
 * no memory of its own, and finds the oldest lines gone when it is more than 1 MiB behind.
 */
export interface Backlog {
  line(text: string): void;
  status(state: GameState): void;
  /** Anything else that viewers are told at this point. */
  note(message: string): void;
  end(): Cursor;
  /** What follows a place; undefined at the end. Before the entry `linesUntil` only lines count. */
  read(from: Cursor, linesUntil: number): Batch | undefined;
  /** The last 150 lines. */
  history(): string[];
  /** Where they begin. */
  historyStart(): Cursor;
  /** What there is so far is no history any more. */
  restartHistory(): void;
  /** Forgets what is neither history nor still to be sent to a viewer at this place or after it. */
  trim(oldest: Cursor): void;
}

function toGap(lines: number): string {
  return toMessage('gap', `${lines} ${lines === 1 ? 'line was' : 'lines were'} dropped: read too slowly`);
}

/** Creates an empty backlog. */
export function createBacklog(): Backlog {
  const entries = new Map<number, Entry>();
  /** Batches by the entry they begin with: viewers who are at one place share one. */
  const batches = new Map<number, Omit<Batch, 'lost'>>();
  let first = 0;
  let next = 0;
  let lines = 0;
  let bytes = 0;
  let historyFrom = 0;
  /** The last status that was dropped: whoever missed it must still know it. */
  let lostStatus: { readonly entry: number; readonly message: string } | undefined;

  /** Drops the oldest entry; answers its size. */
  const dropFirst = (): number => {
    const { kind, message, bytes: size } = entries.get(first)!;
    if (kind === 'status') lostStatus = { entry: first, message };
    entries.delete(first);
    first += 1;
    return size;
  };
  const append = (kind: Entry['kind'], message: string): void => {
    batches.clear();
    const entry = { kind, message, bytes: frameBytes(message), lines };
    entries.set(next, entry);
    next += 1;
    if (kind === 'line') lines += 1;
    bytes += entry.bytes;
    while (bytes > maxBytes) bytes -= dropFirst();
  };
  const cursorAt = (entry: number): Cursor => ({ entry, lines: entries.get(entry)?.lines ?? lines });

  const collect = (from: number, until: number, linesOnly: boolean): Omit<Batch, 'lost'> => {
    const messages: string[] = [];
    let at = from;
    for (let size = 0; at < until && size < batchBytes; at += 1) {
      const entry = entries.get(at)!;
      if (linesOnly && entry.kind !== 'line') continue;
      messages.push(entry.message);
      size += entry.bytes;
    }
    return { frames: toFrames(messages), next: cursorAt(at) };
  };
  const liveBatch = (from: number): Omit<Batch, 'lost'> => {
    const batch = batches.get(from) ?? collect(from, next, false);
    batches.set(from, batch);
    return batch;
  };
  const historyStart = (): number => {
    let at = next;
    while (at > first && entries.get(at - 1)!.lines >= Math.max(lines - historyLines, historyFrom)) at -= 1;
    return at;
  };

  return {
    line: (text) => append('line', toMessage('console output', text.slice(0, maxLineLength))),
    status: (state) => append('status', toMessage('status', state)),
    note: (message) => append('note', message),
    end: () => cursorAt(next),
    read({ entry, lines: seen }, linesUntil) {
      const start = Math.max(entry, first);
      if (start === next) return undefined;
      const batch = start < linesUntil ? collect(start, linesUntil, true) : liveBatch(start);
      const lost: string[] = [];
      const count = cursorAt(start).lines - seen;
      if (count > 0) lost.push(toGap(count));
      if (lostStatus && lostStatus.entry >= Math.max(entry, linesUntil)) lost.push(lostStatus.message);
      return { ...batch, lost };
    },
    history() {
      const found: string[] = [];
      for (let at = historyStart(); at < next; at += 1) {
        const { kind, message } = entries.get(at)!;
        if (kind === 'line') found.push(toArgument(message));
      }
      return found;
    },
    historyStart: () => cursorAt(historyStart()),
    restartHistory() {
      historyFrom = lines;
    },
    trim(oldest) {
      while (first < oldest.entry && lines - entries.get(first)!.lines > historyLines) bytes -= dropFirst();
      batches.clear();
    },
  };
}
