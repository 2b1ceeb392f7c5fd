import { streamLimits } from '#contract/console-stream.ts';
import type { Access } from '../../keys/access.ts';
import { followTable } from '../state-table.ts';
import type { StateTable } from '../state-table.ts';
import type { ClientMessage } from './message.ts';
import { deniedRows, refuseDropped, requestRows, resultRows } from './session-requests.ts';
import { end, reply, revoke } from './session-steps.ts';
import type {
  Authenticated,
  GrantChecked,
  Open,
  RowsOf,
  SessionEffect,
  SessionEvent,
  SessionState,
  SessionStep,
} from './session-types.ts';
import type { StreamGrant } from './token.ts';

/** The time for a client to send its token. */
export const authDeadlineMs = streamLimits.authSeconds * 1000;
const maxBadTokens = 5;
const expiringMs = streamLimits.expiringSeconds * 1000;
const expiredMs = streamLimits.expiredSeconds * 1000;

/** The limit of frames beyond the rate limit, after which the stream is closed. */
const maxRefused = 1000;

/** The maximum number of queued messages, each of at most 16 KiB. */
const maxWaiting = 32;

const malformed = 'A message must be a JSON text of the form {"event": "...", "args": ["..."]}';

/** The initial state of a stream. */
export const initial: SessionState = {
  at: 'unauthenticated',
  grant: undefined,
  badTokens: 0,
  historyAt: Number.NEGATIVE_INFINITY,
  statsAt: Number.NEGATIVE_INFINITY,
  statsRequested: false,
};

const openRows: RowsOf<Open> = {
  ...deniedRows,
  frame: onFrame,
  flood: onFlood,
  auth: (state, { token }) => [state, { do: 'verify', token }],
  unknown: (state, { event }) => [state, reply('permission denied', event)],
  'token refused': (state, { reason }) => refuseToken(state, reason),
  failed: (state, { reason }) => [state, reply('daemon error', reason)],
  'shut down': (state) => end(state, 'restart', 'service restart'),
  gone: (state) => [{ at: 'ended', grant: state.grant }, { do: 'release' }],
};
const authenticatedRows: RowsOf<Authenticated> = {
  ...openRows,
  ...resultRows,
  'token verified': (state, { grant }) =>
    grant.keyId === state.grant.keyId
      ? [state, { do: 'check grant', grant }]
      : refuseToken(state, 'The token is for another API key'),
  'grant checked': (state, { grant, access }) =>
    access === 'denied' ? revoke(state) : accept(state, grant, access, { do: 'resume' }),
  'access changed': onAccessChanged,
};
const currentRows: RowsOf<Authenticated> = { ...authenticatedRows, ...requestRows };

const table: StateTable<SessionState, SessionEvent, SessionEffect> = {
  unauthenticated: {
    ...openRows,
    timer: (state) => end(state, 'unauthenticated', 'no token came in time'),
    'token verified': (state, { grant }) => [state, { do: 'check grant', grant }],
    'grant checked': onFirstGrant,
  },
  live: { ...currentRows, timer: (state) => warn(state, 'expiring', state.grant.expiresAt) },
  expiring: { ...currentRows, timer: (state, { now }) => warn(state, 'expired', now + expiredMs) },
  expired: { ...authenticatedRows, timer: (state) => end(state, 'expired', 'the token expired') },
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
  if (waiting < maxWaiting) return [state, { do: 'queue', message }];
  return [state, refuseDropped(message) ?? reply('daemon error', 'Too many messages are waiting: one was dropped')];
}

function onFlood(
  state: Open,
  { message, refused }: { message: ClientMessage | undefined; refused: number },
): SessionStep {
  if (refused > maxRefused) return end(state, 'abuse', 'too many messages');
  const answers = [
    refused === 1 ? reply('daemon error', 'Too many messages: some were dropped') : undefined,
    message && refuseDropped(message),
  ];
  return [state, ...answers.filter((answer) => answer !== undefined)];
}

function onFirstGrant(state: Open, { grant, access, hasRoom }: GrantChecked): SessionStep {
  if (access === 'denied') return revoke(state);
  if (hasRoom) return accept(state, grant, access, { do: 'enter', keyId: grant.keyId });
  const answer = reply('daemon error', 'This API key has too many open console streams');
  return end(state, 'overload', 'too many streams', answer);
}

function onAccessChanged(state: Authenticated, { access }: { access: Access | 'unknown' }): SessionStep {
  if (access === 'denied') return revoke(state);
  if (access === 'unknown') return end(state, 'overload', 'access could not be checked');
  return [{ ...state, access }];
}

function refuseToken(state: Open, reason: string): SessionStep {
  const badTokens = state.badTokens + 1;
  const answer = reply('jwt error', reason);
  if (badTokens < maxBadTokens) return [{ ...state, badTokens }, answer];
  return end(state, 'unauthenticated', 'too many tokens were refused', answer);
}

function accept(state: Open, grant: StreamGrant, access: Authenticated['access'], follow: SessionEffect): SessionStep {
  const { issuedAt, expiresAt } = grant;
  const until = Math.max(expiresAt - expiringMs, issuedAt + (expiresAt - issuedAt) * 0.75);
  const next: Authenticated = { ...state, at: 'live', grant, access, badTokens: 0 };
  return [next, { do: 'wait', until }, reply('auth success'), follow];
}

function warn(state: Authenticated, at: 'expiring' | 'expired', until: number): SessionStep {
  return [{ ...state, at }, reply(`token ${at}`), { do: 'wait', until }];
}
