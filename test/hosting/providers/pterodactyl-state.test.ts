import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { unknownStats } from '#contract/console-stream.ts';
import { toNextState } from '../../../server/hosting/providers/pterodactyl/session-state.ts';
import type {
  SessionEffect,
  SessionEvent,
  SessionState,
} from '../../../server/hosting/providers/pterodactyl/session-types.ts';

const waits = { authMs: 15_000, throttleMs: 5500, backoffMs: 1000, maxBackoffMs: 3000, quietMs: 15_000, loadMs: 500 };
const timings = { ...waits, pingMs: 1, windowMs: 1, statsMs: 1 };
const now = 1_000_000;
const here = { type: 'granted', url: 'wss://node', token: 'old', lifeMs: 600_000 } as const;
const first = { gapReported: false, logsRequested: false, failures: 0, stats: undefined };
const later = { gapReported: false, logsRequested: true, failures: 0, stats: undefined };
const lossy = { gapReported: true, logsRequested: true, failures: 2, stats: undefined };

/** A connection whose token was sent this many milliseconds ago. */
function sent(at: Extract<SessionState, { sentAt: number }>['at'], ago: number, memory = later): SessionState {
  return { at, memory, grant: here, sentAt: now - ago };
}

const states: Readonly<Record<string, SessionState>> = {
  asking: { at: 'asking', memory: first },
  'asking (gap, lines, 2 failures)': { at: 'asking', memory: lossy },
  waiting: { at: 'waiting', memory: first },
  opening: { at: 'opening', memory: first, grant: here },
  authenticating: sent('authenticating', 10, first),
  live: sent('live', 15_000),
  'live (recently authenticated)': sent('live', 14_999),
  renewing: sent('renewing', 480_000),
  'renewing (gap, lines, 2 failures)': sent('renewing', 480_000, lossy),
  deferred: sent('deferred', 480_000),
  reauthenticating: sent('reauthenticating', 10),
  ended: { at: 'ended' },
};

const bareNames =
  'closed locked retryDue opened accepted authUnanswered throttled throttleOver renewalDue expiring loadOver statsWanted';
const bare = bareNames.split(' ').map((type) => [type, { type } as SessionEvent] as const);
const detailed = (['lost', 'expired', 'rejected', 'denied', 'nodeFailed'] as const).map(
  (type): [string, SessionEvent] => [type, { type, detail: '' }],
);

const events: Readonly<Record<string, SessionEvent>> = {
  ...Object.fromEntries([...bare, ...detailed]),
  granted: { ...here, token: 'new' },
  'granted elsewhere': { ...here, url: 'wss://other' },
  'refused for our mistake': { type: 'refused', reason: 'console is not available', detail: '' },
  refused: { type: 'refused', reason: 'suspended', detail: '' },
  failed: { type: 'failed', retryAfterMs: 60_000, detail: '' },
  rateLimited: { type: 'rateLimited', waitMs: 700 },
  line: { type: 'line', text: 'hi' },
  status: { type: 'status', status: 'running' },
  stats: { type: 'stats', stats: { ...unknownStats, cpu: 1 }, isOffline: false },
};

/** The state name with its memory. */
function describeState(state: SessionState): string {
  if (!('memory' in state)) return state.at;
  const { gapReported, logsRequested, failures, stats } = state.memory;
  const memory = [gapReported && 'gap', logsRequested && 'lines', failures > 0 && failures, stats && 'stats']
    .filter(Boolean)
    .join(' ');
  const token = 'sentAt' in state && state.sentAt === now ? ` by ${state.grant.token}` : '';
  return `${state.at}${token}${memory && ` (${memory})`}`;
}

function describeEffect(effect: SessionEffect): string {
  if (effect.do === 'log') return `log ${effect.level}`;
  const { do: name, ...rest } = effect;
  const text = [name, ...Object.values(rest).flat()].join(' ');
  return text.replace(/(?<=^emit gap )the c.*(lost|renewed)$/, '($1)');
}

function describeStep(state: SessionState, event: SessionEvent): string {
  const [next, ...effects] = toNextState(state, event, { now, timings });
  if (next === state && effects.length === 0) return 'nothing';
  return [describeState(next), ...effects.map(describeEffect)].join(' | ');
}

const ends = {
  closed: 'ended | release',
  locked: 'ended | release | emit ended console is not available',
};

const refusals = {
  ...ends,
  'refused for our mistake': 'ended | release | log error | emit ended console is not available',
  refused: 'ended | release | log info | emit ended suspended',
};

