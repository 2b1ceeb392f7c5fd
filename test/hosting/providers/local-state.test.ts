import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { toNextState } from '../../../server/hosting/providers/local/process-state.ts';
import type {
  ProcessEffect,
  ProcessEvent,
  ProcessState,
} from '../../../server/hosting/providers/local/process-state.ts';

const now = 10_000;
const killed = (ago: number): ProcessState => ({
  at: 'stopping',
  pending: undefined,
  status: 'stopping',
  killedAt: now - ago,
});
const terminating = { status: 'stopping', killedAt: Number.POSITIVE_INFINITY } as const;

const states: Readonly<Record<string, ProcessState>> = {
  offline: { at: 'offline' },
  starting: { at: 'starting' },
  running: { at: 'running' },
  stopping: { at: 'stopping', pending: undefined, ...terminating },
  'stopping, then start': { at: 'stopping', pending: 'start', ...terminating },
  'stopping, then close': { at: 'stopping', pending: 'close', ...terminating },
  'reading, shown as running': { at: 'reading', pending: undefined, status: 'running' },
  'reading, then start': { at: 'reading', pending: 'start', status: 'stopping' },
  'reading, then close': { at: 'reading', pending: 'close', status: 'stopping' },
  closed: { at: 'closed' },
};

const events: readonly ProcessEvent[] = [
  ...(['start', 'stop', 'restart', 'kill', 'reset', 'close'] as const).map((type) => ({ type })),
  ...(['spawned', 'failed', 'groupLeft', 'groupGone', 'graceOver', 'outputRead'] as const).map((type) => ({ type })),
  { type: 'write', line: 'list' },
];

function describeState(state: ProcessState): string {
  const parts: string[] = [state.at];
  if (state.at === 'reading' && state.status === 'running') parts.push('shown as running');
  if ('pending' in state && state.pending) parts.push(`then ${state.pending}`);
  if (state.at === 'stopping' && Number.isFinite(state.killedAt)) parts.push(`killed ${now - state.killedAt} ms ago`);
  return parts.join(', ');
}

function describeStep(state: ProcessState, event: ProcessEvent): string {
  const [next, ...effects] = toNextState(state, event, now);
  if (next === state && effects.length === 0) return 'nothing';
  return [describeState(next), ...effects.map(describeEffect)].join(' | ');
}

/** The effect and its first argument. */
function describeEffect({ do: name, ...rest }: ProcessEffect): string {
  return [name, ...Object.values(rest).slice(0, 1)].join(' ');
}

/** The next state, then the effects; an event that is not listed has no effect. */
const table: Readonly<Record<string, Partial<Record<ProcessEvent['type'], string>>>> = {
  offline: {
    start: 'starting | show starting | spawn',
    restart: 'starting | show starting | spawn',
    reset: 'starting | show starting | spawn',
    close: 'closed | finish',
    write: 'offline | refuse the local server is not running',
  },
  starting: {
    start: 'starting | awaitSpawn',
    stop: 'starting | repeatAfterSpawn stop',
    restart: 'starting | awaitSpawn',
    kill: 'starting | repeatAfterSpawn kill',
    reset: 'starting | repeatAfterSpawn reset',
    close: 'starting | repeatAfterSpawn close',
    spawned: 'running | show running',
    failed: 'offline | show offline',
    write: 'starting | refuse the local server is not running',
  },
  running: {
    stop: 'stopping | show stopping | terminate',
    restart: 'stopping, then start | show stopping | terminate',
    kill: 'stopping, killed 0 ms ago | show stopping | kill',
    reset: 'stopping, then start, killed 0 ms ago | show stopping | kill',
    close: 'stopping, then close | show stopping | terminate',
    groupLeft: 'stopping | show stopping | terminate | checkGroup',
    groupGone: 'reading, shown as running | readOutput',
    write: 'running | write list',
  },
  stopping: {
    start: 'stopping, then start',
    stop: 'stopping',
    restart: 'stopping, then start',
    kill: 'stopping, killed 0 ms ago | kill',
    reset: 'stopping, then start, killed 0 ms ago | kill',
    close: 'stopping, then close',
    groupLeft: 'stopping | checkGroup',
    groupGone: 'reading | readOutput',
    graceOver: 'stopping, killed 0 ms ago | kill',
    write: 'stopping | refuse the local server is not running',
  },
  'stopping, then start': {
    start: 'stopping, then start',
    stop: 'stopping',
    restart: 'stopping, then start',
    kill: 'stopping, killed 0 ms ago | kill',
    reset: 'stopping, then start, killed 0 ms ago | kill',
    close: 'stopping, then close',
    groupLeft: 'stopping, then start | checkGroup',
    groupGone: 'reading, then start | readOutput',
    graceOver: 'stopping, then start, killed 0 ms ago | kill',
    write: 'stopping, then start | refuse the local server is not running',
  },
  'stopping, then close': {
    start: 'stopping, then close | refuse the provider is closed',
    stop: 'stopping, then close',
    restart: 'stopping, then close',
    kill: 'stopping, then close, killed 0 ms ago | kill',
    reset: 'stopping, then close, killed 0 ms ago | kill',
    close: 'stopping, then close',
    groupLeft: 'stopping, then close | checkGroup',
    groupGone: 'reading, then close | readOutput',
    graceOver: 'stopping, then close, killed 0 ms ago | kill',
    write: 'stopping, then close | refuse the local server is not running',
  },
  'reading, shown as running': {
    start: 'reading, shown as running, then start',
    stop: 'reading | show stopping',
    restart: 'reading, then start | show stopping',
    kill: 'reading | show stopping',
    reset: 'reading, then start | show stopping',
    close: 'reading, then close | show stopping',
    outputRead: 'offline | show offline',
    write: 'reading, shown as running | refuse the local server is not running',
  },
  'reading, then start': {
    start: 'reading, then start',
    stop: 'reading',
    restart: 'reading, then start',
    kill: 'reading',
    reset: 'reading, then start',
    close: 'reading, then close',
    outputRead: 'offline | show offline | repeat start',
    write: 'reading, then start | refuse the local server is not running',
  },
  'reading, then close': {
    start: 'reading, then close | refuse the provider is closed',
    stop: 'reading, then close',
    restart: 'reading, then close',
    kill: 'reading, then close',
    reset: 'reading, then close',
    close: 'reading, then close',
    outputRead: 'offline | show offline | repeat close',
    write: 'reading, then close | refuse the local server is not running',
  },
  closed: {
    start: 'closed | refuse the provider is closed',
    restart: 'closed | refuse the provider is closed',
    reset: 'closed | refuse the provider is closed',
    write: 'closed | refuse the local server is not running',
  },
};

