import { describe, expect, test } from 'vitest';
import { until } from '../helpers/upstream.ts';
import type { Fault, Upstream } from '../helpers/upstream.ts';
import { detailOf, html, json, recorded, setUpMonitors, setUpRecording } from './uptime-kuma-harness.ts';

const requests: readonly (readonly [string, (request: { path: string }) => boolean])[] = [
  ['the page', ({ path }) => !path.includes('/heartbeat/')],
  ['the heartbeats', ({ path }) => path.includes('/heartbeat/')],
];

describe.each(requests)('is unknown if %s', (_, matches) => {
  const faults: readonly (readonly [string, Fault])[] = [
    ['is answered with 403', { status: 403, body: '{"status":"fail","msg":"no"}' }],
    ['is answered with 404', { status: 404, body: '{"status":"fail","msg":"Status Page Not Found"}' }],
    ['is answered with 500', { status: 500, body: 'Internal Server Error' }],
    ['is answered with 503, as with a busy database', { status: 503, body: '{"status":"fail"}' }],
    ['is answered by a proxy with 502 in HTML', { ...html, status: 502 }],
    ['is HTML', html],
    ['is empty', { status: 200, body: '' }],
    ['is null', json(null)],
    ['is JSON of another shape', json({ publicGroupList: {}, heartbeatList: [] })],
    ['is JSON that is cut', { status: 200, body: '{"publicGroupList":[{"id":1' }],
    ['redirects', { status: 302, headers: { location: '/elsewhere' } }],
    ['drops the connection', 'drop'],
    ['is cut in the body', 'cut'],
    ['is no HTTP', 'garbage'],
    ['has 50 MB', 'huge'],
  ];
  const check = async (fault: Fault, timeoutMs?: number): Promise<Upstream> => {
    const { upstream, source } = await setUpRecording(recorded('v2.5.3').main, timeoutMs ? { timeoutMs } : {});
    upstream.fail(fault, matches);
    expect(await detailOf(source.read())).toContain(upstream.url);
    upstream.fail(undefined);
    if (!timeoutMs) expect(await source.read()).toMatchObject({ status: 'disrupted' });
    return upstream;
  };

  test.each(faults)('%s, and recovers after it', async (_name, fault) => {
    const upstream = await check(fault);
    expect(upstream.seen.map(({ path }) => path)).not.toContain('/elsewhere');
    if (fault === 'huge') await until('the answer is aborted', () => upstream.wasLeft());
  });

  test.each(['hang', 'stall'] as const)('%ss, until the timeout', async (fault) => {
    expect((await check(fault, 300)).seen.length).toBeGreaterThan(0);
  });
});

test('is unknown if the connection is refused', async () => {
  const { upstream, source } = await setUpMonitors([['A', 1]]);
  await upstream.stop();
  expect(await detailOf(source.read())).toContain('ECONNREFUSED');
});
