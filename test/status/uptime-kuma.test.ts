import { readFileSync } from 'node:fs';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createUptimeKuma } from '../../server/status/uptime-kuma.ts';
import { stopTimeouts } from '../helpers/clock.ts';
import { failureOf } from '../helpers/fault-suite.ts';
import { testSource } from '../helpers/source-suite.ts';
import { createUpstream, json } from '../helpers/upstream.ts';
import type { Answer } from '../helpers/upstream.ts';

/** The answers for a page and its heartbeats. */
interface Recording {
  readonly page: unknown;
  readonly heartbeat: { readonly heartbeatList: Record<string, { time: string }[]> };
}
/** The answers of one version. */
interface Recorded extends Record<'main' | 'later' | 'empty', Recording> {
  readonly unknownSlugHeartbeat: unknown;
  readonly unknownSlugPage?: unknown;
  readonly unknownPath: string;
}

/** Recorded answers of real installations, with the last three heartbeats of each monitor. */
const recorded = (version: string): Recorded =>
  JSON.parse(readFileSync(`test/fixtures/uptime-kuma/${version}.json`, 'utf8')) as Recorded;

const isHeartbeats = ({ path }: { path: string }): boolean => path.includes('/heartbeat/');
const isPage = (request: { path: string }): boolean => !isHeartbeats(request);

/** Creates an Uptime Kuma stand-in and a source for the page `main`. */
async function setUp(page: Answer, heartbeat: Answer, { at = '2026-11-20T09:52:00Z' } = {}) {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.parse(at) });
  onTestFinished(() => void vi.useRealTimers());
  const upstream = await createUpstream((request) => (isPage(request) ? page : heartbeat));
  const source = createUptimeKuma({ url: upstream.url, page: 'main' });
  onTestFinished(() => source.close());
  return { upstream, source };
}

/** Creates a stand-in and a source from a recording. */
const setUpRecording = ({ page, heartbeat }: Recording, options?: { at?: string }) =>
  setUp(json(200, page), json(200, heartbeat), options);

/** Creates a stand-in and a source for monitors with heartbeats of these statuses, one per minute until now. */
const setUpMonitors = (monitors: readonly (readonly [name: string, ...statuses: unknown[]])[]) =>
  setUp(
    json(200, { publicGroupList: [{ monitorList: monitors.map(([name], id) => ({ id, name })) }] }),
    json(200, {
      heartbeatList: Object.fromEntries(
        monitors.map(([, ...statuses], id) => [
          id,
          statuses.map((status, index) => {
            const at = Date.parse('2026-11-20T09:52:00Z') - (statuses.length - 1 - index) * 60_000;
            return { status, time: new Date(at).toISOString().replace('T', ' ').replace('Z', '') };
          }),
        ]),
      ),
    }),
  );

/** Returns the detail of an error, which only the log shows. */
async function detailOf(reading: Promise<unknown>): Promise<string> {
  const error = await failureOf(reading);
  expect(error).toMatchObject({ code: 'provider_error' });
  // The doctor prints the message, which must quote nothing of the answer.
  expect([
    'The request could not be completed',
    'no monitor is on the page',
    'no monitor has a current beat',
    'no monitor has a current beat; does the database of Uptime Kuma write local time?',
    'not an answer of a status page',
  ]).toContain((error as Error).message);
  return String(error.cause);
}

