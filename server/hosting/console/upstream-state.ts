import type { ConsoleSource, GameState } from '../providers/types.ts';
import type { BacklogEvent } from './backlog.ts';
import { toMessage } from './frame.ts';
import { followTable } from '../state-table.ts';
import type { Rows, StateTable, Step } from '../state-table.ts';

/** The state of the upstream connection of a console. */
export type UpstreamState = Common &
  (
    | { readonly at: 'idle' | 'opening' | 'backoff' | 'closed'; readonly source: undefined }
    | { readonly at: 'open'; readonly source: ConsoleSource }
  );

interface Common {
  readonly viewers: number;
  /** Events of earlier attempts are ignored. */
  readonly attempt: number;
  /** Failed attempts in a row. */
  readonly failures: number;
  /** Why the upstream failed, until it sends output again. */
  readonly lastError: string | undefined;
  readonly status: GameState | undefined;
}

interface OfSource {
  readonly attempt: number;
}

/** The events of an upstream. */
export type UpstreamEvent =
  | { readonly type: 'join' }
  | { readonly type: 'leave' }
  /** The back-off is over. */
  | { readonly type: 'retry' }
  /** The linger time after the last viewer is over. */
  | { readonly type: 'lingerOver' }
  /** The upstream had enough time to send its buffered lines. */
  | { readonly type: 'loadOver' }
  | { readonly type: 'close' }
  | (OfSource & { readonly type: 'opened'; readonly source: ConsoleSource })
  /** The upstream could not be opened; `random` is from 0 to 1, for jitter. */
  | (OfSource & { readonly type: 'refused'; readonly error: unknown; readonly reason: string; readonly random: number })
  | (OfSource & { readonly type: 'line'; readonly text: string })
  | (OfSource & { readonly type: 'loaded' })
  | (OfSource & { readonly type: 'status'; readonly status: GameState })
  | (OfSource & { readonly type: 'gap' | 'error' | 'ended'; readonly reason: string });

/** The effects of an upstream. */
export type UpstreamEffect =
  | { readonly do: 'open'; readonly attempt: number }
  | { readonly do: 'close'; readonly source: ConsoleSource }
  /** Sets a timer, which replaces an earlier one with the same event. */
  | { readonly do: 'wait'; readonly for: 'retry' | 'lingerOver' | 'loadOver'; readonly ms: number }
  | { readonly do: 'append'; readonly event: BacklogEvent; readonly text: string }
  /** Excludes all current lines from the history. */
  | { readonly do: 'restart history' }
  /** Sends history to viewers that wait for it; later ones need not wait. */
  | { readonly do: 'admit history' }
  /** Starts the output of waiting viewers. */
  | { readonly do: 'admit' }
  | { readonly do: 'report'; readonly error: unknown }
  /** Releases the resources of the channel. */
  | { readonly do: 'release' };

type UpstreamStep = Step<UpstreamState, UpstreamEffect>;
type UpstreamRows = Rows<UpstreamState, UpstreamState, UpstreamEvent, UpstreamEffect>;

/** How long the upstream stays open without viewers, so that a reloaded page finds it open. */
const lingerMs = 30_000;

/** How long a request for history waits for the buffered lines of the upstream. */
const loadMs = 5000;

/** The back-off doubles from the first to the maximum; after `ended` it is the maximum. */
const retryMs = { first: 1000, max: 60_000 };

/** The initial state. */
export const idle: UpstreamState = {
  at: 'idle',
  source: undefined,
  viewers: 0,
  attempt: 1,
  failures: 0,
  lastError: undefined,
  status: undefined,
};

/** Whether the upstream is open or opening. */
export function hasUpstream({ at }: UpstreamState): boolean {
  return at === 'opening' || at === 'open';
}

/** The first messages for a viewer. */
export function toGreeting({ status, lastError }: UpstreamState): string[] {
  return [
    ...(status === undefined ? [] : [toMessage('status', status)]),
    ...(lastError === undefined ? [] : [toMessage('daemon error', lastError)]),
  ];
}