/** The effects of a connection that was already live once. */
const follow = (name: string) => ({
  ...refusals,
  line: `${name} (lines) | emit line hi`,
  status: `${name} (lines) | emit status running`,
  stats: `${name} (lines stats) | report stats`,
  loadOver: `${name} (lines) | emit loaded `,
  statsWanted: `${name} (lines) | send send stats`,
  lost: 'waiting (gap lines 1) | release | log warn | backOff 1000 0 | emit gap (lost)',
  rejected: 'waiting (gap lines 1) | release | log warn | backOff 1000 0 | emit gap (renewed)',
  denied: 'ended | release | log error | emit gap (renewed) | emit ended console is not available',
});

/** The next state, then the effects; an event that is not listed has no effect. */
const table: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  asking: {
    ...refusals,
    granted: 'opening | connect wss://node',
    'granted elsewhere': 'opening | connect wss://other',
    failed: 'waiting (gap 1) | release | log warn | backOff 1000 60000 | emit gap (lost)',
    rateLimited: 'waiting (gap) | setTimer retryDue 700 | emit gap the console has to wait',
  },
  'asking (gap, lines, 2 failures)': {
    ...refusals,
    granted: 'opening (gap lines 2) | connect wss://node',
    'granted elsewhere': 'opening (gap lines 2) | connect wss://other',
    failed: 'waiting (gap lines 3) | release | log warn | backOff 3000 60000',
    rateLimited: 'waiting (gap lines 2) | setTimer retryDue 700',
  },
  waiting: {
    ...ends,
    retryDue: 'asking | ask',
  },
  opening: {
    ...refusals,
    opened: 'authenticating by old | setTimer authUnanswered 15000 | send auth old',
    lost: 'waiting (gap 1) | release | log warn | backOff 1000 0 | emit gap (lost)',
  },
  authenticating: {
    ...refusals,
    lost: 'waiting (gap 1) | release | log warn | backOff 1000 0 | emit gap (lost)',
    line: 'authenticating | emit line hi',
    status: 'authenticating | emit status running',
    stats: 'authenticating (stats) | report stats',
    loadOver: 'authenticating | emit loaded ',
    accepted: 'live (lines) | setTimer renewalDue 479990 | send send logs | setTimer loadOver 500 | send send stats',
    authUnanswered: 'waiting (gap 1) | release | log warn | backOff 1000 0 | emit gap (lost)',
    throttled: 'authenticating | setTimer throttleOver 5500',
    throttleOver: 'authenticating | setTimer throttleOver 5500 | send auth old',
    expired: 'waiting (gap 1) | release | log warn | backOff 1000 0 | emit gap (renewed)',
    rejected: 'waiting (gap 1) | release | log warn | backOff 1000 0 | emit gap (renewed)',
    denied: 'ended | release | log error | emit gap (renewed) | emit ended console is not available',
    nodeFailed: 'waiting (gap 1) | release | log warn | backOff 1000 0 | emit gap (lost)',
  },
  live: {
    ...follow('live'),
    renewalDue: 'renewing (lines) | renew',
    expiring: 'renewing (lines) | renew',
    expired: 'renewing (gap lines) | renew | emit gap (renewed)',
    nodeFailed: 'live (lines) | emit error the game panel reported an error',
  },
  'live (recently authenticated)': {
    ...follow('live'),
    renewalDue: 'renewing (lines) | renew',
    expired: 'renewing (gap lines) | renew | emit gap (renewed)',
    nodeFailed: 'live (lines) | emit error the game panel reported an error',
  },
  renewing: {
    ...follow('renewing'),
    granted: 'reauthenticating by new (lines) | setTimer authUnanswered 15000 | send auth new',
    'granted elsewhere': 'opening (gap lines) | release | connect wss://other | emit gap (lost)',
    failed: 'deferred (lines) | setTimer renewalDue 60000',
    expired: 'renewing (gap lines) | emit gap (renewed)',
    nodeFailed: 'renewing (lines) | emit error the game panel reported an error',
  },
  'renewing (gap, lines, 2 failures)': {
    ...refusals,
    granted: 'reauthenticating by new (gap lines 2) | setTimer authUnanswered 15000 | send auth new',
    'granted elsewhere': 'opening (gap lines 2) | release | connect wss://other',
    failed: 'waiting (gap lines 3) | release | log warn | backOff 3000 60000',
    lost: 'waiting (gap lines 3) | release | log warn | backOff 3000 0',
    line: 'renewing (gap lines 2) | emit line hi',
    status: 'renewing (gap lines 2) | emit status running',
    stats: 'renewing (gap lines 2 stats) | report stats',
    loadOver: 'renewing (gap lines 2) | emit loaded ',
    statsWanted: 'renewing (gap lines 2) | send send stats',
    expired: 'renewing (gap lines 2)',
    rejected: 'waiting (gap lines 3) | release | log warn | backOff 3000 0',
    denied: 'ended | release | log error | emit ended console is not available',
    nodeFailed: 'renewing (gap lines 2) | emit error the game panel reported an error',
  },
  deferred: {
    ...follow('deferred'),
    renewalDue: 'renewing (lines) | renew',
    expired: 'waiting (gap lines 1) | release | log warn | backOff 1000 0 | emit gap (renewed)',
    nodeFailed: 'deferred (lines) | emit error the game panel reported an error',
  },
  reauthenticating: {
    ...follow('reauthenticating'),
    accepted: 'live (lines) | setTimer renewalDue 479990 | send send stats',
    authUnanswered: 'waiting (gap lines 1) | release | log warn | backOff 1000 0 | emit gap (lost)',
    throttled: 'reauthenticating (lines) | setTimer throttleOver 5500',
    throttleOver: 'reauthenticating (lines) | setTimer throttleOver 5500 | send auth old',
    expired: 'reauthenticating (gap lines) | emit gap (renewed)',
    nodeFailed: 'reauthenticating (lines) | emit error the game panel reported an error',
  },
  ended: {},
};

