import type { Access } from '../../keys/access.ts';
import { toMessage } from './frame.ts';
import type { StreamEvent } from './frame.ts';
import type { ClientMessage } from './message.ts';
import { followTable } from '../state-table.ts';
import type { Rows, StateTable, Step } from '../state-table.ts';
import type { StreamGrant } from './token.ts';

interface Common {
  /** Refused tokens since the last valid one. */
  readonly badTokens: number;
  /** When the history was last sent. */
  readonly historyAt: number;
}

interface Unauthenticated extends Common {
  readonly at: 'unauthenticated';
  readonly grant: undefined;
}

interface Authenticated extends Common {
  readonly at: 'live' | 'expiring' | 'expired';
  readonly grant: StreamGrant;
  /** The current access of the key, which may be less than that of the token. */
  readonly access: 'ok' | 'read_only';
}

type Open = Unauthenticated | Authenticated;

/** The state of a client's stream. */
export type SessionState = Open | { readonly at: 'ended'; readonly grant: StreamGrant | undefined };

interface GrantChecked {
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
  | { readonly type: 'flood'; readonly refused: number }
  /** A message from the queue. */
  | ClientMessage
  | { readonly type: 'token refused'; readonly reason: string }
  | { readonly type: 'token verified'; readonly grant: StreamGrant }
  | GrantChecked
  /** A command from the queue. */
  | { readonly type: 'command'; readonly command: string }
  | { readonly type: 'command checked'; readonly command: string; readonly access: Access }
  /** A message or command failed. */
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
  | { readonly do: 'queue'; readonly message: ClientMessage }
  /** Commands have a separate queue, so that a slow provider does not delay the renewal of a token. */
  | { readonly do: 'queue command'; readonly command: string }
  | { readonly do: 'verify'; readonly token: unknown }
  | { readonly do: 'check grant'; readonly grant: StreamGrant }
  | { readonly do: 'check command'; readonly grant: StreamGrant; readonly command: string }
  | { readonly do: 'send command'; readonly grant: StreamGrant; readonly command: string }
  /** Counts the stream for its key, and follows the console. */
  | { readonly do: 'enter'; readonly keyId: string }
  /** Sends pending output. */
  | { readonly do: 'resume' }
  | { readonly do: 'send history' }
  /** Releases the resources of the stream. */
  | { readonly do: 'release' }
  | { readonly do: 'close'; readonly code: number; readonly reason: string };

type SessionStep = Step<SessionState, SessionEffect>;
type RowsOf<State> = Rows<State, SessionState, SessionEvent, SessionEffect>;

/** The close codes of a stream; those from 4000 on are specific to this service. */
const closeCodes = {
  abuse: 1008,
  restart: 1012,
  overload: 1013,
  unauthenticated: 4000,
  expired: 4001,
  revoked: 4003,
} as const;

/** The time for a client to send its token. */
export const authDeadlineMs = 10_000;
const maxBadTokens = 5;
const expiringMs = 60_000;
const expiredMs = 30_000;
const historyIntervalMs = 1000;

/** The limit of frames beyond the rate limit, after which the stream is closed. */
const maxRefused = 1000;

/** The maximum number of queued messages, each of at most 16 KiB. */
const maxWaiting = 32;

const malformed = 'A message must be a JSON text of the form {"event": "...", "args": ["..."]}';
const noCommand = 'A command has 1 to 1,024 characters, one of them visible, and no control characters';

/** The initial state of a stream. */
export const initial: SessionState = {
  at: 'unauthenticated',
  grant: undefined,
  badTokens: 0,
  historyAt: Number.NEGATIVE_INFINITY,
};

/** Whether the stream gets the output of the console. */
export function takesOutput({ at }: SessionState): boolean {
  return at === 'live' || at === 'expiring';
}

const openRows: RowsOf<Open> = {
  frame: onFrame,
  flood: onFlood,
  auth: (state, { token }) => [state, { do: 'verify', token }],
  'send logs': (state, { type }) => [state, reply('permission denied', type)],
  'send command': (state, { type }) => [state, reply('permission denied', type)],
  unknown: (state, { event }) => [state, reply('permission denied', event)],
  'token refused': (state, { reason }) => refuseToken(state, reason),
  failed: (state, { reason }) => [state, reply('daemon error', reason)],
  'shut down': (state) => end(state, closeCodes.restart, 'service restart'),
  gone: (state) => [{ at: 'ended', grant: state.grant }, { do: 'release' }],
};
const authenticatedRows: RowsOf<Authenticated> = {
  ...openRows,
  'token verified': (state, { grant }) =>
    grant.keyId === state.grant.keyId
      ? [state, { do: 'check grant', grant }]
      : refuseToken(state, 'The token is for another API key'),
  'grant checked': (state, { grant, access }) =>
    access === 'denied' ? revoke(state) : accept(state, grant, access, { do: 'resume' }),
  command: (state, { command }) => [state, { do: 'check command', grant: state.grant, command }],
  'command checked': onCommandChecked,
  'access changed': onAccessChanged,
};
const currentRows: RowsOf<Authenticated> = {
  ...authenticatedRows,
  'send logs': onSendLogs,
  'send command': onSendCommand,
};

const table: StateTable<SessionState, SessionEvent, SessionEffect> = {
  unauthenticated: {
    ...openRows,
    timer: (state) => end(state, closeCodes.unauthenticated, 'no token came in time'),
    'token verified': (state, { grant }) => [state, { do: 'check grant', grant }],
    'grant checked': onFirstGrant,
  },
  live: { ...currentRows, timer: (state) => warn(state, 'expiring', state.grant.expiresAt) },
  expiring: { ...currentRows, timer: (state, { now }) => warn(state, 'expired', now + expiredMs) },
  expired: { ...authenticatedRows, timer: (state) => end(state, closeCodes.expired, 'the token expired') },
  ended: {},
};

/** The next state of a stream after an event, and the effects. */
export function toNextState(state: SessionState, event: SessionEvent): SessionStep {
  return followTable(table, state, event);
}

function onFrame(
  state: Open,
  { message, waiting }: { message: ClientMessage | undefined; waiting: number },
): SessionStep {
  if (!message) return [state, reply('daemon error', malformed)];
  if (waiting >= maxWaiting) return [state, reply('daemon error', 'Too many messages are waiting: one was dropped')];
  return [state, { do: 'queue', message }];
}

function onFlood(state: Open, { refused }: { refused: number }): SessionStep {
  if (refused === 1) return [state, reply('daemon error', 'Too many messages: some were dropped')];
  return refused > maxRefused ? end(state, closeCodes.abuse, 'too many messages') : [state];
}

function onFirstGrant(state: Open, { grant, access, hasRoom }: GrantChecked): SessionStep {
  if (access === 'denied') return revoke(state);
  if (hasRoom) return accept(state, grant, access, { do: 'enter', keyId: grant.keyId });
  const answer = reply('daemon error', 'This API key has too many open console streams');
  return end(state, closeCodes.overload, 'too many streams', answer);
}

function onSendLogs(state: Authenticated, { now }: { now: number }): SessionStep {
  if (now - state.historyAt >= historyIntervalMs) return [{ ...state, historyAt: now }, { do: 'send history' }];
  return [state, reply('daemon error', 'The history is sent at most once a second')];
}

function onSendCommand(state: Authenticated, { command }: { command: string | undefined }): SessionStep {
  if (!mayWrite(state)) return [state, reply('permission denied', 'send command')];
  return [state, command === undefined ? reply('daemon error', noCommand) : { do: 'queue command', command }];
}

/** Each command checks the key again, so a revoked key is rejected at once, not within 2 s. */
function onCommandChecked(state: Authenticated, { command, access }: { command: string; access: Access }): SessionStep {
  if (access === 'denied') return revoke(state);
  if (access === 'read_only' || !mayWrite(state)) return [state, reply('permission denied', 'send command')];
  return [state, { do: 'send command', grant: state.grant, command }];
}

function onAccessChanged(state: Authenticated, { access }: { access: Access | 'unknown' }): SessionStep {
  if (access === 'denied') return revoke(state);
  if (access === 'unknown') return end(state, closeCodes.overload, 'access could not be checked');
  return [{ ...state, access }];
}

function mayWrite({ at, grant, access }: Authenticated): boolean {
  return at !== 'expired' && grant.mode === 'read_write' && access === 'ok';
}

function refuseToken(state: Open, reason: string): SessionStep {
  const badTokens = state.badTokens + 1;
  const answer = reply('jwt error', reason);
  if (badTokens < maxBadTokens) return [{ ...state, badTokens }, answer];
  return end(state, closeCodes.unauthenticated, 'too many tokens were refused', answer);
}

function accept(state: Open, grant: StreamGrant, access: Authenticated['access'], follow: SessionEffect): SessionStep {
  const { issuedAt, expiresAt } = grant;
  const until = Math.max(expiresAt - expiringMs, issuedAt + (expiresAt - issuedAt) * 0.75);
  const next: Authenticated = { at: 'live', grant, access, badTokens: 0, historyAt: state.historyAt };
  return [next, { do: 'wait', until }, reply('auth success'), follow];
}

function warn(state: Authenticated, at: 'expiring' | 'expired', until: number): SessionStep {
  return [{ ...state, at }, reply(`token ${at}`), { do: 'wait', until }];
}

function revoke(state: Open): SessionStep {
  return end(state, closeCodes.revoked, 'access was revoked');
}

function end({ grant }: Open, code: number, reason: string, ...answers: SessionEffect[]): SessionStep {
  return [{ at: 'ended', grant }, ...answers, { do: 'release' }, { do: 'close', code, reason }];
}

function reply(event: StreamEvent, ...args: string[]): SessionEffect {
  return { do: 'reply', message: toMessage(event, ...args) };
}
