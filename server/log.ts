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
  /** Default standard output. */
  readonly destination?: DestinationStream;
}

/** Creates the log. Text from clients cannot break a line: both formats write it as JSON. */
export function createLog({ level, format, destination }: LogOptions): Logger {
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  // Asynchronous, so that requests do not wait for log writes. Buffered lines are written at exit.
  if (format === 'json') return pino(options, destination ?? pino.destination({ fd: 1, sync: false }));
  const pretty = require('pino-pretty') as typeof PinoPretty;
  const output = destination ?? pino.destination({ fd: 1, sync: true });
  return pino(options, pretty({ colorize: true, singleLine: true, translateTime: 'HH:MM:ss', destination: output }));
}