describe.each(Object.entries(states))('%s', (name, state) => {
  test.each(Object.entries(events))('%s', (eventName, event) => {
    expect(describeStep(state, event)).toBe(table[name]![eventName] ?? 'nothing');
  });
});

test("a renewal that fails after the token's expiry loses the connection", () => {
  const step = describeStep(sent('renewing', 600_000), events.failed!);
  expect(step).toBe('waiting (gap lines 1) | release | log warn | backOff 1000 60000 | emit gap (lost)');
});

/** For each title of a provider test, the rows that it covers; several states share some rows. */
const reached: Readonly<Record<string, string>> = {
  'closing leaves no socket open': 'open.closed',
  'is an error of the check and ends open consoles: %s': 'open.locked',
  'opens no console: %j': 'trying.refused',
  'is reported at once, and the reconnect sends no second history': 'following.lost asking.granted waiting.retryDue',
  'the console uses the read-only key alone and sends nothing that could change the server':
    'following.line sending.accepted',
  'viewers get only the events meant for them': 'following.status accepted.nodeFailed',
  'the buffered lines are loaded some time after they were requested': 'following.loadOver',
  'statistics are those that Wings sent last, and zeros once the server is offline': 'following.stats',
  'statistics that Wings sends late are requested again': 'accepted.statsWanted',
  'denied by Wings after its restart are replaced': 'following.rejected',
  'without the connect permission end the console': 'following.denied',
  'dropped by the limit of Wings are sent again until one is accepted, as Wings reports only the first drop':
    'sending.throttled sending.throttleOver',
  'without an answer lead to a new attempt': 'sending.authUnanswered',
  'uses at most four of the five tokens per minute, over all readers': 'asking.rateLimited',
  'is reported once for all failed attempts': 'asking.failed',
  'a handshake answered with %i is retried with a new token': 'opening.lost',
  'with a lifetime of 2 s are renewed on the same socket without losing a line':
    'opening.opened live.renewalDue renewing.granted',
  'that are expired at their first use are replaced': 'authenticating.expired',
  'with a bad signature, which Wings reports as a daemon error, are replaced': 'authenticating.nodeFailed',
  'are renewed when Wings reports that they expire, regardless of the local clock': 'live.expiring',
  'that are expired (%s) are renewed on the same socket, and the gap is reported once': 'live.expired',
  'that expire during their renewal lose lines, and the gap is reported': 'renewing.expired',
  'are requested again after a failed renewal, without losing a line': 'renewing.failed deferred.renewalDue',
  'that expire while their renewal waits for a retry lead to a new attempt': 'deferred.expired',
  'that expire before Wings accepts the next lose lines but keep the connection': 'reauthenticating.expired',
};

test('every row has an end-to-end test', () => {
  const files = ['.', '../../slow/hosting/providers'].flatMap((folder) =>
    globSync(join(import.meta.dirname, folder, 'pterodactyl-{console,loss,token}.test.ts')),
  );
  const sources = files.map((file) => readFileSync(file, 'utf8')).join('\n');
  expect(Object.keys(reached).filter((title) => !sources.includes(`'${title}'`))).toEqual([]);
  const rows = new Set(Object.values(reached).flatMap((names) => names.split(' ')));
  const groups = ['open', 'trying', 'following', 'accepted', 'sending'];
  const cells = Object.entries(table).flatMap(([name, cell]) =>
    Object.keys(cell).map((event) => [name.split(' ')[0]!, event.split(' ')[0]!] as const),
  );
  const isReached = (state: string, event: string): boolean =>
    [state, ...groups].some((group) => rows.has(`${group}.${event}`));
  expect(cells.filter(([state, event]) => !isReached(state, event))).toEqual([]);
});
