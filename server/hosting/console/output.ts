import { streamLimits } from '#contract/console-stream.ts';
import type { ArgumentsOf, ServiceEvent } from '#contract/console-stream.ts';

/** The destination of a viewer's frames. */
export interface FrameSink {
  readonly isReady: () => boolean;
  readonly send: (frames: Buffer) => void;
}

/** A link in the chain of all output: encoded messages in one buffer for all viewers. */
interface Chunk {
  readonly frames: Buffer;
  /** The last status among the messages. */
  readonly status?: Buffer | undefined;
  /** The bytes and lines of the whole output, up to the end of this chunk. */
  readonly bytes: number;
  readonly lines: number;
  next?: Chunk;
}

/** The limit of the unsent output of a viewer, and of the history. */
const maxBytes = 1024 * 1024;
/** The size of one write, about the high-water mark of a socket. */
const writeBytes = 64 * 1024;
/** Panels truncate lines at the same length. A line is at most 384 KiB as JSON, less than this limit. */
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

const logsEnd = toFrame('logs end');

/** Creates the output of a console: its history, and a chain of chunks, through which each viewer moves alone. */
export function createOutput() {
  const viewers = new Set<Record<'pump' | 'skip', () => void> & { follow(greeting: readonly Buffer[]): void }>();
  const history: { readonly text: string; readonly frame: Buffer }[] = [];
  let historyBytes = 0;
  /** False while the upstream replays its backlog. */
  let isHistoryComplete = false;
  /** The last chunk. Earlier ones stay in memory only while a viewer has not sent them. */
  let newest: Chunk = { frames: Buffer.alloc(0), bytes: 0, lines: 0 };
  /** Messages since the last chunk, the last status among them, and the size of the whole output. */
  let recent: Buffer[] = [];
  let status: Buffer | undefined;
  let [bytes, lines] = [0, 0];
  let flushTimer: NodeJS.Timeout | undefined;
  let flushedAt = 0;

  const remember = (text: string, frame: Buffer): void => {
    history.push({ text, frame });
    historyBytes += frame.length;
    while (history.length > streamLimits.historyLines || historyBytes > maxBytes) {
      historyBytes -= history.shift()!.frame.length;
    }
  };
  const endChunk = (): void => {
    if (recent.length === 0) return;
    newest = newest.next = { frames: Buffer.concat(recent), status, bytes, lines };
    recent = [];
    status = undefined;
    for (const viewer of viewers) viewer.skip();
  };
  const pumpAll = (): void => {
    for (const viewer of viewers) viewer.pump();
  };
  const flush = (): void => {
    flushTimer = undefined;
    flushedAt = performance.now();
    endChunk();
    pumpAll();
  };

  return {
    append(event: 'console output' | 'status' | 'gap' | 'daemon error', text: string): void {
      const line = text.slice(0, maxLineLength);
      const frame = toFrame(event, line);
      recent.push(frame);
      bytes += frame.length;
      if (event === 'console output') {
        lines += 1;
        remember(line, frame);
      } else if (event === 'status') status = frame;
      if (bytes - newest.bytes >= writeBytes) endChunk();
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
    /** Sends waiting viewers a greeting, then all further output. */
    follow(greeting: readonly Buffer[]): void {
      endChunk();
      for (const viewer of viewers) viewer.follow(greeting);
    },
    /** Adds a viewer, who gets output from `follow` on. Beyond 1 MiB, a gap replaces the oldest unsent chunks. */
    addViewer(sink: FrameSink) {
      /** The last chunk that was sent or skipped, and the lines up to the last chunk that was sent. */
      let at = newest;
      let sentLines = 0;
      let skippedStatus: Buffer | undefined;
      let wantsHistory = false;
      let output: Iterator<Buffer | undefined> | undefined;

      /** Yields the frames to send; undefined while there are none. */
      function* read(greeting: readonly Buffer[]): Generator<Buffer | undefined, undefined> {
        yield* greeting;
        /** The size of the output at the request for the history. */
        let historyEnd: number | undefined;
        for (;;) {
          const skipped = at.lines - sentLines;
          if (wantsHistory && historyEnd === undefined) {
            // The rest of the backlog belongs to the answer, so send nothing before.
            if (!isHistoryComplete) {
              yield undefined;
              continue;
            }
            wantsHistory = false;
            endChunk();
            historyEnd = bytes;
            yield* history.slice(0, Math.max(0, history.length - (lines - sentLines))).map(({ frame }) => frame);
          } else if (skipped > 0 || skippedStatus) {
            const frames = skippedStatus ? [skippedStatus] : [];
            [sentLines, skippedStatus] = [at.lines, undefined];
            const reason = `${skipped} ${skipped === 1 ? 'line was' : 'lines were'} dropped: read too slowly`;
            if (skipped > 0) yield toFrame('gap', reason);
            yield* frames;
          } else if (historyEnd !== undefined && at.bytes >= historyEnd) {
            historyEnd = undefined;
            yield logsEnd;
          } else if (at.next) {
            at = at.next;
            sentLines = at.lines;
            yield at.frames;
          } else yield undefined;
        }
      }
      /** Sends output while the sink is ready. */
      const pump = (): void => {
        if (!output) return;
        while (sink.isReady()) {
          const batch: Buffer[] = [];
          for (let size = 0; size < writeBytes; size += batch.at(-1)!.length) {
            const frames = output.next().value;
            if (!frames) break;
            batch.push(frames);
          }
          if (batch.length === 0) return;
          sink.send(batch.length === 1 ? batch[0]! : Buffer.concat(batch));
        }
      };
      const viewer = {
        pump,
        skip(): void {
          for (; at.next && bytes - at.bytes > maxBytes; at = at.next) skippedStatus = at.next.status ?? skippedStatus;
        },
        follow(greeting: readonly Buffer[]): void {
          if (output) return;
          [at, sentLines, output] = [newest, lines, read(greeting)];
          pump();
        },
        /** Sends the history and the unsent output in order, then `logs end`. */
        sendHistory: (): void => {
          wantsHistory = true;
          pump();
        },
        leave: () => viewers.delete(viewer),
      };
      viewers.add(viewer);
      return viewer;
    },
    close: () => clearTimeout(flushTimer),
  };
}
