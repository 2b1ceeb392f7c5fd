import type { ConsoleEvents, GameState } from '../types.ts';
import type { Grant, Granted } from './grant.ts';

/** How long things take; the defaults are for Wings. */
export interface ConsoleTimings {
  readonly pingMs: number;
  /** The answer to `auth`. */
  readonly authMs: number;
  /** Until an `auth` that Wings throttled, as it takes one in 5 s, is sent again. */
  readonly throttleMs: number;
  /** The first wait before a new attempt; it doubles up to the longest. */
  readonly backoffMs: number;
  readonly longestBackoffMs: number;
  /**
   * How long after an `auth` a hint that the token is about to end is passed over: Wings gives it again and again for a
   * token that lives short, or where its clock is ahead, and each would cost one of the panel's few tokens.
   */
  readonly quietMs: number;
  /** The window of the panel's limit of tokens. */
  readonly windowMs: number;
}

/** What outlives a connection. */
export interface Memory {
  /** Whether the reader knows that lines may be missing, and has got none since. */
  readonly gapReported: boolean;
  /** Whether the lines from before were asked for: once, as they cannot be distinguished from those that came since. */
  readonly linesAsked: boolean;
  /** Connections in a row that came to nothing. */
  readonly failures: number;
}

/** The state of a session: of one reader's console, over all its connections. */
export type SessionState =
  | { readonly at: 'ended' }
  /** The panel is asked for a token, or will be after a wait. */
  | { readonly at: 'asking' | 'waiting'; readonly memory: Memory }
  | { readonly at: 'opening'; readonly memory: Memory; readonly grant: Granted }
  | {
      /**
       * The first token of a connection is not yet accepted (`authenticating`); it is (`live`), and a new one is asked
       * for (`renewing`), could not be had yet (`deferred`), or is sent and not yet accepted (`reauthenticating`).
       */
      readonly at: 'authenticating' | 'live' | 'renewing' | 'deferred' | 'reauthenticating';
      readonly memory: Memory;
      readonly grant: Granted;
      readonly sentAt: number;
    };

/** Timers, by the event that they lead to. */
export type SessionTimer = 'retryDue' | 'authUnanswered' | 'throttleOver' | 'renewalDue';

/** What happens to a session. */
export type SessionEvent =
  /** What the panel answers; the socket and Wings refuse likewise. */
  | Grant
  /** The panel is not asked, as the server's tokens of this minute are used up. */
  | { readonly type: 'held'; readonly waitMs: number }
  | { readonly type: 'opened' | SessionTimer }
  | { readonly type: 'lost'; readonly detail: string }
  | { readonly type: 'line'; readonly text: string }
  | { readonly type: 'status'; readonly status: GameState }
  | { readonly type: 'accepted' | 'throttled' | 'expiring' }
  /** The token is over, or is none that Wings takes, or lacks the permission. */
  | { readonly type: 'expired' | 'rejected' | 'denied' | 'nodeFailed'; readonly detail: string }
  /** The reader left, or must leave. */
  | { readonly type: 'closed' | 'locked' };

/** What is to be done then. */
export type SessionEffect =
  /** Asks the panel for a token; a renewal is not counted. */
  | { readonly do: 'ask' | 'renew' }
  | { readonly do: 'connect'; readonly url: string }
  | { readonly do: 'send'; readonly event: 'auth' | 'send logs'; readonly args: readonly string[] }
  /** Ends the connection, the question to the panel and all timers. */
  | { readonly do: 'release' }
  | { readonly do: 'setTimer'; readonly timer: SessionTimer; readonly ms: number }
  /** Sets `retryDue` with jitter: when a node restarts, all its consoles are lost in the same second. */
  | { readonly do: 'backOff'; readonly ms: number; readonly atLeastMs: number }
  | { readonly do: 'tell'; readonly event: keyof ConsoleEvents; readonly text: string }
  | {
      readonly do: 'log';
      readonly level: 'info' | 'warn' | 'error';
      readonly details: object;
      readonly message: string;
    };

/** What a step depends on beside the state and the event. */
export interface SessionContext {
  readonly now: number;
  readonly timings: ConsoleTimings;
}
