import { expect, test } from 'vitest';
import { unknownStats } from '#contract/console-stream.ts';
import { idle, toNextState } from '../../../server/hosting/console/upstream-state.ts';
import type { UpstreamEvent, UpstreamState } from '../../../server/hosting/console/upstream-state.ts';
import { describeStep, findTest } from './steps.ts';

const unused = { stats: () => Promise.resolve(unknownStats), close: () => undefined };
const source = { name: 'source', ...unused };
const late = { name: 'late source', ...unused };
const error = { name: 'error' };

/** The fields of an upstream with one viewer and two failed openings. */
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
  loadOver: { type: 'loadOver' },
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
  loaded: { type: 'loaded', attempt: 3 },
  gap: { type: 'gap', attempt: 3, reason: 'gap' },
  error: { type: 'error', attempt: 3, reason: 'error' },
  ended: { type: 'ended', attempt: 3, reason: 'over' },
  'ended too late': { type: 'ended', attempt: 2, reason: 'over' },
};

/** The effects of each event by state: `=` repeats the previous state's cell, `-` means none. */
const table: [event: string, idle: string, opening: string, open: string, backoff: string, closed: string][] = [
  ['join', 'opening; viewers=1; open 1', 'viewers=2', 'viewers=2; admit', '=', '-'],
  ['leave', '-', 'viewers=0; wait lingerOver 30000', '=', '=', '-'],
  ['lingerOver', 'closed; attempt=2; release', '-', '-', '-', '-'],
  ['retry', '-', '-', '-', 'opening; open 3', '-'],
  ['loadOver', '-', 'admit history', '=', '=', '-'],
  [
    'close',
    'closed; attempt=2; release',
    'closed; attempt=4; release',
    'closed; source=undefined; attempt=4; close source; release',
    'closed; attempt=4; release',
    '-',
  ],
  ['opened', 'close source', 'open; source=source; admit; wait loadOver 5000', '-', '-', '-'],
  ['opened too late', 'close late source', '=', '=', '=', '='],
  [
    'refused',
    '-',
    'backoff; attempt=4; failures=3; report error; admit; admit history; wait retry 3000',
    '-',
    '-',
    '-',
  ],
  [
    'refused for another reason',
    '-',
    'backoff; attempt=4; failures=3; lastError=why; report error; append daemon error why; admit; admit history; wait retry 4000',
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
  ['loaded', '-', 'admit history', '=', '-', '-'],
  ['gap', '-', 'append gap gap; admit history', '=', '-', '-'],
  ['error', '-', 'append daemon error error', '=', '-', '-'],
  [
    'ended',
    '-',
    'backoff; attempt=4; lastError=over; append daemon error over; admit; admit history; wait retry 60000',
    'backoff; source=undefined; attempt=4; lastError=over; append daemon error over; admit; admit history; wait retry 60000',
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

test('the table covers every event', () => {
  expect(table.map(([name]) => name)).toEqual(Object.keys(events));
});

test.for<[string, UpstreamState, UpstreamEvent, string]>([
  ['one of two viewers leaves', { ...open, viewers: 2 }, events.leave!, 'viewers=1'],
  ['it is not retried without viewers', { ...backoff, viewers: 0 }, events.retry!, 'idle'],
  [
    'an opening without viewers is cancelled',
    { ...opening, viewers: 0 },
    events.lingerOver!,
    'closed; attempt=4; release',
  ],
  [
    'an open upstream without viewers is closed',
    { ...open, viewers: 0 },
    events.lingerOver!,
    'closed; source=undefined; attempt=4; close source; release',
  ],
  [
    'retries without viewers are cancelled',
    { ...backoff, viewers: 0 },
    events.lingerOver!,
    'closed; attempt=4; release',
  ],
  ['the first line of the first attempt', first, events.line!, 'append console output text'],
  [
    'the first failure',
    first,
    events.refused!,
    'backoff; attempt=4; failures=1; lastError=no; report error; append daemon error no; admit; admit history; wait retry 750',
  ],
  [
    'the tenth failure',
    { ...opening, failures: 9 },
    { ...events.refused, random: 1 } as UpstreamEvent,
    'backoff; attempt=4; failures=10; report error; admit; admit history; wait retry 60000',
  ],
])('%s', ([, state, event, expected]) => {
  expect(describeStep(state, toNextState(state, event))).toBe(expected);
});

/** For each row, an end-to-end test that fails without it. */
const endToEndTests: [row: string, test: string][] = [
  ['idle join', 'upstream-life: one of two viewers who wait for a console may leave'],
  ['idle lingerOver', 'upstream-life: a console that %s is not retried without viewers, and is discarded after 30 s'],
  ['idle close', 'upstream-life: a console that is %s leaves no timer after shutdown'],
  ['opening join', 'upstream-life: one of two viewers who wait for a console may leave'],
  ['opening leave', 'upstream: an upstream that opens after its last viewer has left is closed at once'],
  ['opening lingerOver', 'upstream: an upstream that opens after its last viewer has left is closed at once'],
  ['opening close', 'upstream-life: a console that opens during shutdown is closed at once'],
  ['opening line', 'upstream-life: a console that %s is not retried without viewers, and is discarded after 30 s'],
  ['opening status', 'upstream: upstream output %s goes into the history, and each viewer gets it once'],
  ['opening gap', 'upstream-life: viewers get the messages of an upstream that is reopening'],
  ['opening error', 'upstream-life: viewers get the messages of an upstream that is reopening'],
  ['opening ended', 'upstream-life: viewers get the messages of an upstream that is reopening'],
  ['opening opened', 'upstream-life: one of two viewers who wait for a console may leave'],
  ['opening refused', 'upstream-life: a console that %s is not retried without viewers, and is discarded after 30 s'],
  ['open join', 'upstream: all viewers of a server share one upstream and get the same lines'],
  ['open leave', 'upstream: the upstream stays open for 30 s after its last viewer, for page reloads'],
  ['open lingerOver', 'upstream: the upstream stays open for 30 s after its last viewer, for page reloads'],
  ['opening loaded', 'upstream: the lines that an upstream has buffered are the answer to an early send logs, once'],
  ['open loaded', 'upstream: the lines that an upstream has buffered are the answer to an early send logs, once'],
  ['opening loadOver', 'upstream: send logs is answered after 5 s if the upstream sends no lines'],
  ['open loadOver', 'upstream: send logs is answered after 5 s if the upstream sends no lines'],
  ['backoff loadOver', 'upstream: send logs is answered after 5 s if the upstream sends no lines'],
  ['open close', 'upstream-life: a console that is %s leaves no timer after shutdown'],
  ['open line', 'upstream: all viewers of a server share one upstream and get the same lines'],
  ['open status', 'upstream: all viewers of a server share one upstream and get the same lines'],
  ['open gap', 'upstream: a gap and an error of the upstream keep their position between the lines'],
  ['open error', 'upstream: a gap and an error of the upstream keep their position between the lines'],
  ['open ended', 'upstream-life: viewers get the messages of an upstream that is reopening'],
  ['backoff join', 'upstream: a failed opening is reported and retried with increasing delays while there are viewers'],
  ['backoff leave', 'upstream-life: a console that %s is not retried without viewers, and is discarded after 30 s'],
  [
    'backoff lingerOver',
    'upstream-life: a console that %s is not retried without viewers, and is discarded after 30 s',
  ],
  ['backoff close', 'upstream-life: a console that is %s leaves no timer after shutdown'],
  ['backoff retry', 'upstream-life: viewers get the messages of an upstream that is reopening'],
  ['opened too late', 'upstream-life: a console that opens during shutdown is closed at once'],
];

test.for(endToEndTests)('the row of %s has an end-to-end test', ([, name]) => {
  expect(findTest(name)).toBe(true);
});

test('every row has an end-to-end test', () => {
  const names = Object.keys(states);
  const rows = Object.values(events).flatMap((event, at) =>
    names
      .filter((_, column) => table[at]![column + 1] !== '-' && event.type !== 'opened')
      .map((name) => `${name} ${event.type}`),
  );
  expect(endToEndTests.map(([row]) => row)).toEqual(expect.arrayContaining(rows));
});
