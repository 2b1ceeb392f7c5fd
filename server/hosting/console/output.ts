import { streamLimits } from '#contract/console-stream.ts';
import type { ArgumentsOf, ServiceEvent } from '#contract/console-stream.ts';

/** The destination of a viewer's frames. */
export interface FrameSink {
  readonly isReady: () => boolean;
  readonly send: (frames: Buffer) => void;
}

/** Encoded messages, in one buffer for the queues of all viewers. */
interface Chunk {
  readonly frames: Buffer;
  readonly lines: number;
  /** Messages to send even if the chunk is dropped; of several, the last. */
  readonly kept: { readonly status?: Buffer; readonly logsEnd?: Buffer };
}

/** The limit of a viewer's queue, and of the history. */
const maxBytes = 1024 * 1024;
/** The size of one write, about the high-water mark of a socket. */
const writeBytes = 64 * 1024;
/** Panels truncate lines at the same length. A line is at most 384 KiB as JSON, less than a queue holds. */
const maxLineLength = 64 * 1024;
/** Lines within this time share one write: at most 60 writes a second. */
const flushMs = 16;

/** Encodes a message of the stream as a websocket text frame (RFC 6455 5.2). */
export function toFrame<Name extends ServiceEvent>(event: Name, ...args: ArgumentsOf<Name>): Buffer {
  // Servers do not mask frames, so all viewers share a buffer, and one write sends many frames. With a `send` of ws for
  // each line and viewer, 50 viewers of 20,000 lines a second took 35 times the CPU.
  const text = Buffer.from(JSON.stringify({ event, args }));
  const size = Buffer.alloc(8);
  size.writeUInt32BE(text.length, 4);
  const header =
    text.length < 126 ? size.subarray(7) : text.length < 65_536 ? [126, ...size.subarray(6)] : [127, ...size];
  return Buffer.concat([Uint8Array.of(0x81, ...header), text]);
}

/** Creates the output of a console: its history, and a bounded queue for each viewer. */
export function createOutput() {
  const viewers = new Set<Viewer>();
  const history: { readonly text: string; readonly frame: Buffer }[] = [];
  let historyBytes = 0;
  /** False while the upstream replays its backlog. */
  let isHistoryComplete = false;
  /** Messages since the last chunk. */
  let recent = emptyBatch();
  let flushTimer: NodeJS.Timeout | undefined;
  let flushedAt = 0;

  const remember = (text: string, frame: Buffer): void => {
    history.push({ text, frame });
    historyBytes += frame.length;
    while (history.length > streamLimits.historyLines || historyBytes > maxBytes) {
      historyBytes -= history.shift()!.frame.length;
    }
  };
  const queueRecent = (): void => {
    const { frames, lines, kept } = recent;
    if (frames.length === 0) return;
    recent = emptyBatch();
    const chunk = { frames: Buffer.concat(frames), lines, kept };
    for (const viewer of viewers) viewer.push(chunk);
  };
  const pumpAll = (): void => {
    for (const viewer of viewers) viewer.pump();
  };
  const flush = (): void => {
    flushTimer = undefined;
    flushedAt = performance.now();
    queueRecent();
    pumpAll();
  };
  const readHistory = (): Buffer[] | undefined => {
    if (!isHistoryComplete) return undefined;
    queueRecent();
    return history.map(({ frame }) => frame);
  };

  return {
    append(event: 'console output' | 'status' | 'gap' | 'daemon error', text: string): void {
      const line = text.slice(0, maxLineLength);
      const frame = toFrame(event, line);
      recent.frames.push(frame);
      recent.bytes += frame.length;
      if (event === 'console output') {
        recent.lines += 1;
        remember(line, frame);
      } else if (event === 'status') recent.kept = { status: frame };
      if (recent.bytes >= writeBytes) queueRecent();
      flushTimer ??= setTimeout(flush, Math.max(0, flushedAt + flushMs - performance.now())).unref();
    },
    /** Lists the last 150 lines, at most 1 MiB. */
    history: (): string[] => history.map(({ text }) => text),
    clearHistory(): void {
      history.length = historyBytes = 0;
    },
    /** Ends the wait for the backlog, so requests for the history are answered. */
    completeHistory: (): void => {
      if (isHistoryComplete) return;
      isHistoryComplete = true;
      pumpAll();
    },
    addViewer(sink: FrameSink): Viewer {
      const viewer = createViewer(sink, readHistory);
      viewers.add(viewer);
      return viewer;
    },
    removeViewer: (viewer: Viewer): unknown => viewers.delete(viewer),
    /** Sends waiting viewers a greeting, then all further output. */
    follow(greeting: readonly Buffer[]): void {
      queueRecent();
      for (const viewer of viewers) viewer.follow(greeting);
    },
    close: () => clearTimeout(flushTimer),
  };
}

