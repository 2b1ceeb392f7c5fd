import { expect, test } from 'vitest';
import { idle, toNextState } from '../../../server/hosting/console/upstream-state.ts';
import type { UpstreamEvent, UpstreamState } from '../../../server/hosting/console/upstream-state.ts';
import { describeStep, findTest } from './steps.ts';

const source = { name: 'source', close: () => undefined };
const late = { name: 'late source', close: () => undefined };
const error = { name: 'error' };

/** Of an upstream with one viewer, that could not be opened twice. */
const common = { source: undefined, viewers: 1, attempt: 3, failures: 2, lastError: 'no', status: undefined } as const;
const opening: UpstreamState = { ...common, at: 'opening' };
const open: UpstreamState = { ...common, at: 'open', source, failures: 0, lastError: undefined, status: 'offline' };
const backoff: UpstreamState = { ...common, at: 'backoff' };
const first: UpstreamState = { ...common, at: 'opening', failures: 0, lastError: undefined };
const states: Record<string, UpstreamState> = { idle, opening, open, backoff, closed: { ...common, at: 'closed' } };

const events: Record<string, UpstreamEvent> = {
  join: { type: 'join' },
  leave: { type: 'leave' },
  lingerOver: { type: 'lingerOver' },
  retry: { type: 'retry' },
  close: { type: 'close' },
  opened: { type: 'opened', attempt: 3, source },
  'opened too late': { type: 'opened', attempt: 2, source: late },
  refused: { type: 'refused', attempt: 3, error, reason: 'no', random: 0.5 },
  'refused for another reason': { type: 'refused', attempt: 3, error, reason: 'why', random: 1 },
  'refused too late': { type: 'refused', attempt: 2, error, reason: 'no', random: 1 },
  line: { type: 'line', attempt: 3, text: 'text' },
  'line too late': { type: 'line', attempt: 2, text: 'text' },
  status: { type: 'status', attempt: 3, status: 'running' },
  'same status': { type: 'status', attempt: 3, status: 'offline' },
  gap: { type: 'gap', attempt: 3, reason: 'gap' },
  error: { type: 'error', attempt: 3, reason: 'error' },
  ended: { type: 'ended', attempt: 3, reason: 'over' },
  'ended too late': { type: 'ended', attempt: 2, reason: 'over' },
};

/** What each event does in each state: `=` stands for the same as one state before, `-` for nothing. */
const table: [event: string, idle: string, opening: string, open: string, backoff: string, closed: string][] = [
  ['join', 'opening; viewers=1; open 1', 'viewers=2', 'viewers=2; admit', '=', '-'],
  ['leave', '-', 'viewers=0; wait lingerOver 30000', '=', '=', '-'],
  ['lingerOver', 'closed; attempt=2; release', '-', '-', '-', '-'],
  ['retry', '-', '-', '-', 'opening; open 3', '-'],
  [
    'close',
    'closed; attempt=2; release',
    'closed; attempt=4; release',
    'closed; source=undefined; attempt=4; close source; release',
    'closed; attempt=4; release',
    '-',
  ],
  ['opened', 'close source', 'open; source=source; admit', '-', '-', '-'],
  ['opened too late', 'close late source', '=', '=', '=', '='],
  ['refused', '-', 'backoff; attempt=4; failures=3; report error; admit; wait retry 3000', '-', '-', '-'],
  [
    'refused for another reason',
    '-',
    'backoff; attempt=4; failures=3; lastError=why; report error; append daemon error why; admit; wait retry 4000',
    '-',
    '-',
    '-',
  ],
  ['refused too late', '-', '-', '-', '-', '-'],
  [
    'line',
    '-',
    'failures=0; lastError=undefined; restart history; append gap The console was opened again: lines may be missing here; append console output text',
    'append console output text',
    '-',
    '-',
  ],
  ['line too late', '-', '-', '-', '-', '-'],
  [
    'status',
    '-',
    'failures=0; lastError=undefined; status=running; restart history; append gap The console was opened again: lines may be missing here; append status running',
    'status=running; append status running',
    '-',
    '-',
  ],
  [
    'same status',
    '-',
    'failures=0; lastError=undefined; status=offline; restart history; append gap The console was opened again: lines may be missing here; append status offline',
    '-',
    '-',
    '-',
  ],
  ['gap', '-', 'append gap gap', '=', '-', '-'],
  ['error', '-', 'append daemon error error', '=', '-', '-'],
  [
    'ended',
    '-',
    'backoff; attempt=4; lastError=over; append daemon error over; admit; wait retry 60000',
    'backoff; source=undefined; attempt=4; lastError=over; append daemon error over; admit; wait retry 60000',
    '-',
    '-',
  ],
  ['ended too late', '-', '-', '-', '-', '-'],
];

test.for(table)('%s', ([name, ...cells]) => {
  const expected = cells.reduce<string[]>((done, cell) => [...done, cell === '=' ? done.at(-1)! : cell], []);
  const steps = Object.values(states).map((state) => describeStep(state, toNextState(state, events[name]!)));
  expect(steps).toEqual(expected);
});

