import type { Logger } from '../../../log.ts';
import { createMachine } from '../../state-table.ts';
import type { Machine } from '../../state-table.ts';
import type { ConsoleEvents } from '../types.ts';
import type { Grant } from './grant.ts';
import { unknownStats } from '#contract/console-stream.ts';
import type { ConsoleStats } from '#contract/console-stream.ts';
import { toNextState, toStats, initial } from './session-state.ts';
import type { ConsoleTimings, SessionEvent, SessionState, SessionTimer } from './session-types.ts';
import { openSocket } from './socket.ts';
import type { Socket } from './socket.ts';

/** Dependencies of a session. */
export interface SessionOptions {
  readonly ask: () => Promise<Grant | Extract<SessionEvent, { type: 'rateLimited' }>>;
  /** Requests a token that replaces another. */
  readonly renew: () => Promise<Grant>;
  readonly origin: string;
  readonly timings: ConsoleTimings;
  readonly events: ConsoleEvents;
  /** Called with each sign of life of Wings. */
  readonly onHeard: () => void;
  readonly log: Logger;
}

/** A session of a console. */
export interface Session {
  dispatch(event: SessionEvent): unknown;
  /** The current statistics; it waits a short time for them. */
  stats(): Promise<ConsoleStats>;
}

/** Creates a session of a console; the event `retryDue` starts it. */
export function createSession({ ask, renew, origin, timings, events, onHeard, log }: SessionOptions): Session {
  const timers = new Map<SessionTimer, NodeJS.Timeout>();
  let request = new AbortController();
  let socket: Socket | undefined;
  /** Called when statistics arrive. */
  const waiting = new Set<() => void>();

  const setTimer = (timer: SessionTimer, ms: number): void => {
    clearTimeout(timers.get(timer));
    const dispatch = () => machine.dispatch({ type: timer });
    timers.set(timer, setTimeout(dispatch, ms));
  };
  const dispatchAnswer = async (answer: Promise<SessionEvent>): Promise<void> => {
    const { signal } = request;
    const event = await answer;
    if (!signal.aborted) machine.dispatch(event);
  };
  const machine: Machine<SessionState, SessionEvent> = createMachine(
    initial,
    (state, event) => toNextState(state, event, { now: performance.now(), timings }),
    {
      ask: () => void dispatchAnswer(ask()),
      renew: () => void dispatchAnswer(renew()),
      connect({ url }) {
        socket = openSocket(url, { origin, pingMs: timings.pingMs, report: machine.dispatch, onHeard });
      },
      send: ({ event, args }) => socket?.send(event, args),
      setTimer: ({ timer, ms }) => setTimer(timer, ms),
      backOff: ({ ms, atLeastMs }) => setTimer('retryDue', Math.max(ms * (0.5 + Math.random() / 2), atLeastMs)),
      release() {
        request.abort();
        request = new AbortController();
        socket?.end();
        for (const timer of timers.values()) clearTimeout(timer);
      },
      'report stats'() {
        for (const wake of waiting) wake();
      },
      emit: ({ event, text }) => events[event]?.(text as never),
      log: ({ level, details, message }) => log[level](details, message),
    },
  );
  return {
    dispatch: machine.dispatch,
    async stats(): Promise<ConsoleStats> {
      const read = (): ConsoleStats | undefined => toStats(machine.state(), performance.now());
      const current = read();
      if (current) return current;
      machine.dispatch({ type: 'statsWanted' });
      await nextCall(waiting, timings.statsMs);
      return read() ?? unknownStats;
    },
  };
}

/** Waits until the functions of a set are called, or the time is over. */
async function nextCall(waiting: Set<() => void>, ms: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms).unref();
  waiting.add(resolve);
  await promise;
  waiting.delete(resolve);
  clearTimeout(timer);
}
