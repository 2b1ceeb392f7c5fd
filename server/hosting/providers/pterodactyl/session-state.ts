import type { ConsoleStats } from '#contract/console-stream.ts';
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

/** Statistics of a running server are not sent on after this time. */
const staleMs = 10_000;

const lostGap = 'the connection to the console was lost';
const renewalGap = 'the credential of the console had to be renewed';

/** The initial state; `retryDue` starts the session. */
export const initial: SessionState = {
  at: 'waiting',
  memory: { gapReported: false, logsRequested: false, failures: 0, stats: undefined },
};

function emit(state: SessionState, event: keyof ConsoleEvents, text: string): Step {
  return [state, { do: 'emit', event, text }];
}

/** Emits that lines may be missing, unless that was done and no line has arrived since. */
function emitGap({ memory }: Remembering, text: string): SessionEffect[] {
  return memory.gapReported ? [] : [{ do: 'emit', event: 'gap', text }];
}

function end(...effects: SessionEffect[]): Step {
  return [{ at: 'ended' }, { do: 'release' }, ...effects];
}

/** Ends the session for good. A refusal that is not due to the server's state is our configuration error. */
function refuse({ reason, detail }: Refusal, gap: SessionEffect[] = []): Step {
  const level = reason === notAvailable ? 'error' : 'info';
  const log = { do: 'log', level, details: { detail }, message: 'a console was refused' } as const;
  return end(log, ...gap, { do: 'emit', event: 'ended', text: reason });
}

function ask({ memory }: Remembering): Step {
  return [{ at: 'asking', memory }, { do: 'ask' }];
}

/** Retries after a back-off. The gap is reported at once, since readers cannot distinguish a loss from silence. */
function backOff(
  state: Remembering,
  { detail, retryAfterMs = 0 }: { readonly detail: string; readonly retryAfterMs?: number },
  { timings }: SessionContext,
  gap = lostGap,
): Step {
  const failures = state.memory.failures + 1;
  const ms = Math.min(timings.backoffMs * 2 ** (failures - 1), timings.maxBackoffMs);
  return [
    { at: 'waiting', memory: { ...state.memory, gapReported: true, failures, stats: undefined } },
    { do: 'release' },
    { do: 'log', level: 'warn', details: { detail, failures }, message: 'a console was lost' },
    { do: 'backOff', ms, atLeastMs: retryAfterMs },
    ...emitGap(state, gap),
  ];
}

function onTokenLost(state: Following, event: { readonly detail: string }, context: SessionContext): Step {
  return backOff(state, event, context, renewalGap);
}

function connect({ memory }: Remembering, grant: Granted): Step {
  return [
    { at: 'opening', memory, grant },
    { do: 'connect', url: grant.url },
  ];
}