const viewerRows: UpstreamRows = {
  join: (state) => [{ ...state, viewers: state.viewers + 1 }, { do: 'admit' }],
  leave: (state) => onLeave({ ...state, viewers: state.viewers - 1 }),
  loadOver: (state) => [state, { do: 'admit history' }],
  lingerOver: (state) => (state.viewers > 0 ? [state] : close(state)),
  close,
};
const sourceRows: UpstreamRows = {
  ...viewerRows,
  line: (state, { text }) => onOutput(state, { do: 'append', event: 'console output', text }),
  status: onStatus,
  loaded: (state) => [state, { do: 'admit history' }],
  gap: (state, { reason }) => [state, { do: 'append', event: 'gap', text: reason }, { do: 'admit history' }],
  error: (state, { reason }) => [state, { do: 'append', event: 'daemon error', text: reason }],
  ended: (state, { reason }) => fail(state, reason, retryMs.max),
};

const table: StateTable<UpstreamState, UpstreamEvent, UpstreamEffect> = {
  idle: {
    join: (state) => connect({ ...state, viewers: 1 }),
    lingerOver: close,
    close,
  },
  opening: {
    ...sourceRows,
    join: (state) => [{ ...state, viewers: state.viewers + 1 }],
    opened: (state, { source }) => [
      { ...state, at: 'open', source },
      { do: 'admit' },
      { do: 'wait', for: 'loadOver', ms: loadMs },
    ],
    refused: onRefused,
  },
  open: sourceRows,
  backoff: {
    ...viewerRows,
    retry: (state) => (state.viewers > 0 ? connect(state) : [{ ...state, at: 'idle', source: undefined }]),
  },
  closed: {},
};

/** The next state of an upstream after an event, and the effects. */
export function toNextState(state: UpstreamState, event: UpstreamEvent): UpstreamStep {
  const isStale = 'attempt' in event && event.attempt !== state.attempt;
  if (!isStale) return followTable(table, state, event);
  return event.type === 'opened' ? [state, { do: 'close', source: event.source }] : [state];
}

function connect(state: UpstreamState): UpstreamStep {
  return [
    { ...state, at: 'opening', source: undefined },
    { do: 'open', attempt: state.attempt },
  ];
}

function onLeave(state: UpstreamState): UpstreamStep {
  return state.viewers > 0 ? [state] : [state, { do: 'wait', for: 'lingerOver', ms: lingerMs }];
}

function onStatus(state: UpstreamState, { status }: { status: GameState }): UpstreamStep {
  if (status === state.status) return onOutput(state);
  return onOutput({ ...state, status }, { do: 'append', event: 'status', text: status });
}

/** Half of the wait is jitter, so that the consoles of a recovered panel do not all reconnect at once. */
function onRefused(
  state: UpstreamState,
  { error, reason, random }: { error: unknown; reason: string; random: number },
): UpstreamStep {
  const wait = Math.min(retryMs.max, retryMs.first * 2 ** state.failures) * (0.5 + random / 2);
  return fail({ ...state, failures: state.failures + 1 }, reason, wait, { do: 'report', error });
}

function fail(state: UpstreamState, reason: string, ms: number, ...reports: UpstreamEffect[]): UpstreamStep {
  const messages: UpstreamEffect[] =
    reason === state.lastError ? [] : [{ do: 'append', event: 'daemon error', text: reason }];
  return [
    { ...state, at: 'backoff', source: undefined, attempt: state.attempt + 1, lastError: reason },
    ...reports,
    ...messages,
    { do: 'admit' },
    { do: 'admit history' },
    { do: 'wait', for: 'retry', ms },
  ];
}

/** The first output after a failure starts a new history, since a source repeats its buffered lines. */
function onOutput(state: UpstreamState, ...effects: UpstreamEffect[]): UpstreamStep {
  if (state.lastError === undefined) return [state, ...effects];
  return [
    { ...state, failures: 0, lastError: undefined },
    { do: 'restart history' },
    { do: 'append', event: 'gap', text: 'The console was opened again: lines may be missing here' },
    ...effects,
  ];
}

function close(state: UpstreamState): UpstreamStep {
  const closed: UpstreamState = { ...state, at: 'closed', source: undefined, attempt: state.attempt + 1 };
  return [closed, ...(state.source ? [{ do: 'close', source: state.source } as const] : []), { do: 'release' }];
}