describe.each(['v1.23.17', 'v2.5.3'])('Uptime Kuma %s', (version) => {
  const failing = ['Backup job (push)', 'Billing', 'Group: Panels', 'Old node (paused)', 'Panel EU-1'];

  test('reports down and pending monitors as disrupted, and monitors in maintenance separately', async () => {
    const { source } = await setUpRecording(recorded(version).main);
    expect(await source.read()).toEqual({ status: 'disrupted', maintenance: ['Node FSN-02'], disrupted: failing });
  });

  test('does not report ended maintenance', async () => {
    const { source } = await setUpRecording(recorded(version).later);
    expect(await source.read()).toEqual({ status: 'disrupted', disrupted: failing });
  });

  test('leaves out a monitor that was paused while down, once its last heartbeat is an hour old', async () => {
    const { later } = recorded(version);
    const last = later.heartbeat.heartbeatList['5']!.at(-1);
    const hour = Date.parse(`${last!.time.replace(' ', 'T')}Z`) + 3_600_000;
    const { source } = await setUpRecording(later, { at: new Date(hour).toISOString() });
    expect(await source.read()).toMatchObject({ disrupted: failing });
    const { source: past } = await setUpRecording(later, { at: new Date(hour + 1).toISOString() });
    expect(await past.read()).toMatchObject({ disrupted: failing.filter((name) => !name.includes('paused')) });
  });

  test('is unknown if all heartbeats are older than an hour', async () => {
    const { source } = await setUpRecording(recorded(version).main, { at: '2026-11-20T11:00:00Z' });
    expect(await detailOf(source.read())).toContain('no monitor has a current beat');
  });

  test('is unknown if the page has no monitors', async () => {
    const { source } = await setUpRecording(recorded(version).empty);
    expect(await detailOf(source.read())).toContain('no monitor is on the page');
  });

  test('is unknown for a missing page, whose heartbeats are 200', async () => {
    const { main, unknownSlugHeartbeat, unknownSlugPage } = recorded(version);
    const { source, upstream } = await setUp(json(200, main.page), json(200, unknownSlugHeartbeat));
    const advance = stopTimeouts();
    if (unknownSlugPage) upstream.fail(json(404, unknownSlugPage), isPage);
    const arrived = upstream.hold(isPage);
    const detail = detailOf(source.read());
    const release = await arrived;
    if (unknownSlugPage) release();
    else advance(5000);
    expect(await detail).toContain(unknownSlugPage ? '404' : 'TimeoutError');
    upstream.fail(undefined);
    expect(await detailOf(source.read())).toContain('no monitor has a current beat');
  });

  test('is unknown for a wrong address, which returns HTML', async () => {
    const headers = { 'content-type': 'text/html; charset=utf-8' };
    const answer = { status: 200, headers, body: recorded(version).unknownPath };
    const { source } = await setUp(answer, answer);
    expect(await detailOf(source.read())).toContain('not an answer of a status page');
  });
});