test('the table has every event', () => {
  expect(table.map(([name]) => name)).toEqual(Object.keys(events));
});

test.for<[string, UpstreamState, UpstreamEvent, string]>([
  ['of two viewers one may leave', { ...open, viewers: 2 }, events.leave!, 'viewers=1'],
  ['without viewers it is not tried again', { ...backoff, viewers: 0 }, events.retry!, 'idle'],
  [
    'without viewers it is given up while it is opened',
    { ...opening, viewers: 0 },
    events.lingerOver!,
    'closed; attempt=4; release',
  ],
  [
    'without viewers it is closed',
    { ...open, viewers: 0 },
    events.lingerOver!,
    'closed; source=undefined; attempt=4; close source; release',
  ],
  ['without viewers it is given up', { ...backoff, viewers: 0 }, events.lingerOver!, 'closed; attempt=4; release'],
  ['the first line of the first attempt', first, events.line!, 'append console output text'],
  [
    'the first failure',
    first,
    events.refused!,
    'backoff; attempt=4; failures=1; lastError=no; report error; append daemon error no; admit; wait retry 750',
  ],
  [
    'the tenth failure',
    { ...opening, failures: 9 },
    { ...events.refused, random: 1 } as UpstreamEvent,
    'backoff; attempt=4; failures=10; report error; admit; wait retry 60000',
  ],
])('%s', ([, state, event, expected]) => {
  expect(describeStep(state, toNextState(state, event))).toBe(expected);
});

/** For each row, a test through the front door that fails without it. */
const frontDoor: [row: string, test: string][] = [
  ['idle join', 'upstream-life: of two viewers who wait for a console one may leave'],
  ['idle lingerOver', 'upstream-life: a console that %s is not tried without viewers, and is forgotten after 30 s'],
  ['idle close', 'upstream-life: a console that is %s leaves no timer behind on shutdown'],
  ['opening join', 'upstream-life: of two viewers who wait for a console one may leave'],
  ['opening leave', 'upstream: an upstream that opens after its last viewer has left is closed at once'],
  ['opening lingerOver', 'upstream: an upstream that opens after its last viewer has left is closed at once'],
  ['opening close', 'upstream-life: a console that is being opened on shutdown is closed as soon as it is there'],
  ['opening line', 'upstream-life: a console that %s is not tried without viewers, and is forgotten after 30 s'],
  ['opening status', 'upstream: what an upstream says %s is history, and no viewer gets it twice'],
  ['opening gap', 'upstream-life: viewers read what an upstream says while it is opened again'],
  ['opening error', 'upstream-life: viewers read what an upstream says while it is opened again'],
  ['opening ended', 'upstream-life: viewers read what an upstream says while it is opened again'],
  ['opening opened', 'upstream-life: of two viewers who wait for a console one may leave'],
  ['opening refused', 'upstream-life: a console that %s is not tried without viewers, and is forgotten after 30 s'],
  ['open join', 'upstream: all viewers of a server share one upstream, and all hear the same'],
  ['open leave', 'upstream: the upstream outlives its last viewer by 30 s, so that a page can be loaded again'],
  ['open lingerOver', 'upstream: the upstream outlives its last viewer by 30 s, so that a page can be loaded again'],
  ['open close', 'upstream-life: a console that is %s leaves no timer behind on shutdown'],
  ['open line', 'upstream: all viewers of a server share one upstream, and all hear the same'],
  ['open status', 'upstream: all viewers of a server share one upstream, and all hear the same'],
  ['open gap', 'upstream: a gap and an error of the upstream are passed on between the lines where they happened'],
  ['open error', 'upstream: a gap and an error of the upstream are passed on between the lines where they happened'],
  ['open ended', 'upstream-life: viewers read what an upstream says while it is opened again'],
  [
    'backoff join',
    'upstream: an upstream that cannot be opened is reported, and tried again with growing waits while there are viewers',
  ],
  ['backoff leave', 'upstream-life: a console that %s is not tried without viewers, and is forgotten after 30 s'],
  ['backoff lingerOver', 'upstream-life: a console that %s is not tried without viewers, and is forgotten after 30 s'],
  ['backoff close', 'upstream-life: a console that is %s leaves no timer behind on shutdown'],
  ['backoff retry', 'upstream-life: viewers read what an upstream says while it is opened again'],
  ['opened too late', 'upstream-life: a console that is being opened on shutdown is closed as soon as it is there'],
];

test.for(frontDoor)('the row of %s is reached by a front-door test', ([, name]) => {
  expect(findTest(name)).toBe(true);
});

test('the front door reaches each row', () => {
  const names = Object.keys(states);
  const rows = Object.values(events).flatMap((event, at) =>
    names
      .filter((_, column) => table[at]![column + 1] !== '-' && event.type !== 'opened')
      .map((name) => `${name} ${event.type}`),
  );
  expect(frontDoor.map(([row]) => row)).toEqual(expect.arrayContaining(rows));
});
