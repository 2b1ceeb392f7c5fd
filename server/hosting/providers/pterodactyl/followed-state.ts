import type { ConsoleEvents, GameState, StateReport } from '../types.ts';

/** What an open console says of the state of its server. Times are in milliseconds of a clock that never goes back. */
export interface FollowedState {
  /** Undefined until the first status, and after a gap, since a status may be missing too. */
  readonly status: { readonly state: GameState; readonly changedAt: number } | undefined;
  /** The last sign of life, also in milliseconds since 1970. */
  readonly heardAt: number;
  readonly heardDate: number;
}

/** The events of a console that matter for the state. */
export type FollowedEvent =
  | { readonly type: 'status'; readonly state: GameState; readonly at: number }
  | { readonly type: 'lost' }
  | { readonly type: 'heard'; readonly at: number; readonly date: number };

/** How long a silent connection is trusted: one ping, and some time for its answer. */
const silenceMs = 35_000;

/** The initial state. */
export const nothingFollowed: FollowedState = { status: undefined, heardAt: Number.NEGATIVE_INFINITY, heardDate: 0 };

/** The next state after an event. */
export function toNextState(followed: FollowedState, event: FollowedEvent): FollowedState {
  if (event.type === 'status') return { ...followed, status: { state: event.state, changedAt: event.at } };
  if (event.type === 'lost') return { ...followed, status: undefined };
  return { ...followed, heardAt: event.at, heardDate: event.date };
}

/**
 * The state that an open console proves; undefined if it proves none. After an action at `after`, this is the status that
 * followed it, or the one that still holds `lagMs` later.
 */
export function toReport(
  { status, heardAt, heardDate }: FollowedState,
  { now, after, lagMs }: { readonly now: number; readonly after: number; readonly lagMs: number },
): StateReport | undefined {
  if (!status || now - heardAt > silenceMs) return undefined;
  const counts = status.changedAt > after || heardAt > after + lagMs;
  return counts ? { state: status.state, checkedAt: heardDate } : undefined;
}

/** A console's events, with what they say of the state. */
export interface FollowedConsole {
  readonly events: ConsoleEvents;
  readonly onHeard: () => void;
  readonly state: () => FollowedState;
}

/** Follows the state of a server by the events of its console, which are passed on. */
export function followState(events: ConsoleEvents, now: () => number): FollowedConsole {
  let followed = nothingFollowed;
  const dispatch = (event: FollowedEvent): void => void (followed = toNextState(followed, event));
  return {
    events: {
      ...events,
      status(state) {
        dispatch({ type: 'status', state, at: now() });
        events.status(state);
      },
      gap(reason) {
        dispatch({ type: 'lost' });
        events.gap(reason);
      },
    },
    onHeard: () => dispatch({ type: 'heard', at: now(), date: Date.now() }),
    state: () => followed,
  };
}
