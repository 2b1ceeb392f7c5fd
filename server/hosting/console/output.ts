import { createBacklog } from './backlog.ts';
import type { Backlog, Cursor } from './backlog.ts';
import { toFrames, toMessage } from './frame.ts';

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
  /** Sends the history in its order with pending output, and then `logs end`. */
  readonly sendHistory: () => void;
  readonly leave: () => void;
}

/** The output of a console, buffered once and sent to all viewers. */
export interface Output extends Pick<Backlog, 'append' | 'restartHistory' | 'history'> {
  /** Adds a viewer, which gets no output before the next `start`. */
  subscribe(sink: FrameSink): Subscription;
  /** Sends a greeting to waiting viewers, and then the output from now on. */
  start(greeting: readonly string[]): void;
  /** Answers requests for history from now on; before, the lines that the upstream has buffered are incomplete. */
  admitHistory(): void;
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
  let isLoaded = false;

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
      const subscription = createSubscription(backlog, sink, () => isLoaded);
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
    admitHistory() {
      if (isLoaded) return;
      isLoaded = true;
      for (const { pump } of subscriptions) pump();
    },
    close: () => clearTimeout(flushTimer),
  };
}

function createSubscription(backlog: Backlog, sink: FrameSink, isLoaded: () => boolean) {
  let cursor: Cursor | undefined;
  let greeting: readonly string[] = [];
  let wantsHistory = false;
  /** The history that is being sent: before the first entry only its lines, `logs end` at the second one. */
  let history: { readonly linesUntil: number; readonly end: number } | undefined;

  const startHistory = (): void => {
    wantsHistory = false;
    history = { linesUntil: cursor!.entry, end: backlog.end().entry };
    const start = backlog.historyStart();
    if (start.entry < cursor!.entry) cursor = start;
  };
  const endHistory = (): void => {
    history = undefined;
    sink.send(toFrames([toMessage('logs end')]));
  };
  /** Sends a batch; returns false if there is none. */
  const sendBatch = (): boolean => {
    if (wantsHistory && !history) {
      // The lines that the upstream has buffered are still arriving. They are the answer, and are sent only once.
      if (!isLoaded()) return false;
      startHistory();
    }
    if (history && cursor!.entry >= history.end) {
      endHistory();
      return true;
    }
    const batch = backlog.read(cursor!, history?.linesUntil ?? 0);
    if (!batch) return false;
    cursor = batch.next;
    if (batch.frames.length > 0) sink.send(batch.frames);
    return true;
  };
  const pump = (): void => {
    if (!cursor || !sink.isReady()) return;
    if (greeting.length > 0) sink.send(toFrames(greeting));
    greeting = [];
    let isMore = true;
    while (isMore && sink.isReady()) isMore = sendBatch();
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
