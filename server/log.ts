import { createRequire } from 'node:module';
import { pino } from 'pino';
import type { DestinationStream, Logger } from 'pino';
import type PinoPretty from 'pino-pretty';

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

/** Creates the log. Text from clients cannot break a line: both formats write it as JSON. */
export function createLog({ level, format, destination }: LogOptions): Logger {
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  if (format === 'json') return pino(options, destination);
  const { prettyFactory } = require('pino-pretty') as typeof PinoPretty;
  // Not as a stream: that would queue lines without a limit while the destination is not read.
  const prettify = prettyFactory({ colorize: true, singleLine: true, translateTime: 'HH:MM:ss' });
  return pino(options, { write: (line) => destination.write(prettify(line)) });
}
