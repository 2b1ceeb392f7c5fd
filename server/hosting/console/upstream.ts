import { setImmediate as breathe } from 'node:timers/promises';
import type { ConsoleEvents, ConsoleSource } from '../providers/types.ts';
import type { Cancel, Clock } from './clock.ts';

/** What a channel is told by its upstream. */
export interface UpstreamEvents extends Omit<Required<ConsoleEvents>, 'ended'> {
  /** There is no upstream now, and why; it is tried again while it is wanted. */
  failed(reason: string): void;
  /** It speaks again after it had failed. */
  restored(): void;
  /** It was opened, or could not be. */
  settled(): void;
}

/** The one connection to a server's console, opened again with backoff when it is lost. */
export interface Upstream {
  /** Opens it, or waits until it may be tried again. */
  want(): void;
  /** Does not try again; what is open stays open. */
  rest(): void;
  isOpening(): boolean;
  isOpen(): boolean;
  close(): void;
}

/** How an upstream is opened. */
export interface UpstreamOptions {
  readonly open: (events: ConsoleEvents) => Promise<ConsoleSource>;
  /** What clients are told of a rejection. */
  readonly describe: (error: unknown) => string;
  readonly clock: Clock;
  readonly random: () => number;
  readonly tell: UpstreamEvents;
}

/** The wait before the first new try doubles up to this; a source that says that it is over is tried after the longest. */
const retryMs = { first: 1000, longest: 60_000 };

/** Creates an upstream that is closed. */
export function createUpstream({ open, describe, clock, random, tell }: UpstreamOptions): Upstream {
  let source: ConsoleSource | undefined;
  let opening = false;
  /** Counts the tries: what an earlier one says is not heard any more. */
  let generation = 0;
  let failures = 0;
  let failing = false;
  let notBefore = 0;
  let wanted = false;
  let retry: Cancel | undefined;

  const want = (): void => {
    wanted = true;
    if (source || opening || retry) return;
    const wait = notBefore - clock.now();
    if (wait <= 0) {
      void connect();
      return;
    }
    retry = clock.after(wait, () => {
      retry = undefined;
      void connect();
    });
  };
  const fail = (reason: string, waitMs: number): void => {
    generation += 1;
    opening = false;
    source = undefined;
    failing = true;
    notBefore = clock.now() + waitMs;
    tell.failed(reason);
    tell.settled();
    if (wanted) want();
  };
  const speak = (): void => {
    failures = 0;
    if (!failing) return;
    failing = false;
    tell.restored();
  };
  const connect = async (): Promise<void> => {
    opening = true;
    generation += 1;
    const own = generation;
    const isCurrent = (): boolean => own === generation;
    const events: ConsoleEvents = {
      line(text) {
        if (!isCurrent()) return;
        speak();
        tell.line(text);
      },
      status(state) {
        if (!isCurrent()) return;
        speak();
        tell.status(state);
      },
      gap(reason) {
        if (isCurrent()) tell.gap(reason);
      },
      error(reason) {
        if (isCurrent()) tell.error(reason);
      },
      ended(reason) {
        if (isCurrent()) fail(reason, retryMs.longest);
      },
    };
    try {
      const opened = await open(events);
      // Sources that have lines at hand tell them in the next turn of the loop, at the earliest.
      await breathe();
      if (!isCurrent()) {
        opened.close();
        return;
      }
      source = opened;
      opening = false;
      tell.settled();
    } catch (error) {
      if (!isCurrent()) return;
      // Half of the wait is chance, so that the servers of a panel that was down do not all come back at once.
      const wait = Math.min(retryMs.longest, retryMs.first * 2 ** failures) * (0.5 + random() / 2);
      failures += 1;
      fail(describe(error), wait);
    }
  };
  const rest = (): void => {
    wanted = false;
    retry?.();
    retry = undefined;
  };

  return {
    want,
    rest,
    isOpening: () => opening,
    isOpen: () => source !== undefined,
    close() {
      rest();
      generation += 1;
      opening = false;
      source?.close();
      source = undefined;
    },
  };
}
