import { offline as offlineMessage } from '../../../upstream/reply.ts';
import { followTable } from '../../state-table.ts';
import type { StateTable, Step as StepOf } from '../../state-table.ts';
import type { GameState } from '../types.ts';

/** What may be asked of a local server; `restart` ends it politely and `reset` at once, and both start it again. */
export type ProcessCommand = 'start' | 'stop' | 'restart' | 'kill' | 'reset' | 'close';

interface AfterEnd {
  /** The command that waits for the end. */
  readonly pending: 'start' | 'close' | undefined;
  /** What readers of the console see. */
  readonly shown: 'running' | 'stopping';
}

/** The state of a local server. */
export type ProcessState =
  | { readonly at: 'offline' | 'starting' | 'running' | 'closed' }
  /** The process was asked to end, or has ended and left others of its group behind. */
  | (AfterEnd & { readonly at: 'stopping'; readonly killedAt: number })
  /** The group is gone, so that its id may be that of strangers by now; what it printed is still read. */
  | (AfterEnd & { readonly at: 'reading' });

/** What happens to a local server. */
export type ProcessEvent =
  | { readonly type: ProcessCommand | 'spawned' | 'failed' | 'graceOver' | 'outputRead' }
  /** The process has exited; its group still has members, or none. */
  | { readonly type: 'groupLeft' | 'groupGone' }
  | { readonly type: 'write'; readonly line: string };

/** What is to be done then. */
export type ProcessEffect =
  | { readonly do: 'show'; readonly status: GameState }
  /** `awaitSpawn` keeps who asked waiting until the process runs; `finish` says that it is closed. */
  | { readonly do: 'spawn' | 'awaitSpawn' | 'readOutput' | 'finish' }
  /** SIGTERM, and `graceOver` after the grace; or SIGKILL, after which the grace does not count. */
  | { readonly do: 'terminate' | 'kill' }
  /** Looks soon whether the group still has members. */
  | { readonly do: 'checkGroup' }
  | { readonly do: 'repeat' | 'repeatAfterSpawn'; readonly command: ProcessCommand }
  | { readonly do: 'write'; readonly line: string }
  | { readonly do: 'refuse'; readonly detail: string; readonly message?: string };

type Step = StepOf<ProcessState, ProcessEffect>;
type Ending = Extract<ProcessState, { shown: unknown }>;

/** After a SIGKILL, what is left for longer is never reaped, as in a container without an init. */
const reapMs = 500;

/** A server that does not run yet. */
export const offline: ProcessState = { at: 'offline' };

const unasked = { pending: undefined, shown: 'stopping', killedAt: Number.POSITIVE_INFINITY } as const;

const start = (): Step => [{ at: 'starting' }, { do: 'spawn' }];

const refuse = (state: ProcessState): Step => [state, { do: 'refuse', detail: 'the provider is closed' }];

const refuseLine = (state: ProcessState): Step => [
  state,
  { do: 'refuse', detail: 'the local server is not running', message: offlineMessage },
];

/** Ends the process politely. */
const terminate = (pending?: Ending['pending']) => (): Step => [
  { at: 'stopping', ...unasked, pending },
  { do: 'terminate' },
];

/** Ends the process at once. */
const kill =
  (pending?: Ending['pending']) =>
  (state: ProcessState, _: unknown, now: number): Step => [
    { at: 'stopping', ...unasked, pending: keepClose(state, pending), killedAt: now },
    { do: 'kill' },
  ];

/** Decides what comes after the end, which readers see from now on. */
const afterEnd =
  (pending?: Ending['pending']) =>
  (state: Ending): Step => [{ ...state, pending: keepClose(state, pending), shown: 'stopping' }];

/** Nothing takes a close back. */
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

const readOutput = ({ pending, shown }: Pick<Ending, 'pending' | 'shown'>): Step => [
  { at: 'reading', pending, shown },
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

/** All that can happen to a local server. */
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
    groupLeft: () => [{ at: 'stopping', ...unasked }, { do: 'terminate' }, { do: 'checkGroup' }],
    groupGone: () => readOutput({ pending: undefined, shown: 'running' }),
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

/** What readers of the console see of a state. */
export function toStatus(state: ProcessState): GameState {
  if (state.at === 'reading') return state.shown;
  return state.at === 'closed' ? 'offline' : state.at;
}

/** The state of a local server after an event, and what is to be done. */
export function toNextState(state: ProcessState, event: ProcessEvent, now: number): Step {
  const [next, ...effects] = followTable(table, state, event, now);
  const status = toStatus(next);
  return status === toStatus(state) ? [next, ...effects] : [next, { do: 'show', status }, ...effects];
}
