import { expect, test } from 'vitest';
import { unknownStats } from '../../../generator/contract/console-stream.ts';
import { initial, toNextState } from '../../../server/hosting/console/session-state.ts';
import type { Command, SessionEvent, SessionState } from '../../../server/hosting/console/session-types.ts';
import { describeStep, findTest } from './steps.ts';

const grant = {
  name: 'grant',
  keyId: 'key',
  secretHash: 'a'.repeat(64),
  server: 'game:mc',
  mode: 'read_write',
  issuedAt: 0,
  expiresAt: 600_000,
} as const;
const renewed = { ...grant, name: 'renewed', issuedAt: 400_000, expiresAt: 1_000_000 } as const;
const foreign = { ...grant, name: 'foreign', keyId: 'other' } as const;
const live: SessionState = {
  at: 'live',
  grant,
  access: 'ok',
  badTokens: 0,
  historyAt: 0,
  statsAt: 0,
  statsRequested: false,
};
const message = { type: 'auth', token: 'a', name: 'message' } as const;
const referenced = { type: 'send command', command: 'list', reference: 'ref', name: 'message' } as const;
const plain: Command = { text: 'list', reference: undefined };
const command: Command = { text: 'list', reference: 'ref' };

const states = {
  unauthenticated: initial,
  live,
  expiring: { ...live, at: 'expiring' },
  expired: { ...live, at: 'expired' },
  ended: { at: 'ended', grant },
} as const satisfies Record<string, SessionState>;

const malformed = 'reply daemon error: A message must be a JSON text of the form {"event": "...", "args": ["..."]}';

const events: Record<string, SessionEvent> = {
  frame: { type: 'frame', message, waiting: 31 },
  'malformed frame': { type: 'frame', message: undefined, waiting: 0 },
  'frame too many': { type: 'frame', message, waiting: 32 },
  'command too many': { type: 'frame', message: referenced, waiting: 32 },
  'flood begins': { type: 'flood', message, refused: 1 },
  'flood continues': { type: 'flood', message: undefined, refused: 1000 },
  'flood with a command': { type: 'flood', message: referenced, refused: 1 },
  'flood too long': { type: 'flood', message: referenced, refused: 1001 },
  auth: { type: 'auth', token: 'a' },
  'send logs': { type: 'send logs', now: 1000 },
  'send logs too soon': { type: 'send logs', now: 999 },
  'send stats': { type: 'send stats', now: 2000 },
  'send stats too soon': { type: 'send stats', now: 1999 },
  'send command': { type: 'send command', command: 'list', reference: undefined },
  'send command with a reference': { type: 'send command', command: 'list', reference: 'ref' },
  'invalid send command': { type: 'send command', command: undefined, reference: undefined },
  'invalid send command with a reference': { type: 'send command', command: undefined, reference: 'ref' },
  unknown: { type: 'unknown', event: 'x' },
  'token refused': { type: 'token refused', reason: 'no' },
  'token verified': { type: 'token verified', grant: renewed },
  'token of another key verified': { type: 'token verified', grant: foreign },
  'grant checked': { type: 'grant checked', grant: renewed, access: 'read_only', hasRoom: true },
  'grant checked, no room': { type: 'grant checked', grant: renewed, access: 'ok', hasRoom: false },
  'grant checked, denied': { type: 'grant checked', grant: renewed, access: 'denied', hasRoom: true },
  command: { type: 'command', command },
  'command checked': { type: 'command checked', command, access: 'ok' },
  'command checked, read only': { type: 'command checked', command, access: 'read_only' },
  'command checked, denied': { type: 'command checked', command, access: 'denied' },
  'command accepted': { type: 'command accepted', command: plain },
  'command with a reference accepted': { type: 'command accepted', command },
  'command refused': { type: 'command refused', command: plain, code: 'offline', reason: 'off' },
  'command with a reference refused': { type: 'command refused', command, code: 'offline', reason: 'off' },
  'stats due': { type: 'stats due' },
  stats: { type: 'stats', stats: { ...unknownStats, cpu: 1 }, now: 3000 },
  failed: { type: 'failed', reason: 'broken' },
  'access changed': { type: 'access changed', access: 'read_only' },
  'access denied': { type: 'access changed', access: 'denied' },
  'access unknown': { type: 'access changed', access: 'unknown' },
  timer: { type: 'timer', now: 5000 },
  'shut down': { type: 'shut down' },
  gone: { type: 'gone' },
};

