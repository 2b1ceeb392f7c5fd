import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ServerName } from '#contract/api-keys.ts';
import { streamLimits, unknownStats } from '#contract/console-stream.ts';
import type { ConsoleStats } from '#contract/console-stream.ts';
import type { ServerRecord } from '../../store/types.ts';
import type { ConsoleEvents, ConsoleSource, GameProvider, GameState } from '../providers/types.ts';
import { createOutput, toMessage } from './output.ts';
import type { FrameSink } from './output.ts';

/** Cancels a timer. */
export type Cancel = () => void;

/** The time and timers, which tests replace. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Calls a function once after some milliseconds. */
  after(ms: number, run: () => void): Cancel;
}

/** The clock of this machine. Its timers do not keep the process alive. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms).unref();
    return () => clearTimeout(timer);
  },
};

/** The console of one server: one upstream shared by all viewers. */
export type Channel = ReturnType<typeof createChannel>;

/** The part of one viewer in a console. */
export type Viewing = ReturnType<Channel['join']>;

/** Dependencies of a channel. */
interface ChannelOptions {
  /** Opens the upstream; `isResumed` if the lines that it has buffered are not wanted again. */
  readonly open: (events: ConsoleEvents, isResumed: boolean) => Promise<ConsoleSource>;
  /** Reports why the upstream cannot be opened, and returns a text for clients. */
  readonly describe: (error: unknown) => string;
  readonly clock: Clock;
  readonly random: () => number;
  /** Called when the channel is closed, also after a time without viewers. */
  readonly closed: () => void;
  /** The wait before the next attempt doubles from the first to the maximum; default 1 and 60 s. */
  readonly backoff?: { readonly firstMs: number; readonly maxMs: number };
}

/** How long the upstream stays open without viewers, so that a reloaded page finds it open. */
const lingerMs = 30_000;

/** How long a request for history waits for the buffered lines of the upstream. */
const loadMs = 5000;

/** The wait after the upstream has refused a console. */
const refusedMs = 60_000;

/**
 * Creates the channel of a server. It alone opens the upstream again, with back-off and while there are viewers, and
 * says where lines may be missing.
 */
