import type { Access } from '../../keys/access.ts';
import { toMessage } from './frame.ts';
import type { StreamEvent } from './frame.ts';
import type { ClientMessage } from './message.ts';
import { followTable } from '../state-table.ts';
import type { Rows, StateTable, Step } from '../state-table.ts';
import type { StreamGrant } from './token.ts';

interface Common {
  /** Refused tokens since the last good one. */
  readonly badTokens: number;
  /** When the history was last sent. */
  readonly historyAt: number;
}

interface Unproved extends Common {
  readonly at: 'unproved';
  readonly grant: undefined;
}

interface Proved extends Common {
  readonly at: 'live' | 'expiring' | 'expired';
  readonly grant: StreamGrant;
  /** What the key may do now, whatever the token says. */
  readonly access: 'ok' | 'read_only';
}

type Open = Unproved | Proved;

/** Where a client's stream stands. */
export type SessionState = Open | { readonly at: 'ended'; readonly grant: StreamGrant | undefined };

interface GrantChecked {
  readonly type: 'grant checked';
  readonly grant: StreamGrant;
  readonly access: Access;
  /** Whether the key may have one more stream. */
  readonly hasRoom: boolean;
}

/** What happens to a stream. */
export type SessionEvent =
  /** A frame came in, within the rate; undefined stands for one that is not a message. */
  | { readonly type: 'frame'; readonly message: ClientMessage | undefined; readonly waiting: number }
  /** A frame came in beyond the rate, so many since the client was last quiet. */
  | { readonly type: 'flood'; readonly refused: number }
  /** A message has its turn. */
  | ClientMessage
  | { readonly type: 'token refused'; readonly reason: string }
  | { readonly type: 'token proved'; readonly grant: StreamGrant }
  | GrantChecked
  /** A command has its turn. */
  | { readonly type: 'command'; readonly command: string }
  | { readonly type: 'command checked'; readonly command: string; readonly access: Access }
  /** What a message or a command asked for went wrong. */
  | { readonly type: 'failed'; readonly reason: string }
  | { readonly type: 'access changed'; readonly access: Access | 'unknown' }
  | { readonly type: 'timer'; readonly now: number }
  | { readonly type: 'shut down' }
  /** The connection is gone. */
  | { readonly type: 'gone' };

/** What the shell of a stream does. */
export type SessionEffect =
  | { readonly do: 'reply'; readonly message: string }
  /** Sets the one timer of the stream. */
  | { readonly do: 'wait'; readonly until: number }
  | { readonly do: 'queue'; readonly message: ClientMessage }
  /** A queue of its own, so that a provider that is slow to take a command does not hold up a renewal. */
  | { readonly do: 'queue command'; readonly command: string }
  | { readonly do: 'verify'; readonly token: unknown }
  | { readonly do: 'check grant'; readonly grant: StreamGrant }
  | { readonly do: 'check command'; readonly keyId: string; readonly command: string }
  | { readonly do: 'send command'; readonly keyId: string; readonly command: string }
  /** Takes a place among the streams of the key, and follows the console. */
  | { readonly do: 'enter'; readonly keyId: string }
  /** Sends what was held back. */
  | { readonly do: 'resume' }
  | { readonly do: 'send history' }
  /** Gives up what the stream holds. */
  | { readonly do: 'release' }
  | { readonly do: 'close'; readonly code: number; readonly reason: string };

type SessionStep = Step<SessionState, SessionEffect>;
type RowsOf<State> = Rows<State, SessionState, SessionEvent, SessionEffect>;

/** Why a stream is ended; those from 4000 on are our own. */
const closeCodes = {
  abuse: 1008,
  restart: 1012,
  overload: 1013,
  unauthenticated: 4000,
  expired: 4001,
  revoked: 4003,
} as const;

/** How long a client may take to send its token. */
export const authDeadlineMs = 10_000;
const maxBadTokens = 5;
const expiringMs = 60_000;
const expiredMs = 30_000;
const historyIntervalMs = 1000;

/** A client that is refused this often goes on regardless, and costs more than a connection is worth. */
const maxRefused = 1000;

/** Messages that may wait for a slow store or provider, each of at most 16 KiB. */
const maxWaiting = 32;

