import { createBacklog } from './backlog.ts';
import type { Backlog, Cursor } from './backlog.ts';
import { toFrames } from './frame.ts';

/** Where a viewer's frames go. */
export interface FrameSink {
  /** Whether it may be sent output now. */
  readonly isReady: () => boolean;
  readonly send: (frames: Buffer) => void;
}

/** What one viewer gets of a console. */
export interface Subscription {
  /** Sends what the viewer has not been sent, as far as it takes it. */
  readonly pump: () => void;
  /** Sends the history, once the viewer has all that it was to be sent before. */
  readonly sendHistory: () => void;
  readonly leave: () => void;
}

/** What a console says, kept once and sent to all its viewers. */
export interface Output extends Pick<Backlog, 'append' | 'restartHistory' | 'history'> {
  /** Adds a viewer, who gets nothing before the next `start`. */
  subscribe(sink: FrameSink): Subscription;
  /** Lets the viewers who wait begin at the end of what there is, after a greeting. */
  start(greeting: readonly string[]): void;
  close(): void;
}

/** Lines that come within this time leave in one write: less than an eye sees, and at most 60 writes a second. */
const flushMs = 16;

/** Creates the output of a console that has said nothing. */
export function createOutput(): Output {
  const backlog = createBacklog();
  const subscriptions = new Set<ReturnType<typeof createSubscription>>();
  let flushTimer: NodeJS.Timeout | undefined;
  let flushedAt = 0;

  const trim = (): void => {
    let oldest = backlog.end();
    for (const { place } of subscriptions) {
      const cursor = place();
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
  let place: Cursor | undefined;
  let greeting: readonly string[] = [];
  let wantsHistory = false;
  /** The entry until which the viewer is being sent history. */
  let historyUntil = 0;

  const sendOutput = (): void => {
    let batch;
    while (sink.isReady() && (batch = backlog.read(place!, historyUntil))) {
      place = batch.next;
      if (batch.frames.length > 0) sink.send(batch.frames);
    }
  };
  const pump = (): void => {
    if (!place || !sink.isReady()) return;
    if (greeting.length > 0) sink.send(toFrames(greeting));
    greeting = [];
    sendOutput();
    if (!wantsHistory || !sink.isReady()) return;
    wantsHistory = false;
    historyUntil = backlog.end().entry;
    place = backlog.historyStart();
    sendOutput();
  };
  return {
    /** Does nothing the second time. */
    start(first: readonly string[]): void {
      if (place) return;
      place = backlog.end();
      greeting = first;
      pump();
    },
    place: () => place,
    pump,
    sendHistory(): void {
      wantsHistory = true;
      pump();
    },
  };
}