/** The effects of each event by state: `=` repeats the previous state's cell, `-` means none. */
const table: [event: keyof typeof events, unauthenticated: string, live: string, expiring: string, expired: string][] =
  [
    ['frame', 'queue message', '=', '=', '='],
    ['malformed frame', malformed, '=', '=', '='],
    ['frame too many', 'reply daemon error: Too many messages are waiting: one was dropped', '=', '=', '='],
    ['command too many', 'reply command refused: ref: rate_limited', '=', '=', '='],
    ['flood begins', 'reply daemon error: Too many messages: some were dropped', '=', '=', '='],
    ['flood continues', '-', '-', '-', '-'],
    [
      'flood with a command',
      'reply daemon error: Too many messages: some were dropped; reply command refused: ref: rate_limited',
      '=',
      '=',
      '=',
    ],
    [
      'flood too long',
      'ended; release; close 1008 too many messages',
      'ended; release; close 1008 too many messages',
      '=',
      '=',
    ],
    ['auth', 'verify a', '=', '=', '='],
    [
      'send logs',
      'reply permission denied: send logs',
      'historyAt=1000; send history',
      '=',
      'reply permission denied: send logs',
    ],
    [
      'send logs too soon',
      'reply permission denied: send logs',
      'reply daemon error: The history is sent at most once a second',
      '=',
      'reply permission denied: send logs',
    ],
    [
      'send stats',
      'reply permission denied: send stats',
      'statsRequested=true; read stats',
      '=',
      'reply permission denied: send stats',
    ],
    [
      'send stats too soon',
      'reply permission denied: send stats',
      'statsRequested=true; wait for stats 2000',
      '=',
      'reply permission denied: send stats',
    ],
    [
      'send command',
      'reply permission denied: send command',
      'queue command list',
      '=',
      'reply permission denied: send command',
    ],
    [
      'send command with a reference',
      'reply permission denied: send command; reply command refused: ref: not_permitted',
      'queue command list ref',
      '=',
      'reply permission denied: send command; reply command refused: ref: not_permitted',
    ],
    [
      'invalid send command',
      'reply permission denied: send command',
      'reply daemon error: A command has 1 to 1,024 characters, one of them visible, and no control characters; a reference has 1 to 64',
      '=',
      'reply permission denied: send command',
    ],
    [
      'invalid send command with a reference',
      'reply permission denied: send command; reply command refused: ref: not_permitted',
      'reply command refused: ref: invalid',
      '=',
      'reply permission denied: send command; reply command refused: ref: not_permitted',
    ],
    ['unknown', 'reply permission denied: x', '=', '=', '='],
    ['token refused', 'badTokens=1; reply jwt error: no', '=', '=', '='],
    ['token verified', 'check grant renewed', '=', '=', '='],
    [
      'token of another key verified',
      'check grant foreign',
      'badTokens=1; reply jwt error: The token is for another API key',
      '=',
      '=',
    ],
    [
      'grant checked',
      'live; grant=renewed; access=read_only; wait 940000; reply auth success; enter key',
      'grant=renewed; access=read_only; wait 940000; reply auth success; resume',
      'live; grant=renewed; access=read_only; wait 940000; reply auth success; resume',
      '=',
    ],
    [
      'grant checked, no room',
      'ended; reply daemon error: This API key has too many open console streams; release; close 1013 too many streams',
      'grant=renewed; wait 940000; reply auth success; resume',
      'live; grant=renewed; wait 940000; reply auth success; resume',
      '=',
    ],
    [
      'grant checked, denied',
      'ended; release; close 4003 access was revoked',
      'ended; release; close 4003 access was revoked',
      '=',
      '=',
    ],
    ['command', '-', 'check command grant list ref', '=', '='],
    [
      'command checked',
      '-',
      'send command grant list ref',
      '=',
      'reply permission denied: send command; reply command refused: ref: not_permitted',
    ],
    [
      'command checked, read only',
      '-',
      'reply permission denied: send command; reply command refused: ref: not_permitted',
      '=',
      '=',
    ],
    ['command checked, denied', '-', 'ended; release; close 4003 access was revoked', '=', '='],
    ['command accepted', '-', '-', '-', '-'],
    ['command with a reference accepted', '-', 'reply command accepted: ref', '=', '='],
    ['command refused', '-', 'reply daemon error: off', '=', '='],
    ['command with a reference refused', '-', 'reply command refused: ref: offline', '=', '='],
    ['stats due', '-', 'read stats', '=', '='],
    [
      'stats',
      '-',
      'statsAt=3000; reply stats: {"cpu":1,"memory_bytes":null,"disk_bytes":null,"network_rx_bytes":null,"network_tx_bytes":null}',
      '=',
      '-',
    ],
    ['failed', 'reply daemon error: broken', '=', '=', '='],
    ['access changed', '-', 'access=read_only', '=', '='],
    ['access denied', '-', 'ended; release; close 4003 access was revoked', '=', '='],
    ['access unknown', '-', 'ended; release; close 1013 access could not be checked', '=', '='],
    [
      'timer',
      'ended; release; close 4000 no token came in time',
      'expiring; reply token expiring; wait 600000',
      'expired; reply token expired; wait 35000',
      'ended; release; close 4001 the token expired',
    ],
    ['shut down', 'ended; release; close 1012 service restart', 'ended; release; close 1012 service restart', '=', '='],
    ['gone', 'ended; release', 'ended; release', '=', '='],
  ];

