import { setImmediate as nextTurn } from 'node:timers/promises';
import { streamLimits, unknownStats } from '#contract/console-stream.ts';
import type { ConsoleStats } from '#contract/console-stream.ts';
import type { ConsoleEvents, ConsoleSource, GameState } from '../providers/types.ts';
import { createOutput, toFrame } from './output.ts';
import type { FrameSink } from './output.ts';

/** The console of one server: one upstream for all its viewers. */
export type Channel = ReturnType<typeof createChannel>;

/** Keeps the upstream open without viewers, for page reloads. */
const lingerMs = 30_000;
/** The maximum wait for the backlog of the upstream. */
const loadMs = 5000;
const refusedMs = 60_000;

/** Creates the channel of a server, which opens the upstream and reconnects. */
export function createChannel(options: {
  /** Opens the upstream; with `isResumed`, without its backlog. */
  readonly open: (events: ConsoleEvents, isResumed: boolean) => Promise<ConsoleSource>;
  /** Reports a failed opening, and returns a text for clients. */
  readonly describe: (error: unknown) => string;
  /** Called when the channel closes, by itself or by `close`. */
  readonly closed: () => void;
  /** The delay before a retry doubles from the first to the maximum; default 1 and 60 s. */
  readonly backoff?: { readonly firstMs: number; readonly maxMs: number };
}) {
  const { open, describe, closed, backoff = { firstMs: 1000, maxMs: 60_000 } } = options;
  const output = createOutput();
  const timers = new Map<string, NodeJS.Timeout>();
  let phase: 'idle' | 'opening' | 'open' | 'backoff' = 'idle';
  let source: ConsoleSource | undefined;
  let opening: Promise<void> | undefined;
  /** The current connection; events of earlier connections are ignored. */
  let connection = 0;
  let viewers = 0;
  let failures = 0;
  let status: GameState | undefined;
  /** Last error, cleared by the next output. */
  let lastError: string | undefined;
  /** The reasons of the gaps reported since the last output; the newest last. */
  const gaps = new Set<string>();
  /** The upstream has replayed its backlog; do not ask for it again, replayed lines look like new ones. */
  let hasBacklog = false;
  /** The last read of statistics from this connection. */
  let lastStats: { readonly at: number; readonly stats: Promise<ConsoleStats> } | undefined;

  const setTimer = (timer: 'retry' | 'linger' | 'load', ms: number, run: () => void): void => {
    clearTimeout(timers.get(timer));
    timers.set(timer, setTimeout(run, ms).unref());
  };
  const startViewers = (): void => {
    output.follow([
      ...(status === undefined ? [] : [toFrame('status', status)]),
      ...(lastError === undefined ? [] : [toFrame('daemon error', lastError)]),
      // Otherwise a lost connection looks like a quiet server to late viewers.
      ...[...gaps].slice(-1).map((reason) => toFrame('gap', reason)),
    ]);
  };
  const connect = async (): Promise<void> => {
    const mine = connection;
    phase = 'opening';
    try {
      const opened = await open(toEvents(mine), hasBacklog);
      // Sources emit their backlog in the next turn of the event loop at the earliest.
      if (mine === connection) await nextTurn();
      if (mine !== connection) return opened.close();
      source = opened;
    } catch (error) {
      if (mine !== connection) return;
      reportError(describe(error));
      return disconnect(toDelay());
    }
    phase = 'open';
    startViewers();
    setTimer('load', loadMs, output.completeHistory);
  };
  const disconnect = (retryMs: number): void => {
    connection += 1;
    phase = 'backoff';
    source = lastStats = undefined;
    startViewers();
    output.completeHistory();
    setTimer('retry', retryMs, () => {
      phase = 'idle';
      if (viewers > 0) opening = connect();
    });
  };
  /** Computes the next delay, with jitter: the consoles of a recovered panel must not reconnect together. */
  const toDelay = (maxMs?: number): number => {
    const ms = Math.min(maxMs ?? backoff.maxMs, backoff.firstMs * 2 ** failures);
    failures += 1;
    return maxMs === undefined ? ms * (0.5 + Math.random() / 2) : ms * (0.8 + Math.random() * 0.4);
  };
  const reportError = (reason: string): void => {
    if (reason !== lastError) output.append('daemon error', reason);
    lastError = reason;
  };
  /** Reports a gap, or another reason for it; each once until the next output. */
  const reportGap = (reason: string): void => {
    if (!gaps.has(reason)) output.append('gap', reason);
    gaps.delete(reason);
    gaps.add(reason);
  };
  const onOutput = (): void => {
    if (lastError !== undefined) {
      lastError = undefined;
      // The upstream replays these lines.
      if (!hasBacklog) output.clearHistory();
      output.append('gap', 'The console was opened again: lines may be missing here');
    }
    failures = 0;
    gaps.clear();
    hasBacklog = true;
  };
  const onEnded = (reason: string, retryAfterMs?: number, maxRetryMs?: number): void => {
    if (retryAfterMs === undefined) {
      hasBacklog = false;
      reportError(reason);
      disconnect(refusedMs);
    } else {
      // Report immediately; otherwise a dropped connection looks like a quiet server.
      reportGap(reason);
      disconnect(Math.max(toDelay(maxRetryMs), retryAfterMs));
    }
  };
  const toEvents = (mine: number): ConsoleEvents => {
    const ifCurrent =
      <Args extends readonly unknown[]>(handle: (...args: Args) => void) =>
      (...args: Args): void => {
        if (mine === connection) handle(...args);
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
      loaded: ifCurrent(output.completeHistory),
      gap: ifCurrent((reason: string) => {
        reportGap(reason);
        output.completeHistory();
      }),
      error: ifCurrent((reason: string) => output.append('daemon error', reason)),
      ended: ifCurrent(onEnded),
    };
  };
  const close = (): void => {
    connection += 1;
    source?.close();
    for (const timer of timers.values()) clearTimeout(timer);
    output.close();
    closed();
  };

  return {
    join(sink: FrameSink) {
      const viewer = output.addViewer(sink);
      viewers += 1;
      if (phase === 'idle') opening = connect();
      else if (phase !== 'opening') startViewers();
      return {
        pump: viewer.pump,
        sendHistory: viewer.sendHistory,
        /** Reads the statistics, shared for 2 s. Waits while the upstream is being opened. */
        async stats(): Promise<ConsoleStats> {
          await opening;
          if (!source) return unknownStats;
          const now = performance.now();
          if (!lastStats || now - lastStats.at >= streamLimits.statsSeconds * 1000) {
            lastStats = { at: now, stats: source.stats() };
          }
          return await lastStats.stats;
        },
        leave(): void {
          viewer.leave();
          viewers -= 1;
          if (viewers > 0) return;
          setTimer('linger', lingerMs, () => {
            if (viewers === 0) close();
          });
        },
      };
    },
    /** Lists the last 150 lines. */
    history: output.history,
    hasUpstream: (): boolean => phase === 'opening' || phase === 'open',
    close,
  };
}
