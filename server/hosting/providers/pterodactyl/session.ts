import type { Logger } from '../../../log.ts';
import { createMachine } from '../../state-table.ts';
import type { Machine } from '../../state-table.ts';
import type { ConsoleEvents } from '../types.ts';
import type { Grant } from './grant.ts';
import { toNextState, unbegun } from './session-state.ts';
import type { ConsoleTimings, SessionEvent, SessionState, SessionTimer } from './session-types.ts';
import { openSocket } from './socket.ts';
import type { Socket } from './socket.ts';

/** What a session needs. */
export interface SessionOptions {
  readonly ask: () => Promise<Grant | Extract<SessionEvent, { type: 'held' }>>;
  /** Asks the panel for a token that follows another. */
  readonly renew: () => Promise<Grant>;
  readonly origin: string;
  readonly timings: ConsoleTimings;
  readonly events: ConsoleEvents;
  readonly log: Logger;
}

/** Creates the session of a reader of a console, which does nothing until it is begun. */
export function createSession({ ask, renew, origin, timings, events, log }: SessionOptions) {
  const timers = new Map<SessionTimer, NodeJS.Timeout>();
  let question = new AbortController();
  let socket: Socket | undefined;

  const setTimer = (timer: SessionTimer, ms: number): void => {
    clearTimeout(timers.get(timer));
    const dispatch = () => machine.dispatch({ type: timer });
    timers.set(timer, setTimeout(dispatch, ms));
  };
  const hear = async (answer: Promise<SessionEvent>): Promise<void> => {
    const { signal } = question;
    const event = await answer;
    if (!signal.aborted) machine.dispatch(event);
  };
  const machine: Machine<SessionState, SessionEvent> = createMachine(
    unbegun,
    (state, event) => toNextState(state, event, { now: performance.now(), timings }),
    {
      ask: () => void hear(ask()),
      renew: () => void hear(renew()),
      connect: ({ url }) => (socket = openSocket(url, origin, timings.pingMs, machine.dispatch)),
      send: ({ event, args }) => socket?.send(event, args),
      setTimer: ({ timer, ms }) => setTimer(timer, ms),
      backOff: ({ ms, atLeastMs }) => setTimer('retryDue', Math.max(ms * (0.5 + Math.random() / 2), atLeastMs)),
      release() {
        question.abort();
        question = new AbortController();
        socket?.end();
        for (const timer of timers.values()) clearTimeout(timer);
      },
      tell: ({ event, text }) => events[event]?.(text as never),
      log: ({ level, details, message }) => log[level](details, message),
    },
  );
  return machine;
}
