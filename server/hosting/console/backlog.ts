import { streamLimits } from '#contract/console-stream.ts';
import type { ServiceEvent } from '#contract/console-stream.ts';
import { frameBytes, toArgument, toFrames, toMessage } from './frame.ts';

/** The number of lines in the reply to `send logs`. */
const { historyLines } = streamLimits;

/** The size of the backlog of one server, which is how far a viewer may be behind. */
const maxBytes = 1024 * 1024;

/** The size of one write, about the high-water mark of a socket. */
const batchBytes = 64 * 1024;

/** Panels truncate lines at the same length. As JSON it is at most 384 KiB, which fits into the backlog. */
const maxLineLength = 64 * 1024;

/** The events in a backlog. */
export type BacklogEvent = Extract<ServiceEvent, 'console output' | 'status' | 'gap' | 'daemon error'>;

/** A position in a backlog: the number of entries and of lines before it. */
export interface Cursor {
  readonly entry: number;
  readonly lines: number;
}

/** The entries after a cursor. */
export interface Batch {
  readonly frames: Buffer;
  readonly next: Cursor;
}

/**
 * The recent output of one console, shared by all its viewers. Each viewer has a cursor, so slow viewers need no buffers.
 * A viewer that is more than 1 MiB behind misses the oldest lines.
 */
export interface Backlog {
  readonly append: (event: BacklogEvent, text: string) => void;
  readonly end: () => Cursor;
  /**
   * Reads the entries after a cursor, preceded by a notice of dropped ones; undefined at the end. Before the entry
   * `linesUntil`, it reads only lines.
   */
  readonly read: (from: Cursor, linesUntil: number) => Batch | undefined;
  /** The last 150 lines. */
  readonly history: () => string[];
  /** The cursor of the first of these lines. */
  readonly historyStart: () => Cursor;
  /** Excludes all current lines from the history. */
  readonly restartHistory: () => void;
  /** Removes entries that are neither history nor needed by the viewer at the oldest cursor. */
  readonly trim: (oldest: Cursor) => void;
}

interface Entry {
  readonly event: BacklogEvent;
  readonly message: string;
  readonly bytes: number;
  /** The number of lines before it. */
  readonly lines: number;
}

/** The buffered entries by number. */
interface Buffered {
  readonly entries: Map<number, Entry>;
  first: number;
  next: number;
  /** The number of all lines, including dropped ones. */
  lines: number;
  bytes: number;
  /** The last dropped status, for viewers who missed it. */
  lostStatus: { readonly entry: number; readonly message: string } | undefined;
}

/** Creates an empty backlog. */
export function createBacklog(): Backlog {
  const buffered: Buffered = { entries: new Map(), first: 0, next: 0, lines: 0, bytes: 0, lostStatus: undefined };
  /** Batches by first entry, shared by viewers at the same cursor. */
  const batches = new Map<number, Batch>();
  let historyFrom = 0;

  const readLive = (from: number): Batch => {
    const batch = batches.get(from) ?? collect(buffered, from, buffered.next, () => true);
    batches.set(from, batch);
    return batch;
  };
  const historyStart = (): Cursor => {
    let at = buffered.next;
    const from = Math.max(buffered.lines - historyLines, historyFrom);
    while (at > buffered.first && buffered.entries.get(at - 1)!.lines >= from) at -= 1;
    return cursorAt(buffered, at);
  };
  return {
    append(event, text) {
      batches.clear();
      append(buffered, event, toMessage(event, text.slice(0, maxLineLength)));
    },
    end: () => cursorAt(buffered, buffered.next),
    read(from, linesUntil) {
      const start = Math.max(from.entry, buffered.first);
      const lost = toLost(buffered, from, linesUntil);
      // The history was dropped: the notice of it comes before what is new.
      if (from.entry < linesUntil && start >= linesUntil)
        return { frames: toFrames(lost), next: cursorAt(buffered, start) };
      if (start === buffered.next) return undefined;
      const batch = start < linesUntil ? collect(buffered, start, linesUntil, isLine) : readLive(start);
      return lost.length === 0 ? batch : { ...batch, frames: Buffer.concat([toFrames(lost), batch.frames]) };
    },
    history() {
      const start = historyStart().entry;
      const found = Array.from({ length: buffered.next - start }, (_, at) => buffered.entries.get(start + at)!);
      return found.filter(isLine).map(({ message }) => toArgument(message));
    },
    historyStart,
    restartHistory() {
      historyFrom = buffered.lines;
    },
    trim({ entry }) {
      while (buffered.first < entry && buffered.lines - buffered.entries.get(buffered.first)!.lines > historyLines)
        dropFirst(buffered);
      batches.clear();
    },
  };
}

function append(buffered: Buffered, event: BacklogEvent, message: string): void {
  const entry = { event, message, bytes: frameBytes(message), lines: buffered.lines };
  buffered.entries.set(buffered.next, entry);
  buffered.next += 1;
  buffered.lines += Number(isLine(entry));
  buffered.bytes += entry.bytes;
  while (buffered.bytes > maxBytes) dropFirst(buffered);
}

function dropFirst(buffered: Buffered): void {
  const { event, message, bytes } = buffered.entries.get(buffered.first)!;
  if (event === 'status') buffered.lostStatus = { entry: buffered.first, message };
  buffered.entries.delete(buffered.first);
  buffered.first += 1;
  buffered.bytes -= bytes;
}

function cursorAt({ entries, lines }: Buffered, entry: number): Cursor {
  return { entry, lines: entries.get(entry)?.lines ?? lines };
}

function collect(buffered: Buffered, from: number, until: number, counts: (entry: Entry) => boolean): Batch {
  const messages: string[] = [];
  let at = from;
  for (let size = 0; at < until && size < batchBytes; at += 1) {
    const entry = buffered.entries.get(at)!;
    if (!counts(entry)) continue;
    messages.push(entry.message);
    size += entry.bytes;
  }
  return { frames: toFrames(messages), next: cursorAt(buffered, at) };
}

/** The messages that replace the entries dropped after a cursor. */
function toLost(buffered: Buffered, { entry, lines }: Cursor, linesUntil: number): string[] {
  const { lostStatus, first } = buffered;
  const count = cursorAt(buffered, Math.max(entry, first)).lines - lines;
  const lost: string[] = [];
  if (count > 0)
    lost.push(toMessage('gap', `${count} ${count === 1 ? 'line was' : 'lines were'} dropped: read too slowly`));
  if (lostStatus && lostStatus.entry >= Math.max(entry, linesUntil)) lost.push(lostStatus.message);
  return lost;
}

function isLine({ event }: Entry): boolean {
  return event === 'console output';
}
