import type { ConsoleSource, GameState } from '../providers/types.ts';
import type { BacklogEvent } from './backlog.ts';
import { toMessage } from './frame.ts';
import { followTable } from '../state-table.ts';
import type { Rows, StateTable, Step } from '../state-table.ts';

/** Where the one connection to a server's console stands. */
export type UpstreamState = Common &
  (
    | { readonly at: 'idle' | 'opening' | 'backoff' | 'closed'; readonly source: undefined }
    | { readonly at: 'open'; readonly source: ConsoleSource }
  );

interface Common {
  readonly viewers: number;
  /** What belongs to an earlier attempt does not count any more. */
  readonly attempt: number;
  /** Attempts in a row that could not be opened. */
  readonly failures: number;
  /** Why there is no upstream, until it speaks again. */
  readonly trouble: string | undefined;
  readonly status: GameState | undefined;
}

interface OfSource {
  readonly attempt: number;
}

/** What happens to an upstream. */
export type UpstreamEvent =
  | { readonly type: 'join' }
  | { readonly type: 'leave' }
  /** The time has come to try again. */
  | { readonly type: 'retry' }
  /** Some time has passed since all viewers had left. */
  | { readonly type: 'lingered' }
  | { readonly type: 'close' }
  | (OfSource & { readonly type: 'opened'; readonly source: ConsoleSource })
  /** It could not be opened; chance is from 0 to 1. */
  | (OfSource & { readonly type: 'refused'; readonly error: unknown; readonly reason: string; readonly chance: number })
  | (OfSource & { readonly type: 'line'; readonly text: string })
  | (OfSource & { readonly type: 'status'; readonly status: GameState })
  | (OfSource & { readonly type: 'gap' | 'error' | 'ended'; readonly reason: string });

/** What the shell of an upstream does. */
export type UpstreamEffect =
  | { readonly do: 'open'; readonly attempt: number }
  | { readonly do: 'close'; readonly source: ConsoleSource }
  /** Sets a timer, in place of an earlier one with the same event. */
  | { readonly do: 'wait'; readonly for: 'retry' | 'lingered'; readonly ms: number }
  | { readonly do: 'append'; readonly event: BacklogEvent; readonly text: string }
  /** What there is so far is no history any more. */
  | { readonly do: 'restart history' }
  /** Lets the viewers who wait begin. */
  | { readonly do: 'admit' }
  | { readonly do: 'report'; readonly error: unknown }
  /** Gives up what the channel holds. */
  | { readonly do: 'release' };

type UpstreamStep = Step<UpstreamState, UpstreamEffect>;
type UpstreamRows = Rows<UpstreamState, UpstreamState, UpstreamEvent, UpstreamEffect>;

/** How long the upstream stays open without viewers, so that a page that is loaded again finds it as it was. */
const lingerMs = 30_000;

/** The wait before a new attempt doubles up to this; a source that says that it is over is tried after the longest. */
const retryMs = { first: 1000, longest: 60_000 };

/** An upstream that nothing has asked for. */
export const idle: UpstreamState = {
  at: 'idle',
  source: undefined,
  viewers: 0,
  attempt: 1,
  failures: 0,
  trouble: undefined,
  status: undefined,
};

/** Whether a connection is open, or about to be. */
export function hasUpstream({ at }: UpstreamState): boolean {
  return at === 'opening' || at === 'open';
}

/** What a viewer is sent first. */
export function toGreeting({ status, trouble }: UpstreamState): string[] {
  return [
    ...(status === undefined ? [] : [toMessage('status', status)]),
    ...(trouble === undefined ? [] : [toMessage('daemon error', trouble)]),
  ];
}

const viewerRows: UpstreamRows = {
  join: (state) => [{ ...state, viewers: state.viewers + 1 }, { do: 'admit' }],
  leave: (state) => onLeave({ ...state, viewers: state.viewers - 1 }),
  lingered: (state) => (state.viewers > 0 ? [state] : close(state)),
  close,
};
const sourceRows: UpstreamRows = {
  ...viewerRows,
  line: (state, { text }) => speak(state, { do: 'append', event: 'console output', text }),
  status: onStatus,
  gap: (state, { reason }) => [state, { do: 'append', event: 'gap', text: reason }],
  error: (state, { reason }) => [state, { do: 'append', event: 'daemon error', text: reason }],
  ended: (state, { reason }) => fail(state, reason, retryMs.longest),
};

const table: StateTable<UpstreamState, UpstreamEvent, UpstreamEffect> = {
  idle: {
    join: (state) => connect({ ...state, viewers: 1 }),
    lingered: close,
    close,
  },
  opening: {
    ...sourceRows,
    join: (state) => [{ ...state, viewers: state.viewers + 1 }],
    opened: (state, { source }) => [{ ...state, at: 'open', source }, { do: 'admit' }],
    refused: onRefused,
  },
  open: sourceRows,
  backoff: {
    ...viewerRows,
    retry: (state) => (state.viewers > 0 ? connect(state) : [{ ...state, at: 'idle', source: undefined }]),
  },
  closed: {},
};

/** What an event makes of an upstream. */
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
  return state.viewers > 0 ? [state] : [state, { do: 'wait', for: 'lingered', ms: lingerMs }];
}

function onStatus(state: UpstreamState, { status }: { status: GameState }): UpstreamStep {
  if (status === state.status) return speak(state);
  return speak({ ...state, status }, { do: 'append', event: 'status', text: status });
}

/** Half of the wait is chance, so that the servers of a panel that was down do not all come back at once. */
function onRefused(
  state: UpstreamState,
  { error, reason, chance }: { error: unknown; reason: string; chance: number },
): UpstreamStep {
  const wait = Math.min(retryMs.longest, retryMs.first * 2 ** state.failures) * (0.5 + chance / 2);
  return fail({ ...state, failures: state.failures + 1 }, reason, wait, { do: 'report', error });
}

function fail(state: UpstreamState, reason: string, ms: number, ...reports: UpstreamEffect[]): UpstreamStep {
  const said: UpstreamEffect[] =
    reason === state.trouble ? [] : [{ do: 'append', event: 'daemon error', text: reason }];
  return [
    { ...state, at: 'backoff', source: undefined, attempt: state.attempt + 1, trouble: reason },
    ...reports,
    ...said,
    { do: 'admit' },
    { do: 'wait', for: 'retry', ms },
  ];
}

/** The first word after a failure begins a new history: a source begins with the lines that it still has. */
function speak(state: UpstreamState, ...effects: UpstreamEffect[]): UpstreamStep {
  if (state.trouble === undefined) return [state, ...effects];
  return [
    { ...state, failures: 0, trouble: undefined },
    { do: 'restart history' },
    { do: 'append', event: 'gap', text: 'The console was opened again: lines may be missing here' },
    ...effects,
  ];
}

function close(state: UpstreamState): UpstreamStep {
  const closed: UpstreamState = { ...state, at: 'closed', source: undefined, attempt: state.attempt + 1 };
  return [closed, ...(state.source ? [{ do: 'close', source: state.source } as const] : []), { do: 'release' }];
}
