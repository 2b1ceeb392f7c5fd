import { notAvailable } from '../../../upstream/reply.ts';
import { followTable } from '../../state-table.ts';
import type { StateTable, Step as StepOf } from '../../state-table.ts';
import type { ConsoleEvents, GameState } from '../types.ts';
import { toRenewal } from './grant.ts';
import type { Grant, Granted } from './grant.ts';
import type { Memory, SessionContext, SessionEffect, SessionEvent, SessionState } from './session-types.ts';

type Step = StepOf<SessionState, SessionEffect>;
type Remembering = Extract<SessionState, { memory: Memory }>;
type Following = Extract<SessionState, { sentAt: number }>;
type Refusal = Pick<Extract<Grant, { type: 'refused' }>, 'reason' | 'detail'>;

const lostGap = 'the connection to the console was lost';
const renewalGap = 'the credential of the console had to be renewed';

/** A session that nothing was done for yet; `retryDue` begins it. */
export const unbegun: SessionState = {
  at: 'waiting',
  memory: { gapReported: false, linesAsked: false, failures: 0 },
};

function tell(state: SessionState, event: keyof ConsoleEvents, text: string): Step {
  return [state, { do: 'tell', event, text }];
}

/** Reports that lines may be missing, unless that was done and none has come since. */
function tellGap({ memory }: Remembering, text: string): SessionEffect[] {
  return memory.gapReported ? [] : [{ do: 'tell', event: 'gap', text }];
}

function end(...effects: SessionEffect[]): Step {
  return [{ at: 'ended' }, { do: 'release' }, ...effects];
}

/** Ends the session for good. What is not the server's state is a mistake in our set-up. */
function refuse({ reason, detail }: Refusal, gap: SessionEffect[] = []): Step {
  const level = reason === notAvailable ? 'error' : 'info';
  const log = { do: 'log', level, details: { detail }, message: 'a console was refused' } as const;
  return end(log, ...gap, { do: 'tell', event: 'ended', text: reason });
}

function ask({ memory }: Remembering): Step {
  return [{ at: 'asking', memory }, { do: 'ask' }];
}

/** Tries again after a wait. The gap is reported at the loss: until the return, readers would take silence for peace. */
function lose(
  state: Remembering,
  { detail, retryAfterMs = 0 }: { readonly detail: string; readonly retryAfterMs?: number },
  { timings }: SessionContext,
  gap = lostGap,
): Step {
  const failures = state.memory.failures + 1;
  const ms = Math.min(timings.backoffMs * 2 ** (failures - 1), timings.longestBackoffMs);
  return [
    { at: 'waiting', memory: { ...state.memory, gapReported: true, failures } },
    { do: 'release' },
    { do: 'log', level: 'warn', details: { detail, failures }, message: 'a console was lost' },
    { do: 'backOff', ms, atLeastMs: retryAfterMs },
    ...tellGap(state, gap),
  ];
}

function loseToken(state: Following, event: { readonly detail: string }, context: SessionContext): Step {
  return lose(state, event, context, renewalGap);
}

function connect({ memory }: Remembering, grant: Granted): Step {
  return [
    { at: 'opening', memory, grant },
    { do: 'connect', url: grant.url },
  ];
}

/** Follows a server that is on another node now. */
function move(state: Following, grant: Granted): Step {
  const memory = { ...state.memory, gapReported: true };
  return [
    { at: 'opening', memory, grant },
    { do: 'release' },
    { do: 'connect', url: grant.url },
    ...tellGap(state, lostGap),
  ];
}

function authenticate(
  at: 'authenticating' | 'reauthenticating',
  { memory }: Remembering,
  grant: Granted,
  { now, timings }: SessionContext,
): Step {
  return [
    { at, memory, grant, sentAt: now },
    { do: 'setTimer', timer: 'authUnanswered', ms: timings.authMs },
    { do: 'send', event: 'auth', args: [grant.token] },
  ];
}

function accept(state: Following, _: unknown, { now }: SessionContext): Step {
  const ms = toRenewal(state.sentAt + state.grant.lifeMs - now);
  const asking: SessionEffect[] = state.memory.linesAsked ? [] : [{ do: 'send', event: 'send logs', args: [] }];
  return [
    { ...state, at: 'live', memory: { gapReported: false, linesAsked: true, failures: 0 } },
    { do: 'setTimer', timer: 'renewalDue', ms },
    ...asking,
  ];
}

