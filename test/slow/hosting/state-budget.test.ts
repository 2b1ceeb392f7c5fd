import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { ProviderSettings } from '../../../server/hosting/providers.ts';
import { openProvider } from '../../helpers/provider.ts';
import { hetznerToken } from '../../helpers/upstream-hetzner.ts';
import { panelKeys } from '../../helpers/upstream-panel.ts';
import { createUpstream } from '../../helpers/upstream.ts';
import { createTestClock } from '../../hosting/console/harness.ts';
import type { Answer, Seen } from '../../helpers/upstream.ts';

const servers = Array.from({ length: 100 }, (_, at) => String(10_000_000 + at));
const minutes = 3;

type TestClock = ReturnType<typeof createTestClock>;

/** The requests of each simulated minute. */
interface Counted {
  readonly reads: readonly number[];
  readonly powers: readonly number[];
  /** Requests over the upstream's limit, answered with 429. */
  readonly refused: number;
}

/** Counts requests per simulated minute; `allow` is the upstream's limit. */
async function createCounting(
  clock: TestClock,
  allow: (headers: Record<string, string>) => boolean,
  serve: (request: Seen) => unknown,
) {
  const counts = { reads: Array<number>(minutes).fill(0), powers: Array<number>(minutes).fill(0), refused: 0 };
  const started = clock.now();
  const upstream = await createUpstream((request): Answer => {
    const minute = Math.floor((clock.now() - started) / 60_000);
    const headers: Record<string, string> = {};
    const isAllowed = allow(headers);
    if (minute < minutes) counts[request.method === 'GET' ? 'reads' : 'powers'][minute]! += 1;
    if (!isAllowed) counts.refused += 1;
    if (!isAllowed) return { status: 429, headers };
    const body = serve(request);
    return { status: body === '' ? 204 : request.method === 'POST' ? 201 : 200, headers, body: JSON.stringify(body) };
  });
  return { url: upstream.url, counts: (): Counted => counts };
}

/** Simulates 200 clients that read 100 states every 2 s, while a server is stopped every 5 s. */
async function run(clock: TestClock, settings: ProviderSettings) {
  const sleep = (ms: number) => new Promise<void>((wake) => void clock.after(ms, wake));
  const { provider } = openProvider(settings, { clock: { now: clock.now, sleep } });
  const target = provider.vps ?? provider.game!;
  const actedAt = new Map<string, number>();
  const outcomes = { states: 0, unknown: 0, failed: 0, powers: 0, failedPowers: 0 };
  const running = new Set<Promise<void>>();
  const follow = (work: Promise<void>): void => {
    running.add(work);
    void work.finally(() => running.delete(work));
  };
  const read = async (ref: string): Promise<void> => {
    const maxAgeMs = clock.now() - (actedAt.get(ref) ?? Number.NEGATIVE_INFINITY);
    const found = await target.state(ref, maxAgeMs).catch(() => undefined);
    outcomes[found === undefined ? 'failed' : found.state === 'unknown' ? 'unknown' : 'states'] += 1;
  };
  const stop = async (ref: string): Promise<void> => {
    outcomes.powers += 1;
    await target.power(ref, 'stop').catch(() => void (outcomes.failedPowers += 1));
    actedAt.set(ref, clock.now());
  };
  // As at the start of the service: the response shows the budget.
  await provider.check();
  for (let second = 0; second < minutes * 60; second += 1) {
    const half = servers.slice((second % 2) * 50, (second % 2) * 50 + 50);
    for (const ref of [...half, ...half]) follow(read(ref));
    if (second % 5 === 0) follow(stop(servers[second % 100]!));
    // Every client has an answer or waits for the clock.
    while (running.size > clock.pending()) await nextTurn();
    await clock.advance(1);
  }
  while (running.size > 0) {
    await clock.advance(1);
    await nextTurn();
  }
  return outcomes;
}

test('Hetzner Cloud: 3,600 requests an hour, refilled by one a second', async () => {
  const clock = createTestClock();
  let left = 3600;
  let filledAt = clock.now();
  const list = (page: number) => ({
    servers: servers.slice(page * 50 - 50, page * 50).map((id) => ({ id: Number(id), status: 'running' })),
    meta: { pagination: { next_page: page === 1 ? 2 : null } },
  });
  const upstream = await createCounting(
    clock,
    (headers) => {
      left = Math.min(3600, left + (clock.now() - filledAt) / 1000);
      filledAt = clock.now();
      if (left >= 1) left -= 1;
      Object.assign(headers, { 'ratelimit-limit': '3600', 'ratelimit-remaining': String(Math.floor(left)) });
      return left >= 1;
    },
    ({ method, path }) =>
      method === 'GET' ? list(Number(/&page=(\d+)/.exec(path)?.[1] ?? 1)) : { action: { status: 'running' } },
  );
  const outcomes = await run(clock, {
    type: 'hetzner',
    url: `${upstream.url}/v1`,
    token: hetznerToken,
    stop: 'poweroff',
  });
  const { reads, powers, refused } = upstream.counts();
  // At most two pages every 5 s.
  for (const count of reads) expect(count).toBeLessThanOrEqual(26);
  expect(reads[1]).toBeGreaterThanOrEqual(20);
  expect(powers).toEqual([12, 12, 12]);
  expect({ refused, left: left > 3500 }).toEqual({ refused: 0, left: true });
  expect(outcomes).toMatchObject({ failed: 0, failedPowers: 0 });
});

test.each([
  { limit: 720, name: 'the limit of a panel of version 1.11' },
  { limit: 256, name: 'the limit of a panel of version 1.12' },
  { limit: 60, name: 'a low limit' },
])('a panel with $limit requests a minute, $name', async ({ limit }) => {
  const clock = createTestClock();
  let used = 0;
  let endsAt = 0;
  const upstream = await createCounting(
    clock,
    (headers) => {
      if (clock.now() >= endsAt) [used, endsAt] = [0, clock.now() + 60_000];
      used += 1;
      Object.assign(headers, {
        'x-ratelimit-limit': String(limit),
        'x-ratelimit-remaining': String(Math.max(0, limit - used)),
      });
      return used <= limit;
    },
    ({ method, path }) =>
      method === 'POST'
        ? ''
        : path.endsWith('/resources')
          ? { attributes: { current_state: 'running' } }
          : { attributes: { admin: false } },
  );
  const outcomes = await run(clock, { type: 'pterodactyl', url: upstream.url, token: panelKeys.write });
  const { reads, powers, refused } = upstream.counts();
  // A quarter of the budget is kept for power; the check at the start is not a state read.
  for (const count of reads) expect(count).toBeLessThanOrEqual(Math.min((limit * 3) / 4, 300) + 3);
  expect(powers).toEqual([12, 12, 12]);
  expect(refused).toBe(0);
  expect(outcomes.failedPowers).toBe(0);
  if (limit >= 256) expect(outcomes.failed).toBe(0);
  expect(outcomes.states).toBeGreaterThan(0);
});