test.for(table)('%s', ([name, ...cells]) => {
  const expected = cells.reduce<string[]>((done, cell) => [...done, cell === '=' ? done.at(-1)! : cell], []);
  const steps = Object.values(states).map((state) =>
    describeStep<SessionState>(state, toNextState(state, events[name]!)),
  );
  expect(steps).toEqual([...expected, '-']);
});

test('the table covers every event', () => {
  expect(table.map(([name]) => name)).toEqual(Object.keys(events));
});

test.for<[string, SessionState, SessionEvent, string]>([
  [
    'the fifth bad token ends the stream',
    { ...live, badTokens: 4 },
    events['token refused']!,
    'ended; reply jwt error: no; release; close 4000 too many tokens were refused',
  ],
  [
    'a valid token resets the count of bad ones',
    { ...live, badTokens: 4 },
    { ...events['grant checked'], access: 'ok' } as SessionEvent,
    'grant=renewed; badTokens=0; wait 940000; reply auth success; resume',
  ],
  [
    'a short token is renewed at three quarters of its life',
    live,
    { type: 'grant checked', grant: { ...renewed, expiresAt: 404_000 }, access: 'ok', hasRoom: true },
    'grant=renewed; wait 403000; reply auth success; resume',
  ],
  [
    'a read-only stream may not write',
    { ...live, grant: { ...grant, mode: 'read' } },
    events['send command']!,
    'reply permission denied: send command',
  ],
  [
    'a second request for statistics has the same answer',
    { ...live, statsRequested: true },
    events['send stats']!,
    '-',
  ],
  [
    'an expired stream forgets its request for statistics',
    { ...live, at: 'expired', statsRequested: true },
    events.stats!,
    'statsRequested=false',
  ],
  [
    'a read-only key may not write',
    { ...live, access: 'read_only' },
    events['send command']!,
    'reply permission denied: send command',
  ],
  [
    'a key without its scope may not write',
    { ...live, access: 'read_only' },
    events['command checked']!,
    'reply permission denied: send command; reply command refused: ref: not_permitted',
  ],
  [
    'a key that gets its scope back may',
    { ...live, access: 'read_only' },
    { type: 'access changed', access: 'ok' },
    'access=ok',
  ],
])('%s', ([, state, event, expected]) => {
  expect(describeStep(state, toNextState(state, event))).toBe(expected);
});

/** For each event, the end-to-end tests that fail if one of its rows is missing. */
const endToEndTests: Record<SessionEvent['type'], string[]> = {
  frame: ['states: a stream that is %s answers unknown messages with an error'],
  flood: ['states: a stream that is %s is closed if its client floods it'],
  auth: ['states: a stream that is %s follows the console after a valid token'],
  'send logs': ['states: a stream that is %s may ask for the history and statistics, and send a command: %s'],
  'send stats': ['states: a stream that is %s may ask for the history and statistics, and send a command: %s'],
  'send command': ['states: a stream that is %s may ask for the history and statistics, and send a command: %s'],
  unknown: ['states: a stream that is %s answers unknown messages with an error'],
  'token refused': ['states: a stream that is %s is closed after five bad tokens'],
  'token verified': ['states: a stream that is %s follows the console after a valid token'],
  'grant checked': ['states: a stream that is %s follows the console after a valid token'],
  command: ['states: a queued command of a stream that is %s %s'],
  'command checked': ['states: a queued command of a stream that is %s %s'],
  'command accepted': ['states: a queued command of a stream that is %s %s'],
  'command refused': ['commands: a command that %s is refused with the code %s'],
  'stats due': ['statistics: statistics are sent at most once in 2 s, and an early request waits'],
  stats: ['statistics: statistics are sent at most once in 2 s, and an early request waits'],
  failed: ['states: a stream that is %s gets an error if its token cannot be checked'],
  'access changed': ['states: a stream that is %s ends when its key is revoked'],
  timer: ['states: a stream that is %s changes its state after %i s'],
  'shut down': ['states: a stream that is %s is closed with 1012 on shutdown'],
  gone: ['states: a stream that is %s releases everything when its client disconnects'],
};

test.for(Object.entries(endToEndTests))('the rows of %s have end-to-end tests', ([, tests]) => {
  for (const name of tests) expect(findTest(name)).toBe(true);
});
