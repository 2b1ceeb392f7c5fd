import { setImmediate as nextTurn } from 'node:timers/promises';
import { streamLimits, unknownStats } from '#contract/console-stream.ts';
import type { ArgumentsOf, ConsoleStats, ServiceEvent } from '#contract/console-stream.ts';
import type { ConsoleEvents, ConsoleSource, GameState } from '../providers/types.ts';

/** Cancels a timer. */
export type Cancel = () => void;

/** The time and timers, which tests replace. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  after(ms: number, run: () => void): Cancel;
}

/** The clock of this machine. Its timers do not keep the process alive. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms).unref();
    return () => clearTimeout(timer);
  },
};

/** The console of one server: one upstream shared by all viewers. */
export type Channel = ReturnType<typeof createChannel>;

/** The part of one viewer in a console. */
export type Viewing = ReturnType<Channel['join']>;

interface ChannelOptions {
  /** Opens the upstream; `isResumed` if the lines that it has buffered are not wanted again. */
  readonly open: (events: ConsoleEvents, isResumed: boolean) => Promise<ConsoleSource>;
  /** Reports why the upstream cannot be opened, and returns a text for clients. */
  readonly describe: (error: unknown) => string;
  readonly clock: Clock;
  readonly random: () => number;
  /** Called when the channel is closed, also after a time without viewers. */
  readonly closed: () => void;
  /** The wait before the next attempt doubles from the first to the maximum; default 1 and 60 s. */
  readonly backoff?: { readonly firstMs: number; readonly maxMs: number };
}

/** How long the upstream stays open without viewers, so that a reloaded page finds it open. */
const lingerMs = 30_000;
/** How long a request for history waits for the buffered lines of the upstream. */
const loadMs = 5000;
const refusedMs = 60_000;

