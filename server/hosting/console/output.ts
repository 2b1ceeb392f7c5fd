import { createBacklog } from './backlog.ts';
import type { Backlog, Cursor } from './backlog.ts';
import { toFrames } from './frame.ts';

/** The destination of a viewer's frames. */
export interface FrameSink {
  /** Whether it accepts output now. */
  readonly isReady: () => boolean;
  readonly send: (frames: Buffer) => void;
}

/** The subscription of one viewer to a console. */
export interface Subscription {
  /** Sends new output while the sink is ready. */
  readonly pump: () => void;
  /** Sends the history after all pending output. */
  readonly sendHistory: () => void;
  readonly leave: () => void;
}

/** The output of a console, buffered once and sent to all viewers. */
export interface Output extends Pick<Backlog, 'append' | 'restartHistory' | 'history'> {
  /** Adds a viewer, which gets no output before the next `start`. */
  subscribe(sink: FrameSink): Subscription;
  /** Sends a greeting to waiting viewers, and then the output from now on. */
  start(greeting: readonly string[]): void;
  close(): void;
}

/** Lines within this time are sent in one write, so there are at most 60 writes a second. */
const flushMs = 16;

/** Creates an empty output. */
export function createOutput(): Output {
  const backlog = createBacklog();
  const subscriptions = new Set<ReturnType<typeof createSubscription>>();
  let flushTimer: NodeJS.Timeout | undefined;
  let flushedAt = 0;

  const trim = (): void => {
    let oldest = backlog.end();
    for (const { position } of subscriptions) {
      const cursor = position();
      if (cursor && cursor.entry < oldest.entry) oldest = cursor;
    }
    backlog.trim(oldest);
  };
  const flush = (): void => {
    flushTimer = undefined;
    flushedAt = performance.now();
    for (const { pump } of subscriptions) pump();
    trim();
  };
  return {
    append(event, text) {
      backlog.append(event, text);
      flushTimer ??= setTimeout(flush, Math.max(0, flushedAt + flushMs - performance.now())).unref();
    },
    restartHistory: backlog.restartHistory,
    history: backlog.history,
    subscribe(sink) {
      const subscription = createSubscription(backlog, sink);
      subscriptions.add(subscription);
      const leave = (): void => {
        subscriptions.delete(subscription);
        trim();
      };
      return { ...subscription, leave };
    },
    start(greeting) {
      for (const subscription of subscriptions) subscription.start(greeting);
    },
    close: () => clearTimeout(flushTimer),
  };
}

function createSubscription(backlog: Backlog, sink: FrameSink) {
  let cursor: Cursor | undefined;
  let greeting: readonly string[] = [];
  let wantsHistory = false;
  /** The entry until which history is sent. */
  let historyUntil = 0;

  const sendOutput = (): void => {
    let batch;
    while (sink.isReady() && (batch = backlog.read(cursor!, historyUntil))) {
      cursor = batch.next;
      if (batch.frames.length > 0) sink.send(batch.frames);
    }
  };
  const pump = (): void => {
    if (!cursor || !sink.isReady()) return;
    if (greeting.length > 0) sink.send(toFrames(greeting));
    greeting = [];
    sendOutput();
    if (!wantsHistory || !sink.isReady()) return;
    wantsHistory = false;
    historyUntil = backlog.end().entry;
    cursor = backlog.historyStart();
    sendOutput();
  };
  return {
    /** Starts the output; later calls are ignored. */
    start(first: readonly string[]): void {
      if (cursor) return;
      cursor = backlog.end();
      greeting = first;
      pump();
    },
    position: () => cursor,
    pump,
    sendHistory(): void {
      wantsHistory = true;
      pump();
    },
  };
}
