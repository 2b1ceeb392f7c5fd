import { onTestFinished } from 'vitest';
import type { ConsoleSource, GameProvider } from '../../../server/hosting/providers/types.ts';
import { until } from '../../helpers/upstream.ts';

/** The recorded events of a console, in order. */
export interface ConsoleRecord {
  readonly events: readonly string[];
  readonly lines: readonly string[];
  readonly gaps: readonly string[];
  /** How often the buffered lines were complete. */
  readonly loads: number;
  readonly states: readonly string[];
  readonly ends: readonly string[];
  readonly source: ConsoleSource;
  /** Waits until the console reports a status, which means that it is followed. */
  ready(): Promise<void>;
  /** Waits for a line. */
  received(line: string): Promise<void>;
  /** Waits until the console ends, and returns the reason. */
  ended(): Promise<string>;
}

/** Records a console until the test ends. */
export function recordConsole(game: GameProvider, ref: string): ConsoleRecord {
  const events: string[] = [];
  let loads = 0;
  const of = (kind: string): string[] =>
    events.filter((item) => item.startsWith(`${kind}: `)).map((item) => item.slice(kind.length + 2));
  const source = game.openConsole(ref, {
    line: (text) => events.push(`line: ${text}`),
    status: (state) => events.push(`status: ${state}`),
    loaded: () => (loads += 1),
    gap: (reason) => events.push(`gap: ${reason}`),
    error: (reason) => events.push(`error: ${reason}`),
    ended: (reason) => events.push(`ended: ${reason}`),
  });
  onTestFinished(() => source.close());
  return {
    events,
    get lines() {
      return of('line');
    },
    get loads() {
      return loads;
    },
    get gaps() {
      return of('gap');
    },
    get states() {
      return of('status');
    },
    get ends() {
      return of('ended');
    },
    source,
    ready: () => until('the console reports its status', () => of('status').length > 0),
    received: (line) => until(`the line ${line} is received`, () => events.includes(`line: ${line}`)),
    async ended() {
      await until('the console has ended', () => of('ended').length > 0);
      return of('ended')[0]!;
    },
  };
}
