import { createRequire } from 'node:module';
import { pino } from 'pino';
import type { DestinationStream, Logger } from 'pino';
import type PinoPretty from 'pino-pretty';
import { escapeLines } from '#common/terminal.ts';

export type { Logger } from 'pino';

/** pino-pretty loads slowly, so it is loaded only for the pretty format. */
const require = createRequire(import.meta.url);

/** Options of the log. */
export interface LogOptions {
  readonly level: string;
  /** Lines for people, or one JSON object per line. */
  readonly format: 'pretty' | 'json';
  readonly destination: DestinationStream;
}

/** Creates the log. Text from outside cannot break a line or act on a terminal. */
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

/** Escapes control characters in JSON so that they stay escaped when it is parsed; messages and stacks are shown as text. */
function escapeTwice(json: string): string {
  return escapeLines(json).replaceAll(/\\(?:u[\da-f]{4}|.)/gi, (escape) =>
    /^\\[ubfr]/.test(escape) ? `\\${escape}` : escape,
  );
}
