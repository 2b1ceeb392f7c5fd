import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createTestApp } from '../helpers/app.ts';
import { temporaryFolder } from '../helpers/project.ts';
import { createUpstream, until } from '../helpers/upstream.ts';

// Only what the server waits with: sockets stay real.
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

/** A server that asks others by itself in each way that it has, a while after its start. */
async function startAsking() {
  const upstream = await createUpstream(() => ({ status: 200, body: '{}' }));
  const app = await createTestApp({
    settings: {
      RDAP_BOOTSTRAP_URL: `${upstream.url}/list-of-rdap-servers`,
      DOMAIN_PRICES: 'fossbilling',
      FOSSBILLING_URL: upstream.url,
      UPTIME_KUMA_URL: upstream.url,
      UPTIME_KUMA_STATUS_PAGE: 'page',
      STATUS_FILE: join(temporaryFolder(), 'status.json'),
    },
  });
  await sleep(300);
  return { app, upstream };
}

test('a server answers before it asks anybody, and then asks all', async () => {
  const { app, upstream } = await startAsking();
  expect((await app.request('/v1/plans')).status).toBe(200);
  expect(upstream.seen).toEqual([]);
  await vi.advanceTimersByTimeAsync(1000);
  for (const part of ['list-of-rdap-servers', '/api/guest', '/status-page/']) {
    // oxlint-disable-next-line no-await-in-loop
    await until(`${part} is asked for`, () => upstream.seen.some(({ path }) => path.includes(part)));
  }
});

test('a server that is stopped before that asks nobody', async () => {
  const { app, upstream } = await startAsking();
  await app.stop();
  await vi.advanceTimersByTimeAsync(1000);
  await sleep(300);
  expect(upstream.seen).toEqual([]);
});

test('a search that waits for the list of RDAP servers does not hold up a stop', async () => {
  vi.useRealTimers();
  const upstream = await createUpstream(() => ({ status: 200, body: '{}' }));
  const app = await createTestApp({
    settings: { RDAP_BOOTSTRAP_URL: `${upstream.url}/list-of-rdap-servers`, SHUTDOWN_GRACE_SECONDS: '10' },
  });
  const search = app.request('/v1/domains/search?domain=some-name.com');
  // Sent behind it, and answered at once: the search is under way.
  await app.request('/health');
  const stopped = app.stop().then(() => 'stopped');
  // It waits for the list, or for its absence, and not until its own time is over.
  expect(await Promise.race([stopped, sleep(4000)])).toBe('stopped');
  expect((await search).status).toBe(502);
});
