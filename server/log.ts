import { randomUUID } from 'node:crypto';
import { constants, fstatSync, openSync } from 'node:fs';
import { pino } from 'pino';
import type { DestinationStream, Logger } from 'pino';
import sonicBoom from 'sonic-boom';
import { z } from 'zod';
import { createPaint, escapeLines } from '#common/terminal.ts';
import { oneOf } from './settings.ts';
import { withTimeout } from './timeout.ts';

export type { Logger } from 'pino';

/** The User-Agent of our requests to ourselves, logged as debug; random, as others must not hide from the log. */
export const ownAgent = `hosting-api ${randomUUID()}`;

/** Redacts the secrets of API keys and operator tokens, which people put into paths, options and labels. */
export const redactKeys = (text: string): string => text.replaceAll(/(h[ko]_[A-Za-z0-9]{12})_[A-Za-z0-9]+/g, '$1_***');

/** The settings of the log. */
export const LogSettings = z.object({
  LOG_LEVEL: oneOf('trace', 'debug', 'info', 'warn', 'error', 'silent')
    .default('info')
    .describe('`trace`, `debug`, `info`, `warn`, `error` or `silent`; `info` logs each request.'),
  LOG_FORMAT: oneOf('pretty', 'json')
    .optional()
    .describe('`pretty` or `json`; the default is `pretty` on a terminal, else `json`.'),
});

interface LogOptions {
  readonly level: string;
  readonly destination: DestinationStream;
  /** Formats a line of JSON; the default keeps JSON. Escapes control characters in foreign text. */
  readonly format?: ((line: string) => string) | undefined;
}

/** Creates the log. */
export function createLog({ level, destination, format = escapeLines }: LogOptions): Logger {
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  // pino escapes only as JSON requires; terminals also act on C1 control characters, such as an 8-bit CSI.
  return pino(options, { write: (line) => destination.write(format(line)) });
}

/** Formats a value; texts keep the escapes of JSON. */
const show = (value: unknown): string => escapeLines(JSON.stringify(value ?? null)).replace(/^"(.*)"$/, '$1');

/** Creates the format of a terminal: a line for each entry, and the stack of its error below. */
export function createPrettyFormat(): (line: string) => string {
  const paint = createPaint(1);
  return (line) => {
    const { level, time, msg, err, ...fields } = JSON.parse(line) as Readonly<Record<string, unknown>>;
    const { id, ip, agent, method, url, status, ms, ...others } = fields;
    const isRequest = method !== undefined && status !== undefined;
    const isRefused = isRequest && Number(status) >= 400;
    const text = isRequest ? [method, url, status, ms, 'ms'].map(show).join(' ') : show(msg);
    const shown = isRequest ? { ...others, ...(isRefused && { id, ip, agent }) } : fields;
    const rest = Object.entries(shown).map(([name, value]) => ` ${name}=${show(value)}`);
    const colour = level === 'error' ? 'red' : level === 'warn' || isRefused ? 'yellow' : 'none';
    const title = paint(colour, level === 'info' ? text : `${show(level)}: ${text}`);
    const { stack } = (err ?? {}) as { readonly stack?: unknown };
    const lines = [`${show(time).slice(11, 19)} ${title}${paint('dim', rest.join(''))}`];
    if (err !== undefined) lines.push(...show(stack || err).split(String.raw`\n`));
    return `${lines.join('\n    ')}\n`;
  };
}

/** How long the exit waits for the reader. */
const flushMs = 1000;
/** The minimum time between reports of dropped texts while the queue is not empty. */
const reportMs = 1000;

/** The maximum number of texts that are written together. */
const maxBatch = 100;

/** The pause after a refused write; doubles up to the maximum. */
const minPauseMs = 1;
const maxPauseMs = 50;

/**
 * Opens standard output or error without blocking: a thread that waits for a reader would delay the exit. Retries refused
 * writes; `onDropped` gets the number of dropped texts. `pino.destination` would write in a loop at the exit, endlessly on
 * a full disk.
 */
export function openOutput(standard: 1 | 2, onDropped?: (count: number) => void) {
  const stream = new sonicBoom.SonicBoom({
    fd: openNonBlocking(standard),
    // About 4,000 lines.
    maxLength: 1024 * 1024,
    maxWrite: 64 * 1024,
    // We retry ourselves: the pause of sonic-boom is 100 ms, which limits the log to 640 kB/s.
    retryEAGAIN: () => false,
  });
  /** The texts of one turn of the event loop; they are written together, because each write wakes a thread. */
  let batch: string[] = [];
  const send = (): void => {
    if (batch.length > 0) stream.write(batch.join(''));
    batch = [];
  };
  let dropped = 0;
  let reported = 0;
  let reportedAt = -Infinity;
  let pauseMs = minPauseMs;
  let retry: NodeJS.Timeout | undefined;

  /** Reports dropped texts after a write, at most once per {@link reportMs}. */
  const report = (): void => {
    if (dropped === reported || performance.now() < reportedAt + reportMs) return;
    send();
    const before = dropped;
    onDropped?.(before - reported);
    send();
    // Do not count the report itself, which may be dropped.
    if (dropped > before) {
      dropped = before;
      return;
    }
    reported = before;
    reportedAt = performance.now();
  };
  stream.on('drop', () => (dropped += batch.length));
  stream.on('error', () => {
    retry ??= setTimeout(() => {
      retry = undefined;
      stream.write('');
    }, pauseMs);
    pauseMs = Math.min(2 * pauseMs, maxPauseMs);
  });
  stream.on('write', () => {
    pauseMs = minPauseMs;
    // The queue shrinks only after this event.
    queueMicrotask(report);
  });
  stream.on('drain', () => {
    reportedAt = -Infinity;
    report();
  });
  return {
    write(text: string): void {
      if (batch.push(text) === 1) setImmediate(send);
      else if (batch.length === maxBatch) send();
    },
    dropped: () => dropped,
    /** Waits at most {@link flushMs} until the queue is written. */
    async flush(): Promise<void> {
      send();
      const drained = new Promise<void>((resolve) => void stream.once('drain', resolve));
      // An empty queue emits `drain` only after a write.
      stream.write('');
      await withTimeout(drained, flushMs, () => undefined);
    },
  };
}

/**
 * Opens a pipe or terminal again: O_NONBLOCK on the inherited descriptor would affect other processes that share it. A
 * file never blocks, and its inherited descriptor shares a position with other writers.
 */
function openNonBlocking(standard: 1 | 2): number {
  if (fstatSync(standard).isFile()) return standard;
  try {
    return openSync(`/dev/fd/${standard}`, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    // Sockets, and pipes of other users, cannot be opened again. The stream of Node.js makes them non-blocking.
    void (standard === 1 ? process.stdout : process.stderr);
    return standard;
  }
}
