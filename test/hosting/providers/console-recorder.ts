import { onTestFinished } from 'vitest';
import type { ConsoleSource, GameProvider } from '../../../server/hosting/providers/types.ts';
import { until } from '../../helpers/upstream.ts';

/** All that a console told, in its order. */
export interface ConsoleRecord {
  readonly told: readonly string[];
  readonly lines: readonly string[];
  readonly gaps: readonly string[];
  readonly states: readonly string[];
  readonly ends: readonly string[];
  readonly source: ConsoleSource;
  /** Waits until it tells anything, and so is being followed. */
  followed(): Promise<void>;
  /** Waits for a line. */
  heard(line: string): Promise<void>;
  /** Waits until the console is over, and answers why. */
  ended(): Promise<string>;
}

/** Follows a console until the test ends. */
export function recordConsole(game: GameProvider, ref: string): ConsoleRecord {
  const told: string[] = [];
  const of = (kind: string): string[] =>
    told.filter((item) => item.startsWith(`${kind}: `)).map((item) => item.slice(kind.length + 2));
  const source = game.openConsole(ref, {
    line: (text) => told.push(`line: ${text}`),
    status: (state) => told.push(`status: ${state}`),
    gap: (reason) => told.push(`gap: ${reason}`),
    error: (reason) => told.push(`error: ${reason}`),
    ended: (reason) => told.push(`ended: ${reason}`),
  });
  onTestFinished(() => source.close());
  return {
    told,
    get lines() {
      return of('line');
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
    followed: () => until('the console tells its state', () => of('status').length > 0),
    heard: (line) => until(`the line ${line} is heard`, () => told.includes(`line: ${line}`)),
    async ended() {
      await until('the console is over', () => of('ended').length > 0);
      return of('ended')[0]!;
    },
  };
}
