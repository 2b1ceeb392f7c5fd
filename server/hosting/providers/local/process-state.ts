import { offline as offlineMessage } from '../../../upstream/reply.ts';
import { followTable } from '../../state-table.ts';
import type { StateTable, Step as StepOf } from '../../state-table.ts';
import type { GameState } from '../types.ts';

/** The commands of a local server. `restart` ends it with SIGTERM, `reset` with SIGKILL; both start it again. */
export type ProcessCommand = 'start' | 'stop' | 'restart' | 'kill' | 'reset' | 'close';

interface AfterEnd {
  /** The command to run after the end. */
  readonly pending: 'start' | 'close' | undefined;
  /** The status for console readers. */
  readonly status: 'running' | 'stopping';
}

/** The state of a local server. */
export type ProcessState =
  | { readonly at: 'offline' | 'starting' | 'running' | 'closed' }
  /** The process is ending, or has ended and left other processes of its group. */
  | (AfterEnd & { readonly at: 'stopping'; readonly killedAt: number })
  /** The group is gone, so its id may be reused; its output is still read. */
  | (AfterEnd & { readonly at: 'reading' });

/** The events of a local server. */
export type ProcessEvent =
  | { readonly type: ProcessCommand | 'spawned' | 'failed' | 'graceOver' | 'outputRead' }
  /** The process has exited; its group has processes left, or none. */
  | { readonly type: 'groupLeft' | 'groupGone' }
  | { readonly type: 'write'; readonly line: string };

/** The effects of a local server. */
export type ProcessEffect =
  | { readonly do: 'show'; readonly status: GameState }
  /** `awaitSpawn` delays the caller until the process runs; `finish` resolves the close. */
  | { readonly do: 'spawn' | 'awaitSpawn' | 'readOutput' | 'finish' }
  /** SIGTERM with `graceOver` after the grace period, or SIGKILL, which cancels the grace period. */
  | { readonly do: 'terminate' | 'kill' }
  /** Checks soon whether the group has processes left. */
  | { readonly do: 'checkGroup' }
  | { readonly do: 'repeat' | 'repeatAfterSpawn'; readonly command: ProcessCommand }
  | { readonly do: 'write'; readonly line: string }
  | { readonly do: 'refuse'; readonly detail: string; readonly message?: string };

type Step = StepOf<ProcessState, ProcessEffect>;
type Ending = Extract<ProcessState, { status: unknown }>;

/** After a SIGKILL, processes left for longer are never reaped, as in a container without init. */
const reapMs = 500;

/** The initial state. */
export const offline: ProcessState = { at: 'offline' };

const stopping = { pending: undefined, status: 'stopping', killedAt: Number.POSITIVE_INFINITY } as const;

const start = (): Step => [{ at: 'starting' }, { do: 'spawn' }];

const refuse = (state: ProcessState): Step => [state, { do: 'refuse', detail: 'the provider is closed' }];

const refuseLine = (state: ProcessState): Step => [
  state,
  { do: 'refuse', detail: 'the local server is not running', message: offlineMessage },
];

/** Ends the process with SIGTERM. */
const terminate = (pending?: Ending['pending']) => (): Step => [
  { at: 'stopping', ...stopping, pending },
  { do: 'terminate' },
];

/** Ends the process with SIGKILL. */
const kill =
  (pending?: Ending['pending']) =>
  (state: ProcessState, _: unknown, now: number): Step => [
    { at: 'stopping', ...stopping, pending: keepClose(state, pending), killedAt: now },
    { do: 'kill' },
  ];

/** Sets the command to run after the end, and shows `stopping` to readers. */
const afterEnd =
  (pending?: Ending['pending']) =>
  (state: Ending): Step => [{ ...state, pending: keepClose(state, pending), status: 'stopping' }];

/** A pending close is final. */
function keepClose(state: ProcessState, pending: Ending['pending']): Ending['pending'] {
  return 'pending' in state && state.pending === 'close' ? 'close' : pending;
}

const awaitSpawn = (state: ProcessState): Step => [state, { do: 'awaitSpawn' }];

const repeatAfterSpawn = (state: ProcessState, { type }: { readonly type: ProcessCommand }): Step => [
  state,
  { do: 'repeatAfterSpawn', command: type },
];

const startAfterEnd = (state: Ending): Step =>
  state.pending === 'close' ? refuse(state) : [{ ...state, pending: 'start' }];

const readOutput = ({ pending, status }: Pick<Ending, 'pending' | 'status'>): Step => [
  { at: 'reading', pending, status },
  { do: 'readOutput' },
];

const notRunning = { write: refuseLine };
const ending = {
  ...notRunning,
  start: startAfterEnd,
  restart: afterEnd('start'),
  stop: afterEnd(),
  close: afterEnd('close'),
};

/** The transitions of a local server. */
const table: StateTable<ProcessState, ProcessEvent, ProcessEffect, [now: number]> = {
  offline: {
    ...notRunning,
    start,
    restart: start,
    reset: start,
    close: () => [{ at: 'closed' }, { do: 'finish' }],
  },
  starting: {
    ...notRunning,
    start: awaitSpawn,
    restart: awaitSpawn,
    stop: repeatAfterSpawn,
    kill: repeatAfterSpawn,
    reset: repeatAfterSpawn,
    close: repeatAfterSpawn,
    spawned: () => [{ at: 'running' }],
    failed: () => [offline],
  },
  running: {
    write: (state, { line }) => [state, { do: 'write', line }],
    stop: terminate(),
    restart: terminate('start'),
    close: terminate('close'),
    kill: kill(),
    reset: kill('start'),
    groupLeft: () => [{ at: 'stopping', ...stopping }, { do: 'terminate' }, { do: 'checkGroup' }],
    groupGone: () => readOutput({ pending: undefined, status: 'running' }),
  },
  stopping: {
    ...ending,
    kill: kill(),
    reset: kill('start'),
    graceOver: (state, event, now) => kill(state.pending)(state, event, now),
    groupLeft: (state, _, now) => (now - state.killedAt < reapMs ? [state, { do: 'checkGroup' }] : readOutput(state)),
    groupGone: readOutput,
  },
  reading: {
    ...ending,
    kill: afterEnd(),
    reset: afterEnd('start'),
    outputRead: ({ pending }) => (pending ? [offline, { do: 'repeat', command: pending }] : [offline]),
  },
  closed: { ...notRunning, start: refuse, restart: refuse, reset: refuse },
};

/** The status of a state for console readers. */
export function toStatus(state: ProcessState): GameState {
  if (state.at === 'reading') return state.status;
  return state.at === 'closed' ? 'offline' : state.at;
}

/** The next state of a local server after an event, and the effects. */
export function toNextState(state: ProcessState, event: ProcessEvent, now: number): Step {
  const [next, ...effects] = followTable(table, state, event, now);
  const status = toStatus(next);
  return status === toStatus(state) ? [next, ...effects] : [next, { do: 'show', status }, ...effects];
}