const emptyBatch = () => ({ frames: [] as Buffer[], bytes: 0, lines: 0, kept: {} as Chunk['kept'] });

const logsEnd = toFrame('logs end');
const endOfHistory: Chunk = { frames: logsEnd, lines: 0, kept: { logsEnd } };

type Viewer = ReturnType<typeof createViewer>;

/** Creates the queue of a viewer. When full, a gap replaces its oldest chunks. */
function createViewer(sink: FrameSink, readHistory: () => readonly Buffer[] | undefined) {
  const queue: Chunk[] = [];
  let queuedBytes = 0;
  let dropped: Omit<Chunk, 'frames'> | undefined;
  let isFollowing = false;
  let greeting: Buffer[] = [];
  let wantsHistory = false;

  const take = (): Chunk | undefined => {
    const chunk = queue.shift();
    queuedBytes -= chunk?.frames.length ?? 0;
    return chunk;
  };
  const isFull = (): boolean => queuedBytes > maxBytes;
  const dropOldest = (): void => {
    while (isFull()) {
      const { lines, kept } = take()!;
      dropped = { lines: (dropped?.lines ?? 0) + lines, kept: { ...dropped?.kept, ...kept } };
    }
  };
  /** Queues the part of the history that precedes the unsent lines. */
  const queueHistory = (history: readonly Buffer[]): void => {
    const unsent = queue.reduce((sum, { lines }) => sum + lines, dropped?.lines ?? 0);
    const sent = history.slice(0, Math.max(0, history.length - unsent));
    queue.unshift(...sent.map((frames) => ({ frames, lines: 1, kept: {} })));
    queue.push(endOfHistory);
    queuedBytes = queue.reduce((sum, { frames }) => sum + frames.length, 0);
    dropOldest();
  };
  const takeGap = ({ lines, kept }: NonNullable<typeof dropped>): Buffer => {
    dropped = undefined;
    const reason = `${lines} ${lines === 1 ? 'line was' : 'lines were'} dropped: read too slowly`;
    return Buffer.concat([...(lines > 0 ? [toFrame('gap', reason)] : []), ...Object.values(kept)]);
  };
  /** Takes the next frames to send; undefined if there are none yet. */
  const next = (): Buffer | undefined => {
    if (greeting.length > 0) return greeting.shift();
    if (wantsHistory && !queue.includes(endOfHistory)) {
      const history = readHistory();
      // The rest of the backlog belongs to the answer, so send nothing before.
      if (!history) return undefined;
      wantsHistory = false;
      queueHistory(history);
    }
    return dropped ? takeGap(dropped) : take()?.frames;
  };
  const takeBatch = (): Buffer[] => {
    const batch: Buffer[] = [];
    let bytes = 0;
    for (let frames = next(); frames; frames = bytes < writeBytes ? next() : undefined) {
      batch.push(frames);
      bytes += frames.length;
    }
    return batch;
  };
  /** Sends queued output while the sink is ready. */
  const pump = (): void => {
    if (!isFollowing) return;
    while (sink.isReady()) {
      const batch = takeBatch();
      if (batch.length === 0) return;
      sink.send(batch.length === 1 ? batch[0]! : Buffer.concat(batch));
    }
  };
  return {
    pump,
    push(chunk: Chunk): void {
      if (!isFollowing) return;
      queue.push(chunk);
      queuedBytes += chunk.frames.length;
      dropOldest();
    },
    follow(frames: readonly Buffer[]): void {
      if (isFollowing) return;
      isFollowing = true;
      greeting = [...frames];
      pump();
    },
    /** Sends the history and the unsent output in order, then `logs end`. */
    sendHistory: (): void => {
      wantsHistory = true;
      pump();
    },
  };
}