/** Creates the channel of a server. It alone opens the upstream again, and says where lines may be missing. */
export function createChannel(options: ChannelOptions) {
  const { open, describe, clock, random, closed, backoff = { firstMs: 1000, maxMs: 60_000 } } = options;
  const output = createOutput();
  const timers = new Map<string, Cancel>();
  let phase: 'idle' | 'opening' | 'open' | 'backoff' = 'idle';
  let source: ConsoleSource | undefined;
  let opening: Promise<void> | undefined;
  /** Events of earlier connections are ignored. */
  let connection = 0;
  let viewers = 0;
  let failures = 0;
  let status: GameState | undefined;
  /** Why there is no console, until it sends output again. */
  let lastError: string | undefined;
  /** Whether viewers know that lines may be missing, and no output came since. */
  let isGapReported = false;
  /** Whether the buffered lines of the upstream came: they cannot be distinguished from new ones. */
  let hasLines = false;
  /** The last read of statistics from this connection. */
  let lastStats: { readonly at: number; readonly stats: Promise<ConsoleStats> } | undefined;

  const wait = (timer: 'retry' | 'linger' | 'load', ms: number, run: () => void): void => {
    timers.get(timer)?.();
    timers.set(timer, clock.after(ms, run));
  };
  const admit = (): void => {
    output.start([
      ...(status === undefined ? [] : [toFrame('status', status)]),
      ...(lastError === undefined ? [] : [toFrame('daemon error', lastError)]),
    ]);
  };
  const connect = async (): Promise<void> => {
    const mine = connection;
    phase = 'opening';
    try {
      const opened = await open(toEvents(mine), hasLines);
      // Sources emit buffered lines in the next turn of the event loop at the earliest.
      if (mine === connection) await nextTurn();
      if (mine !== connection) return opened.close();
      source = opened;
    } catch (error) {
      if (mine !== connection) return;
      reportError(describe(error));
      return disconnect(toPause());
    }
    phase = 'open';
    admit();
    wait('load', loadMs, output.admitHistory);
  };
  const disconnect = (retryMs: number): void => {
    connection += 1;
    phase = 'backoff';
    source = lastStats = undefined;
    admit();
    output.admitHistory();
    wait('retry', retryMs, () => {
      phase = 'idle';
      if (viewers > 0) opening = connect();
    });
  };
  /** Half of the wait is jitter, so that the consoles of a recovered panel do not all reconnect at once. */
  const toPause = (): number => {
    const ms = Math.min(backoff.maxMs, backoff.firstMs * 2 ** failures);
    failures += 1;
    return ms * (0.5 + random() / 2);
  };
  const reportError = (reason: string): void => {
    if (reason !== lastError) output.append('daemon error', reason);
    lastError = reason;
  };
  const reportGap = (reason: string): void => {
    output.append('gap', reason);
    isGapReported = true;
  };
  const onOutput = (): void => {
    if (lastError !== undefined) {
      lastError = undefined;
      // The upstream repeats its buffered lines.
      if (!hasLines) output.restartHistory();
      output.append('gap', 'The console was opened again: lines may be missing here');
    }
    failures = 0;
    isGapReported = false;
    hasLines = true;
  };
  const toEvents = (mine: number): ConsoleEvents => {
    const isCurrent = (): boolean => mine === connection;
    return {
      line(text) {
        if (!isCurrent()) return;
        onOutput();
        output.append('console output', text);
      },
      status(next) {
        if (!isCurrent()) return;
        onOutput();
        if (next !== status) output.append('status', next);
        status = next;
      },
      loaded() {
        if (isCurrent()) output.admitHistory();
      },
      gap(reason) {
        if (!isCurrent()) return;
        reportGap(reason);
        output.admitHistory();
      },
      error(reason) {
        if (isCurrent()) output.append('daemon error', reason);
      },
      ended(reason, retryAfterMs) {
        if (!isCurrent()) return;
        if (retryAfterMs === undefined) {
          hasLines = false;
          reportError(reason);
          disconnect(refusedMs);
        } else {
          // At once, since viewers cannot distinguish a loss from silence.
          if (!isGapReported) reportGap(reason);
          disconnect(Math.max(toPause(), retryAfterMs));
        }
      },
    };
  };
  const close = (): void => {
    connection += 1;
    source?.close();
    for (const cancel of timers.values()) cancel();
    output.close();
    closed();
  };

  return {
    join(sink: FrameSink) {
      const subscription = output.subscribe(sink);
      viewers += 1;
      if (phase === 'idle') opening = connect();
      else if (phase !== 'opening') admit();
      return {
        ...subscription,
        /** What the server uses now, shared for two seconds. It waits for an upstream that is being opened. */
        async stats(): Promise<ConsoleStats> {
          if (phase === 'opening') await opening;
          if (!source) return unknownStats;
          const now = clock.now();
          if (!lastStats || now - lastStats.at >= streamLimits.statsSeconds * 1000) {
            lastStats = { at: now, stats: source.stats() };
          }
          return await lastStats.stats;
        },
        leave(): void {
          subscription.leave();
          viewers -= 1;
          if (viewers > 0) return;
          wait('linger', lingerMs, () => {
            if (viewers === 0) close();
          });
        },
      };
    },
    /** The last 150 lines. */
    history: output.history,
    hasUpstream: (): boolean => phase === 'opening' || phase === 'open',
    close,
  };
}

/** The size of the backlog of one server, which is how far a viewer may be behind. */
const maxBytes = 1024 * 1024;
/** The size of one write, about the high-water mark of a socket. */
const batchBytes = 64 * 1024;
/** Panels truncate lines at the same length. As JSON it is at most 384 KiB, which fits into the backlog. */
const maxLineLength = 64 * 1024;
/** Lines within this time are sent in one write, so there are at most 60 writes a second. */
const flushMs = 16;

/**
 * Encodes a message of the stream as a websocket text frame (RFC 6455 5.2). A server does not mask its frames, so all
 * viewers get the same buffer, and one write sends many frames. 50 viewers of 20,000 lines a second take 8 % of a core,
 * and 35 times as much with one `send` for each line and viewer.
 */
export function toFrame<Event extends ServiceEvent>(event: Event, ...args: ArgumentsOf<Event>): Buffer {
  const text = JSON.stringify({ event, args });
  const length = Buffer.byteLength(text);
  const start = length < 126 ? 2 : length < 65_536 ? 4 : 10;
  const frame = Buffer.allocUnsafe(start + length);
  frame[0] = 0x81;
  if (length >= 65_536) {
    frame[1] = 127;
    frame.writeBigUInt64BE(BigInt(length), 2);
  } else if (length >= 126) {
    frame[1] = 126;
    frame.writeUInt16BE(length, 2);
  } else frame[1] = length;
  frame.write(text, start);
  return frame;
}