describe.each(Object.entries(states))('%s', (name, state) => {
  test.each(events.map((event) => [event.type, event] as const))('%s', (_, event) => {
    expect(describeStep(state, event)).toBe(table[name]![event.type] ?? 'nothing');
  });
});

test('a remaining process group is waited for until 500 ms after its kill', () => {
  expect(describeStep(killed(499), { type: 'groupLeft' })).toBe('stopping, killed 499 ms ago | checkGroup');
  expect(describeStep(killed(500), { type: 'groupLeft' })).toBe('reading | readOutput');
});

/** For each title of a provider test, the rows that it covers; several states share some rows. */
const reached: Readonly<Record<string, readonly string[]>> = {
  'a game server is started, restarted, stopped and killed': ['offline.start', 'running.stop', 'running.restart'],
  'a command arrives unchanged and once': ['running.write'],
  'a command to an offline game server is refused with the reason': ['notRunning.write'],
  'a provider can be closed twice, and its consoles then send nothing': ['running.close', 'closed.start'],
  'a VPS is started, reset and stopped': ['running.reset'],
  'a server that ends by itself is offline and can be started again': ['running.groupGone', 'reading.outputRead'],
  'ends with a crashed server, before the next start': ['running.groupLeft'],
  'kill does not wait, also during a stop': ['stopping.kill'],
  'a server that ignores SIGTERM is killed after its grace period': ['stopping.graceOver'],
  'stop sends SIGTERM, and the output until the end is read': ['stopping.groupGone'],
  'ends with the server on %s': ['running.kill', 'stopping.groupLeft'],
  'a start while the server is stopping waits for its end': ['ending.start'],
  'a stop cancels a waiting start': ['ending.stop'],
  'a stop while the server is starting is not lost': ['starting.stop'],
  'a restart starts it': ['offline.restart', 'starting.spawned'],
  'a reset starts it': ['offline.reset'],
  'its provider closes at once': ['offline.close'],
  'a %s waits for the start and fails with it': ['starting.start', 'starting.restart', 'starting.failed'],
  'a kill ends it after its start': ['starting.kill'],
  'a reset ends it after its start, and starts it again': ['starting.reset'],
  'closing its provider stops it after its start': ['starting.close'],
  'a restart starts it after it has ended': ['ending.restart'],
  'a reset kills it and starts it again': ['stopping.reset'],
  'closing its provider waits for its end, and no action can cancel this': ['ending.close'],
  'a kill cancels a start, and is shown as a status': ['reading.kill'],
  'a reset starts it afterwards': ['reading.reset'],
  'a closed provider refuses actions that would start a server': ['closed.restart', 'closed.reset'],
};
const rowGroups: Readonly<Record<string, string>> = { stopping: 'ending', reading: 'ending' };

test('every row has an end-to-end test', () => {
  const files = ['game-suite.ts', 'vps-suite.ts', 'local.test.ts', 'local-actions.test.ts'];
  const slow = join(import.meta.dirname, '../../slow/hosting/providers');
  const sources = files
    .map((file) => readFileSync(join(file.endsWith('.test.ts') ? slow : import.meta.dirname, file), 'utf8'))
    .join('\n');
  expect(Object.keys(reached).filter((title) => !sources.includes(`'${title}'`))).toEqual([]);
  const rows = new Set(Object.values(reached).flat());
  const cells = Object.entries(table).flatMap(([name, cell]) =>
    Object.keys(cell).map((event) => [name.split(',')[0]!, event] as const),
  );
  const isReached = (state: string, event: string): boolean =>
    [state, rowGroups[state], 'notRunning'].some((group) => rows.has(`${group}.${event}`));
  expect(cells.filter(([state, event]) => !isReached(state, event))).toEqual([]);
});
