import type { ConsoleEvents, ConsoleSource, GameState } from '../providers/types.ts';
import { createBacklog } from './backlog.ts';
import type { Cursor } from './backlog.ts';
import type { Cancel, Clock } from './clock.ts';
import { toFrames, toMessage } from './frame.ts';
import { createUpstream } from './upstream.ts';

/** Where a viewer's frames go. */
export interface Outlet {
  /** Whether it may be sent output now. */
  ready(): boolean;
  send(frames: Buffer): void;
}

/** A viewer's place at a console. */
export interface Seat {
  /** Sends what the viewer has not been sent, as far as it takes it. */
  pump(): void;
  /** Sends the history, once the viewer has all that it was to be sent before. */
  sendHistory(): void;
  leave(): void;
}

/** One server's console: one upstream, and all its viewers. */
export interface Channel {
  join(outlet: Outlet): Seat;
  /** The last 150 lines. */
  history(): string[];
  hasUpstream(): boolean;
  close(): void;
}

/** What a channel is made of. */
export interface ChannelOptions {
  readonly open: (events: ConsoleEvents) => Promise<ConsoleSource>;
  /** What clients are told of a failure. */
  readonly describe: (error: unknown) => string;
  readonly clock: Clock;
  readonly random: () => number;
  /** Called when all viewers have been away for a while. */
  readonly abandoned: () => void;
}

/** How long the upstream stays open without viewers, so that a page that is loaded again finds it as it was. */
const lingerMs = 30_000;

/** Lines that come within this time leave in one write: less than an eye sees, and at most 60 writes a second. */
const flushMs = 16;

interface ChannelSeat extends Seat {
  start(): void;
  place(): Cursor | undefined;
}

/** Creates the channel of a server; its upstream is opened with the first viewer. */
export function createChannel({ open, describe, clock, random, abandoned }: ChannelOptions): Channel {
  const backlog = createBacklog();
  const seats = new Set<ChannelSeat>();
  let status: GameState | undefined;
  /** Why there is no upstream; viewers were told. */
  let trouble: string | undefined;
  let linger: Cancel | undefined;
  let flushTimer: NodeJS.Timeout | undefined;
  let flushedAt = 0;

  const trim = (): void => {
    let oldest = backlog.end();
    for (const seat of seats) {
      const place = seat.place();
      if (place && place.entry < oldest.entry) oldest = place;
    }
    backlog.trim(oldest);
  };
  const flush = (): void => {
    flushTimer = undefined;
    flushedAt = performance.now();
    for (const seat of seats) seat.pump();
    trim();
  };
  const note = (message: string): void => {
    backlog.note(message);
    schedule();
  };
  const schedule = (): void => {
    flushTimer ??= setTimeout(flush, Math.max(0, flushedAt + flushMs - performance.now())).unref();
  };

  const upstream = createUpstream({
    open,
    describe,
    clock,
    random,
    tell: {
      line(text) {
        backlog.line(text);
        schedule();
      },
      status(state) {
        if (state === status) return;
        status = state;
        backlog.status(state);
        schedule();
      },
      gap: (reason) => note(toMessage('gap', reason)),
      error: (reason) => note(toMessage('daemon error', reason)),
      failed(reason) {
        if (reason !== trouble) note(toMessage('daemon error', reason));
        trouble = reason;
      },
      restored() {
        trouble = undefined;
        // The upstream begins with the lines that it still has: with the old ones they would be history twice.
        backlog.restartHistory();
        note(toMessage('gap', 'The console was opened again: lines may be missing here'));
      },
      settled() {
        for (const seat of seats) seat.start();
      },
    },
  });

  const close = (): void => {
    upstream.close();
    linger?.();
    clearTimeout(flushTimer);
  };

  const createSeat = (outlet: Outlet): ChannelSeat => {
    let place: Cursor | undefined;
    let greeting: string[] = [];
    let wantsHistory = false;
    /** The entry until which the viewer is being sent history. */
    let historyUntil = 0;
    const sendOutput = (): void => {
      let batch;
      while (outlet.ready() && (batch = backlog.read(place!, historyUntil))) {
        place = batch.next;
        if (batch.lost.length > 0) outlet.send(toFrames(batch.lost));
        if (batch.frames.length > 0) outlet.send(batch.frames);
      }
    };
    const seat: ChannelSeat = {
      start() {
        if (place) return;
        // What came before, also in the first breath of the upstream, is history and not output.
        place = backlog.end();
        if (status) greeting.push(toMessage('status', status));
        if (trouble !== undefined) greeting.push(toMessage('daemon error', trouble));
        seat.pump();
      },
      place: () => place,
      pump() {
        if (!place || !outlet.ready()) return;
        if (greeting.length > 0) outlet.send(toFrames(greeting));
        greeting = [];
        sendOutput();
        if (!wantsHistory || !outlet.ready()) return;
        wantsHistory = false;
        historyUntil = backlog.end().entry;
        place = backlog.historyStart();
        sendOutput();
      },
      sendHistory() {
        wantsHistory = true;
        seat.pump();
      },
      leave() {
        if (!seats.delete(seat)) return;
        trim();
        if (seats.size > 0) return;
        upstream.rest();
        linger = clock.after(lingerMs, () => {
          close();
          abandoned();
        });
      },
    };
    return seat;
  };

  return {
    join(outlet) {
      linger?.();
      linger = undefined;
      const seat = createSeat(outlet);
      seats.add(seat);
      upstream.want();
      if (!upstream.isOpening()) seat.start();
      return seat;
    },
    history: () => backlog.history(),
    hasUpstream: () => upstream.isOpening() || upstream.isOpen(),
    close,
  };
}