/** Connects to another node after the server has moved. */
function move(state: Following, grant: Granted): Step {
  const memory = { ...state.memory, gapReported: true, stats: undefined };
  return [
    { at: 'opening', memory, grant },
    { do: 'release' },
    { do: 'connect', url: grant.url },
    ...emitGap(state, lostGap),
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

/** Wings sends statistics by itself only while the server runs, so they are requested too. */
function accept(state: Following, _: unknown, { now, timings }: SessionContext): Step {
  const ms = toRenewal(state.sentAt + state.grant.lifeMs - now);
  const logs: SessionEffect[] = [
    { do: 'send', event: 'send logs', args: [] },
    { do: 'setTimer', timer: 'loadOver', ms: timings.loadMs },
  ];
  return [
    { ...state, at: 'live', memory: { ...state.memory, gapReported: false, logsRequested: true, failures: 0 } },
    { do: 'setTimer', timer: 'renewalDue', ms },
    ...(state.memory.logsRequested ? [] : logs),
    { do: 'send', event: 'send stats', args: [] },
  ];
}

function onStats(
  state: Following,
  { stats, isOffline }: { readonly stats: ConsoleStats; readonly isOffline: boolean },
  { now }: SessionContext,
): Step {
  const memory = { ...state.memory, stats: { stats, isOffline, at: now } };
  return [{ ...state, memory }, { do: 'report stats' }];
}

/** The current statistics; undefined if they are not known. Wings sends them each second while the server runs. */
export function toStats(state: SessionState, now: number): ConsoleStats | undefined {
  const last = 'sentAt' in state ? state.memory.stats : undefined;
  return last && (last.isOffline || now - last.at < staleMs) ? last.stats : undefined;
}

/** Wings reports only the first of several dropped `auth`, so `auth` is repeated until there is an answer or a timeout. */
function awaitThrottle(state: Following, _: unknown, { timings }: SessionContext): Step {
  return [state, { do: 'setTimer', timer: 'throttleOver', ms: timings.throttleMs }];
}

function sendAgain(state: Following, event: unknown, context: SessionContext): Step {
  return [...awaitThrottle(state, event, context), { do: 'send', event: 'auth', args: [state.grant.token] }];
}

/** Renews the token when Wings warns that it expires, unless it was just sent. */
function renewSoon(state: Following, _: unknown, { now, timings }: SessionContext): Step {
  const isQuiet = now - state.sentAt < Math.min(timings.quietMs, state.grant.lifeMs / 2);
  return isQuiet ? [state] : renew(state);
}

function renew(state: Following): Step {
  return [{ ...state, at: 'renewing' }, { do: 'renew' }];
}

/** The token has expired: lines are lost until it is renewed. */
function renewLate(state: Following): Step {
  const [next, ...effects] = reportLinesLost(state);
  return [{ ...next, at: 'renewing' }, { do: 'renew' }, ...effects];
}

function reportLinesLost(state: Following): StepOf<Following, SessionEffect> {
  return [{ ...state, memory: { ...state.memory, gapReported: true } }, ...emitGap(state, renewalGap)];
}

/** Retries a failed renewal while the token is valid. A connection that already loses lines is closed. */
function deferRenewal(state: Following, failed: Extract<Grant, { type: 'failed' }>, context: SessionContext): Step {
  const leftMs = state.sentAt + state.grant.lifeMs - context.now;
  if (state.memory.gapReported || leftMs <= 0) return backOff(state, failed, context);
  const ms = Math.max(failed.retryAfterMs, Math.min(leftMs / 4, 15_000), 250);
  return [
    { ...state, at: 'deferred' },
    { do: 'setTimer', timer: 'renewalDue', ms },
  ];
}

const open = {
  closed: () => end(),
  locked: () => end({ do: 'emit', event: 'ended', text: notAvailable }),
};

const trying = { ...open, refused: (_: unknown, event: Refusal) => refuse(event) };

const following = {
  ...trying,
  lost: backOff,
  line: (state: Following, { text }: { readonly text: string }) => emit(state, 'line', text),
  status: (state: Following, { status }: { readonly status: GameState }) => emit(state, 'status', status),
  stats: onStats,
  loadOver: (state: Following) => emit(state, 'loaded', ''),
  rejected: onTokenLost,
  denied: (state: Following, { detail }: { readonly detail: string }) =>
    refuse({ reason: notAvailable, detail }, emitGap(state, renewalGap)),
};

const accepted = {
  ...following,
  statsWanted: (state: Following): Step => [state, { do: 'send', event: 'send stats', args: [] }],
  nodeFailed: (state: Following) => emit(state, 'error', 'the game panel reported an error'),
};

const sending = {
  accepted: accept,
  throttled: awaitThrottle,
  throttleOver: sendAgain,
  authUnanswered: (state: Following, _: unknown, context: SessionContext) =>
    backOff(state, { detail: 'no answer to auth' }, context),
};

/** The transitions of a session. */
const table: StateTable<SessionState, SessionEvent, SessionEffect, [context: SessionContext]> = {
  asking: {
    ...trying,
    rateLimited: (state, { waitMs }) => [
      { at: 'waiting', memory: { ...state.memory, gapReported: true } },
      { do: 'setTimer', timer: 'retryDue', ms: waitMs },
      ...emitGap(state, 'the console has to wait'),
    ],
    granted: connect,
    failed: backOff,
  },
  waiting: { ...open, retryDue: ask },
  opening: {
    ...trying,
    lost: backOff,
    opened: (state, _, context) => authenticate('authenticating', state, state.grant, context),
  },
  authenticating: { ...following, ...sending, expired: onTokenLost, nodeFailed: backOff },
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
  deferred: { ...accepted, expired: onTokenLost, renewalDue: renew },
  reauthenticating: { ...accepted, ...sending, expired: reportLinesLost },
  ended: {},
};

/** The next state of a session after an event, and the effects. */
export function toNextState(state: SessionState, event: SessionEvent, context: SessionContext): Step {
  return followTable(table, state, event, context);
}
