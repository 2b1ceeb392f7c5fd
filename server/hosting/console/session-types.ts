import type { CommandRefusal, ConsoleStats } from '#contract/console-stream.ts';
import type { Access } from '../../keys/access.ts';
import type { Rows, Step } from '../state-table.ts';
import type { ClientMessage } from './message.ts';
import type { StreamGrant } from './token.ts';

interface Common {
  /** Refused tokens since the last valid one. */
  readonly badTokens: number;
  /** When the history was last sent. */
  readonly historyAt: number;
  /** When statistics were last sent. */
  readonly statsAt: number;
  /** Whether statistics are requested and not yet sent. */
  readonly statsRequested: boolean;
}

/** A stream without a valid token. */
interface Unauthenticated extends Common {
  readonly at: 'unauthenticated';
  readonly grant: undefined;
}

/** A stream that had a valid token. */
export interface Authenticated extends Common {
  readonly at: 'live' | 'expiring' | 'expired';
  readonly grant: StreamGrant;
  /** The current access of the key, which may be less than that of the token. */
  readonly access: 'ok' | 'read_only';
}

/** A stream that has not ended. */
export type Open = Unauthenticated | Authenticated;

/** The state of a client's stream. */
export type SessionState = Open | { readonly at: 'ended'; readonly grant: StreamGrant | undefined };

/** A valid command. */
export interface Command {
  readonly text: string;
  /** By it the client finds the answer. */
  readonly reference: string | undefined;
}

/** The first check of a token's key. */
export interface GrantChecked {
  readonly type: 'grant checked';
  readonly grant: StreamGrant;
  readonly access: Access;
  /** Whether the key may open another stream. */
  readonly hasRoom: boolean;
}

/** The events of a stream. */
export type SessionEvent =
  /** A frame within the rate limit; the message is undefined if it is invalid. */
  | { readonly type: 'frame'; readonly message: ClientMessage | undefined; readonly waiting: number }
  /** A frame beyond the rate limit, with the number of them since the bucket was last full. */
  | { readonly type: 'flood'; readonly message: ClientMessage | undefined; readonly refused: number }
  /** A message from the queue. */
  | ClientMessage
  | { readonly type: 'token refused'; readonly reason: string }
  | { readonly type: 'token verified'; readonly grant: StreamGrant }
  | GrantChecked
  /** A command from the queue. */
  | { readonly type: 'command'; readonly command: Command }
  | { readonly type: 'command checked'; readonly command: Command; readonly access: Access }
  | { readonly type: 'command accepted'; readonly command: Command }
  | {
      readonly type: 'command refused';
      readonly command: Command;
      readonly code: CommandRefusal;
      readonly reason: string;
    }
  /** Two seconds have passed since the last statistics. */
  | { readonly type: 'stats due' }
  | { readonly type: 'stats'; readonly stats: ConsoleStats; readonly now: number }
  /** A message failed. */
  | { readonly type: 'failed'; readonly reason: string }
  | { readonly type: 'access changed'; readonly access: Access | 'unknown' }
  | { readonly type: 'timer'; readonly now: number }
  | { readonly type: 'shut down' }
  /** The connection was closed. */
  | { readonly type: 'gone' };

/** The effects of a stream. */
export type SessionEffect =
  | { readonly do: 'reply'; readonly message: string }
  /** Sets the timer of the stream. */
  | { readonly do: 'wait'; readonly until: number }
  /** Sets the timer of `stats due`. */
  | { readonly do: 'wait for stats'; readonly until: number }
  | { readonly do: 'queue'; readonly message: ClientMessage }
  /** Commands have a separate queue, so that a slow provider does not delay the renewal of a token. */
  | { readonly do: 'queue command'; readonly command: Command }
  | { readonly do: 'verify'; readonly token: unknown }
  | { readonly do: 'check grant'; readonly grant: StreamGrant }
  | { readonly do: 'check command'; readonly grant: StreamGrant; readonly command: Command }
  | { readonly do: 'send command'; readonly grant: StreamGrant; readonly command: Command }
  /** Counts the stream for its key, and follows the console. */
  | { readonly do: 'enter'; readonly keyId: string }
  /** Sends pending output. */
  | { readonly do: 'resume' }
  | { readonly do: 'send history' }
  | { readonly do: 'read stats' }
  /** Releases the resources of the stream. */
  | { readonly do: 'release' }
  | { readonly do: 'close'; readonly code: number; readonly reason: string };

export type SessionStep = Step<SessionState, SessionEffect>;
export type RowsOf<State> = Rows<State, SessionState, SessionEvent, SessionEffect>;
