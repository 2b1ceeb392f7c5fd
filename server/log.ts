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
    timestamp: createTimestamp(),
    formatters: { level: (label: string) => ({ level: label }) },
  };
  if (format === 'json') return pino(options, destination ?? createStandardOutput());
  const pretty = require('pino-pretty') as typeof PinoPretty;
  const output = destination ?? pino.destination({ fd: 1, sync: true });
  return pino(options, pretty({ colorize: true, singleLine: true, translateTime: 'HH:MM:ss', destination: output }));
}

/** The time as ISO 8601, made once in a millisecond. */
function createTimestamp(): () => string {
  let last = 0;
  let text = '';
  return () => {
    const now = Date.now();
    if (now !== last) text = `,"time":"${new Date(now).toISOString()}"`;
    last = now;
    return text;
  };
}

/** Standard output, written to once in each turn of the event loop: a system call for each line costs as much as the line. */
function createStandardOutput(): DestinationStream {
  const output = pino.destination({ fd: 1, sync: true });
  let lines = '';
  const flush = (): void => {
    if (lines !== '') output.write(lines);
    lines = '';
  };
  process.on('exit', flush);
  return {
    write(line) {
      if (lines === '') setImmediate(flush);
      lines += line;
    },
  };
}