describe('the state', () => {
  test.each([
    ['up', [1, 1], { status: 'up' }],
    ['disrupted while the monitor is down', [1, 0], { status: 'disrupted', disrupted: ['A'] }],
    ['disrupted while Kuma retries a failed check', [1, 2], { status: 'disrupted', disrupted: ['A'] }],
    ['maintenance', [0, 3], { status: 'maintenance', maintenance: ['A'] }],
    ['up after a recovery', [0, 2, 3, 1], { status: 'up' }],
    ['disrupted if the status is a text', [1, '0'], { status: 'disrupted', disrupted: ['A'] }],
    ['up after an unreadable heartbeat', [0, 'odd', 4, 1], { status: 'up' }],
  ])('is %s', async (_, statuses, expected) => {
    const { source } = await setUpMonitors([['A', ...statuses]]);
    expect(await source.read()).toEqual(expected);
  });

  test('lists each name once with the worst state, sorted by code point', async () => {
    const { source } = await setUpMonitors([
      ['\u{1F525} fire', 0],
      ['\uFF21 wide', 0],
      ['b', 0],
      ['B', 3],
      ['B', 0],
      ['b', 0],
      ['Ä', 0],
      ['a', 3],
      ['Z', 3],
    ]);
    expect(await source.read()).toEqual({
      status: 'disrupted',
      maintenance: ['Z', 'a'],
      disrupted: ['B', 'b', 'Ä', '\uFF21 wide', '\u{1F525} fire'],
    });
  });

  test('keeps hostile and long names unchanged', async () => {
    const names = ['<img src=x onerror=alert(1)>', 'x'.repeat(5000)];
    const { source } = await setUpMonitors(names.map((name) => [name, 0] as const));
    expect(await source.read()).toEqual({ status: 'disrupted', disrupted: names });
  });

  test('leaves out monitors without heartbeats, and is unknown if none has any', async () => {
    const { source } = await setUpMonitors([['new'], ['A', 0]]);
    expect(await source.read()).toEqual({ status: 'disrupted', disrupted: ['A'] });
    const { source: none } = await setUpMonitors([['new']]);
    expect(await detailOf(none.read())).toContain('no monitor has a current beat');
  });

  test.each([[4], [-1], [1.5], ['up'], [null], [true]])(
    'is unknown if the newest heartbeat has the status %j',
    async (status) => {
      const { source } = await setUpMonitors([
        ['A', 1],
        ['B', 1, status],
      ]);
      expect(await detailOf(source.read())).toContain('not an answer of a status page');
    },
  );

  test.each([
    ['2026-11-20 09:51:59.123', true],
    ['2026-11-20 09:51:59', true],
    ['2026-11-20T09:51:59.123Z', true],
    ['2026-11-20T10:51:59+01:00', true],
    ['2026-11-20 08:51:59.999', false],
    ['2026-13-40 09:51:59', false],
    ['yesterday', false],
    ['', false],
    [1_795_168_319_000, false],
  ])('accepts the time %j in UTC: %j', async (time, isKnown) => {
    const page = { publicGroupList: [{ monitorList: [{ id: 7, name: 'A' }] }] };
    const { source } = await setUp(json(200, page), json(200, { heartbeatList: { 7: [{ status: 1, time }] } }));
    const isRead = await source.read().then(
      () => true,
      () => false,
    );
    expect(isRead).toBe(isKnown);
  });

  const hour = 3_600_000;
  test.each<[string, number[], number | undefined]>([
    ['a day, with the newest 9 h ago', [57 * hour, 33 * hour, 9 * hour], 0],
    ['a day, with the newest 49 h ago', [97 * hour, 73 * hour, 49 * hour], undefined],
    ['an hour, with the newest 61 minutes ago', [181, 121, 61].map((minutes) => minutes * 60_000), 0],
    ['a day with a retry a minute later', [48 * hour, 48 * hour - 60_000, 24 * hour, 24 * hour - 60_000], 0],
    ['a minute, with the newest 61 minutes ago', [63, 62, 61].map((minutes) => minutes * 60_000), undefined],
    ['a bucket that ends in the future', [hour, 0, -hour / 2], 0],
  ])('a monitor with an interval of %s counts only while its newest heartbeat is current', async (_, ages, status) => {
    const at = Date.parse('2026-11-20T09:52:00Z');
    const beats = ages.map((age) => ({ status: 0, time: new Date(at - age).toISOString() }));
    const page = { publicGroupList: [{ monitorList: [{ id: '7', name: 'A' }, { id: 8 }] }] };
    const { source } = await setUp(json(200, page), json(200, { heartbeatList: { 7: [7, ...beats] } }));
    const expected = status === undefined ? 'provider_error' : 'disrupted';
    expect(
      await source.read().then(
        (read) => read.status,
        (error: { code: string }) => error.code,
      ),
    ).toBe(expected);
  });

  test.each([
    [[120.5, 121], true],
    [[120, 180], false],
    [[127, 127], false],
  ])('heartbeats that are all %j minutes old suggest local time: %j', async (minutes, suggests) => {
    const at = Date.parse('2026-11-20T09:52:00Z');
    const beats = minutes.map((age) => [{ status: 1, time: new Date(at - age * 60_000).toISOString() }]);
    const page = { publicGroupList: [{ monitorList: beats.map((_, id) => ({ id, name: String(id) })) }] };
    const { source } = await setUp(json(200, page), json(200, { heartbeatList: Object.fromEntries(beats.entries()) }));
    expect((await detailOf(source.read())).includes('write local time?')).toBe(suggests);
  });

  test('is read in two requests that bypass the cache of Uptime Kuma and do not fill it', async () => {
    const { source, upstream } = await setUpMonitors([['A', 1]]);
    await source.read();
    expect(upstream.seen.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'GET /api/status-page/main',
      'GET /api/status-page/heartbeat/main',
    ]);
    expect(upstream.seen.map(({ headers }) => headers['x-apicache-bypass'])).toEqual(['1', '1']);
  });

  test('is read from a page whose slug has special characters', async () => {
    const { upstream } = await setUpMonitors([['A', 1]]);
    const source = createUptimeKuma({ url: upstream.url, page: 'a/../b?c' });
    onTestFinished(() => source.close());
    await source.read();
    expect(upstream.seen[0]!.path).toBe('/api/status-page/a%2F..%2Fb%3Fc');
  });
});

const upAndDown = () =>
  setUpMonitors([
    ['A', 1],
    ['B', 0],
  ]);
testSource('Uptime Kuma', { 'the page': isPage, 'the heartbeats': isHeartbeats }, upAndDown, {
  value: { status: 'disrupted', disrupted: ['B'] },
  messages: ['The request could not be completed', 'not an answer of a status page'],
});
