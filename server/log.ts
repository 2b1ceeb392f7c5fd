import { createRequire } from 'node:module';
import { pino } from 'pino';
import type { DestinationStream, Logger } from 'pino';
import type PinoPretty from 'pino-pretty';

export type { Logger } from 'pino';

/** Loaded where people read the log: it takes its time. */
const require = createRequire(import.meta.url);

/** How the log is written. */
export interface LogOptions {
  readonly level: string;
  /** Lines for people, or one JSON object a line. */
  readonly format: 'pretty' | 'json';
  /** Where it goes; standard output if left out. */
  readonly destination?: DestinationStream;
}

/** Creates the log. What clients send stays inside one line: JSON escapes it, and the pretty format shows it as JSON. */
export function createLog({ level, format, destination }: LogOptions): Logger {
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  // Asynchronous: a line waits for the write before it, and no request waits for a line. The rest is written at exit.
  if (format === 'json') return pino(options, destination ?? pino.destination({ fd: 1, sync: false }));
  const pretty = require('pino-pretty') as typeof PinoPretty;
  const output = destination ?? pino.destination({ fd: 1, sync: true });
  return pino(options, pretty({ colorize: true, singleLine: true, translateTime: 'HH:MM:ss', destination: output }));
}
