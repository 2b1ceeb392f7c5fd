import type { ConsoleStats } from '#contract/console-stream.ts';
import type { ConsoleEvents, GameState } from '../types.ts';
import type { Grant, Granted } from './grant.ts';

/** The timings of a session. */
export interface ConsoleTimings {
  readonly pingMs: number;
  /** The timeout of `auth`. */
  readonly authMs: number;
  /** The wait before a throttled `auth` is repeated; Wings allows one in 5 s. */
  readonly throttleMs: number;
  /**
   * How long after `send logs` the buffered lines arrive. Wings does not mark their end; it reads them from a file, so most
   * arrive within a round trip.
   */
  readonly loadMs: number;
  /** How long a request for statistics waits for Wings. */
  readonly statsMs: number;
  /** The first back-off; it doubles up to the maximum. */
  readonly backoffMs: number;
  readonly maxBackoffMs: number;
  /**
   * How long after an `auth` the expiry warnings of Wings are ignored. Wings repeats them for short-lived tokens and if
   * its clock is ahead, and each renewal would use one of the panel's few tokens.
   */
  readonly quietMs: number;
  /** The window of the panel's rate limit for tokens. */
  readonly windowMs: number;
}

/** Statistics, and when Wings sent them. */
export interface WingsStats {
  readonly stats: ConsoleStats;
  readonly at: number;
  /** Whether the server does not run, so that they stay true. */
  readonly isOffline: boolean;
}

/** The part of the state that outlives a connection. */
export interface Memory {
  /** Whether a gap was reported, and no line has arrived since. */
  readonly gapReported: boolean;
  /** Whether buffered lines were requested. That is done once, since they cannot be distinguished from new ones. */
  readonly logsRequested: boolean;
  /** Failed connections in a row. */
  readonly failures: number;
  /** The last statistics of this connection. */
  readonly stats: WingsStats | undefined;
}

/** The state of a session, which spans all connections of one console. */
export type SessionState =
  | { readonly at: 'ended' }
  /** A token is requested from the panel, or will be after a wait. */
  | { readonly at: 'asking' | 'waiting'; readonly memory: Memory }
  | { readonly at: 'opening'; readonly memory: Memory; readonly grant: Granted }
  | {
      /**
       * The first token of a connection is sent (`authenticating`) or accepted (`live`). Then the next token is requested
       * (`renewing`), requested later after a failure (`deferred`), or sent (`reauthenticating`).
       */
      readonly at: 'authenticating' | 'live' | 'renewing' | 'deferred' | 'reauthenticating';
      readonly memory: Memory;
      readonly grant: Granted;
      readonly sentAt: number;
    };

/** Timers, named by their event. */
export type SessionTimer = 'retryDue' | 'authUnanswered' | 'throttleOver' | 'renewalDue' | 'loadOver';

/** The events of a session. */
export type SessionEvent =
  /** The panel's answer; the socket and Wings may refuse too. */
  | Grant
  /** No token is requested, since our rate limit for the server is used up. */
  | { readonly type: 'rateLimited'; readonly waitMs: number }
  | { readonly type: 'opened' | SessionTimer }
  | { readonly type: 'lost'; readonly detail: string }
  | { readonly type: 'line'; readonly text: string }
  | { readonly type: 'status'; readonly status: GameState }
  | { readonly type: 'stats'; readonly stats: ConsoleStats; readonly isOffline: boolean }
  | { readonly type: 'accepted' | 'throttled' | 'expiring' }
  /** A viewer asks for statistics, and none are current. */
  | { readonly type: 'statsWanted' }
  /** The token is expired, invalid or lacks the permission. */
  | { readonly type: 'expired' | 'rejected' | 'denied' | 'nodeFailed'; readonly detail: string }
  /** The reader has left, or the consoles are locked. */
  | { readonly type: 'closed' | 'locked' };

/** What is sent to Wings: nothing that needs more than a read-only credential. */
export type WingsRequest = 'auth' | 'send logs' | 'send stats';

/** The effects of a session. */
export type SessionEffect =
  /** Requests a token from the panel; renewals are not rate limited. */
  | { readonly do: 'ask' | 'renew' }
  | { readonly do: 'connect'; readonly url: string }
  | { readonly do: 'send'; readonly event: WingsRequest; readonly args: readonly string[] }
  /** Ends the connection, the request to the panel and all timers. */
  | { readonly do: 'release' }
  | { readonly do: 'setTimer'; readonly timer: SessionTimer; readonly ms: number }
  /** Sets `retryDue` with jitter, since a node's restart disconnects all its consoles at once. */
  | { readonly do: 'backOff'; readonly ms: number; readonly atLeastMs: number }
  /** Answers those who wait for statistics. */
  | { readonly do: 'report stats' }
  | { readonly do: 'emit'; readonly event: keyof ConsoleEvents; readonly text: string }
  | {
      readonly do: 'log';
      readonly level: 'info' | 'warn' | 'error';
      readonly details: object;
      readonly message: string;
    };

/** The further input of a step. */
export interface SessionContext {
  readonly now: number;
  readonly timings: ConsoleTimings;
}
