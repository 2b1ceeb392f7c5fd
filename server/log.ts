import { constants, fstatSync, openSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pino } from 'pino';
import type { DestinationStream, Logger } from 'pino';
import type PinoPretty from 'pino-pretty';
import sonicBoom from 'sonic-boom';
import { z } from 'zod';
import { escapeLines } from '#common/terminal.ts';
import { oneOf } from './settings.ts';
import { withTimeout } from './timeout.ts';

export type { Logger } from 'pino';

/** pino-pretty loads slowly, so it is loaded only for the pretty format. */
const require = createRequire(import.meta.url);

/** The settings of the log. */
export const LogSettings = z.object({
  LOG_LEVEL: oneOf('trace', 'debug', 'info', 'warn', 'error', 'silent')
    .default('info')
    .describe('`trace`, `debug`, `info`, `warn`, `error` or `silent`; `info` is a line for each request.'),
  LOG_FORMAT: oneOf('pretty', 'json')
    .optional()
    .describe('`pretty` or `json`; the default is `pretty` on a terminal, else `json`.'),
});

interface LogOptions {
  readonly level: string;
  readonly format: 'pretty' | 'json';
  readonly destination: DestinationStream;
}

/** Creates the log: lines for people, or JSON. Text from outside cannot break a line or act on a terminal. */
export function createLog({ level, format, destination }: LogOptions): Logger {
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  // pino escapes only what JSON requires. Terminals also act on C1 control characters, such as CSI in 8 bits.
  if (format === 'json') return pino(options, { write: (line) => destination.write(escapeLines(line)) });
  const { prettyFactory } = require('pino-pretty') as typeof PinoPretty;
  // Not as a stream: that would queue lines without a limit while the destination is not read.
  const prettify = prettyFactory({ colorize: true, singleLine: true, translateTime: 'HH:MM:ss' });
  return pino(options, { write: (line) => destination.write(prettify(escapeTwice(line))) });
}

/** Escapes control characters so that they stay escaped when the JSON is parsed and shown as text. */
function escapeTwice(json: string): string {
  return escapeLines(json).replaceAll(/\\(?:u[\da-f]{4}|.)/gi, (escape) =>
    /^\\[ubfr]/.test(escape) ? `\\${escape}` : escape,
  );
}

/** How long the end of the process waits for the reader. */
const flushMs = 1000;
/** The minimum time between two reports of dropped texts while the queue is not empty. */
const reportMs = 1000;

/** The pause after a write that was not possible. It doubles up to the maximum. */
const minPauseMs = 1;
const maxPauseMs = 50;

/**
 * Opens the standard output or error of the process, without blocking: a thread that waits for a reader would keep the
 * process from ending. What cannot be written is tried again; `onDropped` gets how many texts were dropped. Not by
 * `pino.destination`: at an exit that writes in a loop, for ever if the disk is full.
 */
export function openOutput(standard: 1 | 2, onDropped?: (count: number) => void) {
  const stream = new sonicBoom.SonicBoom({
    fd: openNonBlocking(standard),
    // About 4,000 lines of the log wait for a reader.
    maxLength: 1024 * 1024,
    maxWrite: 64 * 1024,
    // Its own pause is 100 ms: that is 640 kB of log a second.
    retryEAGAIN: () => false,
  });
  let dropped = 0;
  let reported = 0;
  let reportedAt = -Infinity;
  let pauseMs = minPauseMs;
  let retry: NodeJS.Timeout | undefined;

  /** Reports once something is written again, but not for each write to a slow reader. */
  const report = (): void => {
    if (dropped === reported || performance.now() < reportedAt + reportMs) return;
    const before = dropped;
    onDropped?.(before - reported);
    // The report itself may have been dropped; it does not count.
    if (dropped > before) {
      dropped = before;
      return;
    }
    reported = before;
    reportedAt = performance.now();
  };
  stream.on('drop', () => (dropped += 1));
  stream.on('error', () => {
    retry ??= setTimeout(() => {
      retry = undefined;
      stream.write('');
    }, pauseMs);
    pauseMs = Math.min(2 * pauseMs, maxPauseMs);
  });
  stream.on('write', () => {
    pauseMs = minPauseMs;
    // The queue is shorter only after this event.
    queueMicrotask(report);
  });
  stream.on('drain', () => {
    reportedAt = -Infinity;
    report();
  });
  return {
    write: (text: string) => void stream.write(text),
    dropped: () => dropped,
    /** Resolves when the queue is written, or after {@link flushMs}. What is left is lost when the process ends. */
    async flush(): Promise<void> {
      const drained = new Promise<void>((resolve) => void stream.once('drain', resolve));
      // So that an empty queue drains too.
      stream.write('');
      await withTimeout(drained, flushMs, () => undefined);
    },
  };
}

/**
 * Opens a pipe or terminal once more: the flag of the inherited descriptor would also apply to other processes that
 * have it. A file has no reader to wait for; its inherited descriptor shares its position with others.
 */
function openNonBlocking(standard: 1 | 2): number {
  if (fstatSync(standard).isFile()) return standard;
  try {
    return openSync(`/dev/fd/${standard}`, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    // A socket, or a pipe of another user, cannot be opened again. The stream of Node.js makes it non-blocking.
    void (standard === 1 ? process.stdout : process.stderr);
    return standard;
  }
}