export function createChannel(options: ChannelOptions) {
  const { open, describe, clock, random, closed, backoff = { firstMs: 1000, maxMs: 60_000 } } = options;
  const output = createOutput();
  const timers = new Map<string, Cancel>();
  /** Called when an upstream is open, or cannot be opened. */
  const waiting: (() => void)[] = [];
  let phase: 'idle' | 'opening' | 'open' | 'backoff' | 'closed' = 'idle';
  let source: ConsoleSource | undefined;
  /** Events of earlier connections are ignored. */
  let connection = 0;
  let viewers = 0;
  /** Failed connections in a row. */
  let failures = 0;
  let status: GameState | undefined;
  /** Why there is no console, until it sends output again. */
  let lastError: string | undefined;
  /** Whether viewers know that lines may be missing, and no output came since. */
  let isGapReported = false;
  /** Whether the buffered lines of the upstream came: they cannot be distinguished from new ones. */
  let hasLines = false;
  let lastStats:
    | { readonly from: ConsoleSource; readonly at: number; readonly stats: Promise<ConsoleStats> }
    | undefined;

  const wait = (timer: 'retry' | 'linger' | 'load', ms: number, run: () => void): void => {
    timers.get(timer)?.();
    timers.set(timer, clock.after(ms, run));
  };
  /** Starts the output of viewers that wait for it. */
  const admit = (): void => {
    output.start([
      ...(status === undefined ? [] : [toMessage('status', status)]),
      ...(lastError === undefined ? [] : [toMessage('daemon error', lastError)]),
    ]);
    for (const wake of waiting.splice(0)) wake();
  };

  const connect = async (): Promise<void> => {
    const mine = connection;
    phase = 'opening';
    try {
      const opened = await open(toEvents(mine), hasLines);
      // Sources emit buffered lines in the next turn of the event loop at the earliest.
      if (mine === connection) await nextTurn();
      if (mine !== connection) {
        opened.close();
        return;
      }
      source = opened;
    } catch (error) {
      if (mine !== connection) return;
      reportError(describe(error));
      disconnect(toPause());
      return;
    }
    phase = 'open';
    admit();
    wait('load', loadMs, output.admitHistory);
  };
  const disconnect = (retryMs: number): void => {
    connection += 1;
    phase = 'backoff';
    source = undefined;
    admit();
    output.admitHistory();
    wait('retry', retryMs, () => {
      phase = 'idle';
      if (viewers > 0) void connect();
    });
  };
  /** Half of the wait is jitter, so that the consoles of a recovered panel do not all reconnect at once. */
  const toPause = (): number => {
    const ms = Math.min(backoff.maxMs, backoff.firstMs * 2 ** failures);
    failures += 1;
    return ms * (0.5 + random() / 2);
  };
  const reportError = (reason: string): void => {
    if (reason !== lastError) output.append('daemon error', reason);
    lastError = reason;
  };
  const reportGap = (reason: string): void => {
    output.append('gap', reason);
    isGapReported = true;
  };
  const onOutput = (): void => {
    if (lastError !== undefined) {
      lastError = undefined;
      // The upstream repeats its buffered lines.
      if (!hasLines) output.restartHistory();
      output.append('gap', 'The console was opened again: lines may be missing here');
    }
    failures = 0;
    isGapReported = false;
    hasLines = true;
  };
  const toEvents = (mine: number): ConsoleEvents => {
    const ifCurrent =
      <Args extends readonly unknown[]>(run: (...args: Args) => void) =>
      (...args: Args): void => {
        if (mine === connection) run(...args);
      };
    return {
      line: ifCurrent((text: string) => {
        onOutput();
        output.append('console output', text);
      }),
      status: ifCurrent((next: GameState) => {
        onOutput();
        if (next !== status) output.append('status', next);
        status = next;
      }),
      loaded: ifCurrent(output.admitHistory),
      gap: ifCurrent((reason: string) => {
        reportGap(reason);
        output.admitHistory();
      }),
      error: ifCurrent((reason: string) => output.append('daemon error', reason)),
      ended: ifCurrent((reason: string, retryAfterMs?: number) => {
        if (retryAfterMs === undefined) {
          hasLines = false;
          reportError(reason);
          disconnect(refusedMs);
        } else {
          // At once, since viewers cannot distinguish a loss from silence.
          if (!isGapReported) reportGap(reason);
          disconnect(Math.max(toPause(), retryAfterMs));
        }
      }),
    };
  };
  const close = (): void => {
    phase = 'closed';
    connection += 1;
    source?.close();
    source = undefined;
    for (const cancel of timers.values()) cancel();
    output.close();
    closed();
  };

  return {
    join(sink: FrameSink) {
      const subscription = output.subscribe(sink);
      viewers += 1;
      if (phase === 'idle') void connect();
      else if (phase !== 'opening') admit();
      return {
        ...subscription,
        /** What the server uses now; viewers share a read for two seconds. It waits for an upstream that is being opened. */
        async stats(): Promise<ConsoleStats> {
          if (phase === 'opening') await new Promise<void>((wake) => waiting.push(wake));
          if (!source) return unknownStats;
          const isFresh = lastStats?.from === source && clock.now() - lastStats.at < streamLimits.statsSeconds * 1000;
          if (!lastStats || !isFresh) lastStats = { from: source, at: clock.now(), stats: source.stats() };
          return await lastStats.stats;
        },
        leave(): void {
          subscription.leave();
          viewers -= 1;
          if (viewers === 0) wait('linger', lingerMs, () => viewers > 0 || close());
        },
      };
    },
    /** The last 150 lines. */
    history: output.history,
    /** Whether the upstream is open or being opened. */
    hasUpstream: (): boolean => phase === 'opening' || phase === 'open',
    close,
  };
}

/** How often the record of a followed server is checked. */
const recordCheckMs = 5000;

/**
 * Follows the console of a game server until its record changes: after a server was reassigned, its former customer must
 * not see the console.
 */
export async function openConsoleSource(
  servers: {
    find(kind: 'game', server: ServerName): Promise<{ readonly record: ServerRecord; readonly provider: GameProvider }>;
    isCurrent(record: ServerRecord): Promise<boolean>;
  },
  server: ServerName,
  events: ConsoleEvents,
  isResumed = false,
): Promise<ConsoleSource> {
  const { record, provider } = await servers.find('game', server);
  const check = async (): Promise<void> => {
    if (await servers.isCurrent(record)) return;
    source.close();
    end('the server has moved');
  };
  const timer = setInterval(() => void check(), recordCheckMs);
  const end: ConsoleEvents['ended'] = (reason, retryAfterMs) => {
    clearInterval(timer);
    events.ended(reason, retryAfterMs);
  };
  const source = provider.openConsole(record.ref, { ...events, ended: end }, isResumed);
  return {
    stats: () => source.stats(),
    close() {
      clearInterval(timer);
      source.close();
    },
  };
}
