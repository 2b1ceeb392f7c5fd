import { pino } from 'pino';
import type { DestinationStream, Logger } from 'pino';
import pretty from 'pino-pretty';

export type { Logger } from 'pino';

/** How the log is written. */
export interface LogOptions {
  readonly level: string;
  /** Lines for people, or one JSON object a line. */
  readonly format: 'pretty' | 'json';
  /** Where it goes; standard output if left out. */
  readonly destination?: DestinationStream;
}

/** Creates the log. What clients send stays inside one line: JSON escapes it, and the pretty format shows it as JSON. */
export function createLog({
  level,
  format,
  destination = pino.destination({ fd: 1, sync: true }),
}: LogOptions): Logger {
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  if (format === 'json') return pino(options, destination);
  return pino(options, pretty({ colorize: true, singleLine: true, translateTime: 'HH:MM:ss', destination }));
}