/** Wings reports only the first in a row of the `auth` that it drops, so it is sent until it is answered or given up. */
function awaitThrottle(state: Following, _: unknown, { timings }: SessionContext): Step {
  return [state, { do: 'setTimer', timer: 'throttleOver', ms: timings.throttleMs }];
}

function sendAgain(state: Following, event: unknown, context: SessionContext): Step {
  return [...awaitThrottle(state, event, context), { do: 'send', event: 'auth', args: [state.grant.token] }];
}

/** Takes a hint that the token is about to end, unless it was sent just now. */
function renewSoon(state: Following, _: unknown, { now, timings }: SessionContext): Step {
  const isQuiet = now - state.sentAt < Math.min(timings.quietMs, state.grant.lifeMs / 2);
  return isQuiet ? [state] : renew(state);
}

function renew(state: Following): Step {
  return [{ ...state, at: 'renewing' }, { do: 'renew' }];
}

/** The token is over: the lines from here on are lost until it is renewed. */
function renewLate(state: Following): Step {
  const [next, ...effects] = reportLinesLost(state);
  return [{ ...next, at: 'renewing' }, { do: 'renew' }, ...effects];
}

function reportLinesLost(state: Following): StepOf<Following, SessionEffect> {
  return [{ ...state, memory: { ...state.memory, gapReported: true } }, ...tellGap(state, renewalGap)];
}

/** Waits with a renewal that failed while the token lasts; a connection that loses lines already is given up. */
function deferRenewal(state: Following, failed: Extract<Grant, { type: 'failed' }>, context: SessionContext): Step {
  const leftMs = state.sentAt + state.grant.lifeMs - context.now;
  if (state.memory.gapReported || leftMs <= 0) return lose(state, failed, context);
  const ms = Math.max(failed.retryAfterMs, Math.min(leftMs / 4, 15_000), 250);
  return [
    { ...state, at: 'deferred' },
    { do: 'setTimer', timer: 'renewalDue', ms },
  ];
}

const open = {
  closed: () => end(),
  locked: () => end({ do: 'tell', event: 'ended', text: notAvailable }),
};

const trying = { ...open, refused: (_: unknown, event: Refusal) => refuse(event) };

const following = {
  ...trying,
  lost: lose,
  line: (state: Following, { text }: { readonly text: string }) => tell(state, 'line', text),
  status: (state: Following, { status }: { readonly status: GameState }) => tell(state, 'status', status),
  rejected: loseToken,
  denied: (state: Following, { detail }: { readonly detail: string }) =>
    refuse({ reason: notAvailable, detail }, tellGap(state, renewalGap)),
};

const accepted = {
  ...following,
  nodeFailed: (state: Following) => tell(state, 'error', 'the game panel reported an error'),
};

const sending = {
  accepted: accept,
  throttled: awaitThrottle,
  throttleOver: sendAgain,
  authUnanswered: (state: Following, _: unknown, context: SessionContext) =>
    lose(state, { detail: 'no answer to auth' }, context),
};

/** All that can happen to a session. */
const table: StateTable<SessionState, SessionEvent, SessionEffect, [context: SessionContext]> = {
  asking: {
    ...trying,
    held: (state, { waitMs }) => [
      { at: 'waiting', memory: { ...state.memory, gapReported: true } },
      { do: 'setTimer', timer: 'retryDue', ms: waitMs },
      ...tellGap(state, 'the console has to wait'),
    ],
    granted: connect,
    failed: lose,
  },
  waiting: { ...open, retryDue: ask },
  opening: {
    ...trying,
    lost: lose,
    opened: (state, _, context) => authenticate('authenticating', state, state.grant, context),
  },
  authenticating: { ...following, ...sending, expired: loseToken, nodeFailed: lose },
  live: {
    ...accepted,
    expiring: renewSoon,
    expired: renewLate,
    renewalDue: renew,
  },
  renewing: {
    ...accepted,
    expired: reportLinesLost,
    granted: (state, grant, context) =>
      grant.url === state.grant.url ? authenticate('reauthenticating', state, grant, context) : move(state, grant),
    failed: deferRenewal,
  },
  deferred: { ...accepted, expired: loseToken, renewalDue: renew },
  reauthenticating: { ...accepted, ...sending, expired: reportLinesLost },
  ended: {},
};

/** The state of a session after an event, and what is to be done. */
export function toNextState(state: SessionState, event: SessionEvent, context: SessionContext): Step {
  return followTable(table, state, event, context);
}