/** The first argument of an encoded message. */
function toText(frame: Buffer): string {
  const message = JSON.parse(frame.toString('utf8', frame.indexOf('{"event"'))) as { readonly args: [string] };
  return message.args[0];
}

/** The destination of a viewer's frames. */
export interface FrameSink {
  readonly isReady: () => boolean;
  readonly send: (frames: Buffer) => void;
}

interface Entry {
  readonly event: Extract<ServiceEvent, 'console output' | 'status' | 'gap' | 'daemon error'>;
  readonly frame: Buffer;
  /** The number of lines before it. */
  readonly lines: number;
}

const isLine = ({ event }: Entry): boolean => event === 'console output';

/** A position in the output: the number of entries and of lines before it. */
type Cursor = { readonly entry: number; readonly lines: number };

type Batch = { readonly frames: Buffer; readonly next: Cursor };

/** Creates the output of a console, buffered once for all: a viewer over 1 MiB behind misses the oldest lines. */
function createOutput() {
  /** By their number; dropped ones are missing. */
  const entries = new Map<number, Entry>();
  /** Batches by first entry, shared by viewers at the same cursor. */
  const batches = new Map<number, Batch>();
  const subscriptions = new Set<{
    readonly start: (greeting: readonly Buffer[]) => void;
    readonly pump: () => void;
    readonly position: () => Cursor | undefined;
  }>();
  let first = 0;
  let next = 0;
  let bytes = 0;
  /** All lines so far, including dropped ones. */
  let lines = 0;
  /** The lines before the history. */
  let historyFrom = 0;
  /** The last dropped status, for viewers who missed it. */
  let lostStatus: { readonly entry: number; readonly frame: Buffer } | undefined;
  let flushTimer: NodeJS.Timeout | undefined;
  let flushedAt = 0;
  let isLoaded = false;

  const cursorAt = (entry: number): Cursor => ({ entry, lines: entries.get(entry)?.lines ?? lines });
  const dropWhile = (isTooMany: () => boolean): void => {
    while (isTooMany()) {
      const dropped = entries.get(first)!;
      if (dropped.event === 'status') lostStatus = { entry: first, frame: dropped.frame };
      entries.delete(first);
      first += 1;
      bytes -= dropped.frame.length;
    }
  };
  /** Drops entries that are neither history nor needed by the viewer at the oldest cursor. */
  const trim = (): void => {
    let oldest = next;
    for (const { position } of subscriptions) oldest = Math.min(oldest, position()?.entry ?? oldest);
    dropWhile(() => first < oldest && lines - entries.get(first)!.lines > streamLimits.historyLines);
    batches.clear();
  };
  const pumpAll = (): void => {
    for (const { pump } of subscriptions) pump();
  };
  const flush = (): void => {
    flushTimer = undefined;
    flushedAt = performance.now();
    pumpAll();
    trim();
  };
  const collect = (from: number, until: number, isWanted: (entry: Entry) => boolean): Batch => {
    const frames: Buffer[] = [];
    let at = from;
    for (let size = 0; at < until && size < batchBytes; at += 1) {
      const entry = entries.get(at)!;
      if (!isWanted(entry)) continue;
      frames.push(entry.frame);
      size += entry.frame.length;
    }
    return { frames: Buffer.concat(frames), next: cursorAt(at) };
  };
  /** The frames that replace the entries dropped after a cursor. */
  const toLost = (from: Cursor, linesUntil: number): Buffer[] => {
    const lost: Buffer[] = [];
    const count = cursorAt(Math.max(from.entry, first)).lines - from.lines;
    const what = count === 1 ? 'line was' : 'lines were';
    if (count > 0) lost.push(toFrame('gap', `${count} ${what} dropped: read too slowly`));
    if (lostStatus && lostStatus.entry >= Math.max(from.entry, linesUntil)) lost.push(lostStatus.frame);
    return lost;
  };
  /** Reads what follows a cursor, after a notice of dropped entries; before the entry `linesUntil` only lines. */
  const read = (from: Cursor, linesUntil: number): Batch | undefined => {
    const start = Math.max(from.entry, first);
    const lost = toLost(from, linesUntil);
    // The history was dropped: the notice of it comes before what is new.
    if (from.entry < linesUntil && start >= linesUntil) return { frames: Buffer.concat(lost), next: cursorAt(start) };
    if (start === next) return undefined;
    let batch = start < linesUntil ? collect(start, linesUntil, isLine) : batches.get(start);
    if (!batch) batches.set(start, (batch = collect(start, next, () => true)));
    return lost.length === 0 ? batch : { ...batch, frames: Buffer.concat([...lost, batch.frames]) };
  };
  const historyStart = (): number => {
    const from = Math.max(lines - streamLimits.historyLines, historyFrom);
    let at = next;
    while (at > first && entries.get(at - 1)!.lines >= from) at -= 1;
    return at;
  };

  return {
    append(event: Entry['event'], text: string): void {
      batches.clear();
      const frame = toFrame(event, text.slice(0, maxLineLength));
      const entry = { event, frame, lines };
      entries.set(next, entry);
      next += 1;
      lines += Number(isLine(entry));
      bytes += frame.length;
      dropWhile(() => bytes > maxBytes);
      flushTimer ??= setTimeout(flush, Math.max(0, flushedAt + flushMs - performance.now())).unref();
    },
    /** The last 150 lines. */
    history: (): string[] => {
      const found = [...entries.values()].slice(historyStart() - first);
      return found.filter(isLine).map(({ frame }) => toText(frame));
    },
    /** Excludes all current lines from the history. */
    restartHistory: () => void (historyFrom = lines),
    /** Adds a viewer, which gets no output before the next `start`. */
    subscribe(sink: FrameSink) {
      let cursor: Cursor | undefined;
      let greeting: readonly Buffer[] = [];
      let wantsHistory = false;
      /** The history that is being sent: before the first entry only its lines, `logs end` at the second one. */
      let history: { readonly linesUntil: number; readonly end: number } | undefined;

      const sendBatch = (from: Cursor): boolean => {
        if (wantsHistory && !history) {
          // The lines that the upstream has buffered are still arriving. They are the answer, and are sent only once.
          if (!isLoaded) return false;
          wantsHistory = false;
          history = { linesUntil: from.entry, end: next };
          const start = historyStart();
          if (start < from.entry) cursor = cursorAt(start);
          return true;
        }
        if (history && from.entry >= history.end) {
          history = undefined;
          sink.send(toFrame('logs end'));
          return true;
        }
        const batch = read(from, history?.linesUntil ?? 0);
        if (!batch) return false;
        cursor = batch.next;
        if (batch.frames.length > 0) sink.send(batch.frames);
        return true;
      };
      const pump = (): void => {
        if (!cursor || !sink.isReady()) return;
        if (greeting.length > 0) sink.send(Buffer.concat(greeting));
        greeting = [];
        let isMore = true;
        while (isMore && sink.isReady()) isMore = sendBatch(cursor);
      };
      const begin = (frames: readonly Buffer[]): void => {
        if (cursor) return;
        cursor = cursorAt(next);
        greeting = frames;
        pump();
      };
      const subscription = { start: begin, pump, position: () => cursor };
      subscriptions.add(subscription);
      return {
        pump,
        /** Sends the history in its order with pending output, and then `logs end`. */
        sendHistory(): void {
          wantsHistory = true;
          pump();
        },
        leave(): void {
          subscriptions.delete(subscription);
          trim();
        },
      };
    },
    /** Sends a greeting to waiting viewers, and then the output from now on. */
    start(greeting: readonly Buffer[]): void {
      for (const subscription of subscriptions) subscription.start(greeting);
    },
    /** Answers requests for history from now on; before, the lines that the upstream has buffered are incomplete. */
    admitHistory: (): void => {
      if (isLoaded) return;
      isLoaded = true;
      pumpAll();
    },
    close: () => clearTimeout(flushTimer),
  };
}