const malformed = 'A message must be a JSON text of the form {"event": "...", "args": ["..."]}';
const noCommand = 'A command has 1 to 1,024 characters and no control characters';

/** A stream that was just opened. */
export const unproved: SessionState = {
  at: 'unproved',
  grant: undefined,
  badTokens: 0,
  historyAt: Number.NEGATIVE_INFINITY,
};

/** Whether the stream gets what the console says. */
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
const provedRows: RowsOf<Proved> = {
  ...openRows,
  'token proved': (state, { grant }) =>
    grant.keyId === state.grant.keyId
      ? [state, { do: 'check grant', grant }]
      : refuseToken(state, 'The token is for another API key'),
  'grant checked': (state, { grant, access }) =>
    access === 'denied' ? revoke(state) : accept(state, grant, access, { do: 'resume' }),
  command: (state, { command }) => [state, { do: 'check command', keyId: state.grant.keyId, command }],
  'command checked': onCommandChecked,
  'access changed': onAccessChanged,
};
const currentRows: RowsOf<Proved> = { ...provedRows, 'send logs': onSendLogs, 'send command': onSendCommand };

const table: StateTable<SessionState, SessionEvent, SessionEffect> = {
  unproved: {
    ...openRows,
    timer: (state) => end(state, closeCodes.unauthenticated, 'no token came in time'),
    'token proved': (state, { grant }) => [state, { do: 'check grant', grant }],
    'grant checked': onFirstGrant,
  },
  live: { ...currentRows, timer: (state) => warn(state, 'expiring', state.grant.expiresAt) },
  expiring: { ...currentRows, timer: (state, { now }) => warn(state, 'expired', now + expiredMs) },
  expired: { ...provedRows, timer: (state) => end(state, closeCodes.expired, 'the token expired') },
  ended: {},
};

/** What an event makes of a stream. */
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

function onSendLogs(state: Proved, { now }: { now: number }): SessionStep {
  if (now - state.historyAt >= historyIntervalMs) return [{ ...state, historyAt: now }, { do: 'send history' }];
  return [state, reply('daemon error', 'The history is sent at most once a second')];
}

function onSendCommand(state: Proved, { command }: { command: string | undefined }): SessionStep {
  if (!mayWrite(state)) return [state, reply('permission denied', 'send command')];
  return [state, command === undefined ? reply('daemon error', noCommand) : { do: 'queue command', command }];
}

/** A command counts as a request: a key that was revoked a moment ago is refused at once, not within 2 s. */
function onCommandChecked(state: Proved, { command, access }: { command: string; access: Access }): SessionStep {
  if (access === 'denied') return revoke(state);
  if (access === 'read_only' || !mayWrite(state)) return [state, reply('permission denied', 'send command')];
  return [state, { do: 'send command', keyId: state.grant.keyId, command }];
}

function onAccessChanged(state: Proved, { access }: { access: Access | 'unknown' }): SessionStep {
  if (access === 'denied') return revoke(state);
  if (access === 'unknown') return end(state, closeCodes.overload, 'access could not be checked');
  return [{ ...state, access }];
}

function mayWrite({ at, grant, access }: Proved): boolean {
  return at !== 'expired' && grant.mode === 'read_write' && access === 'ok';
}

function refuseToken(state: Open, reason: string): SessionStep {
  const badTokens = state.badTokens + 1;
  const answer = reply('jwt error', reason);
  if (badTokens < maxBadTokens) return [{ ...state, badTokens }, answer];
  return end(state, closeCodes.unauthenticated, 'too many tokens were refused', answer);
}

function accept(state: Open, grant: StreamGrant, access: Proved['access'], follow: SessionEffect): SessionStep {
  const { issuedAt, expiresAt } = grant;
  const until = Math.max(expiresAt - expiringMs, issuedAt + (expiresAt - issuedAt) * 0.75);
  const next: Proved = { at: 'live', grant, access, badTokens: 0, historyAt: state.historyAt };
  return [next, { do: 'wait', until }, reply('auth success'), follow];
}

function warn(state: Proved, at: 'expiring' | 'expired', until: number): SessionStep {
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
