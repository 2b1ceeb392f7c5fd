import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createTestApp } from '../helpers/app.ts';
import { stopTimers } from '../helpers/clock.ts';
import { temporaryFolder } from '../helpers/project.ts';
import { createUpstream } from '../helpers/upstream.ts';
import { eventually } from './shared.ts';

test('a server fetches each source at its start, without a request', async () => {
  const upstream = await createUpstream(() => ({ status: 200, body: '{}' }));
  await createTestApp({
    settings: {
      RDAP_BOOTSTRAP_URL: `${upstream.url}/list-of-rdap-servers`,
      DOMAIN_PRICES: 'fossbilling',
      FOSSBILLING_URL: upstream.url,
      UPTIME_KUMA_URL: upstream.url,
      UPTIME_KUMA_STATUS_PAGE: 'page',
      STATUS_FILE: join(temporaryFolder(), 'status.json'),
    },
  });
  const isFetched = (part: string): boolean => upstream.seen.some(({ path }) => path.includes(part));
  await expect
    .poll(() => ['list-of-rdap-servers', '/api/guest', '/status-page/'].filter((part) => !isFetched(part)), eventually)
    .toEqual([]);
});

test('a search waiting for the list of RDAP servers does not delay a stop', async () => {
  const upstream = await createUpstream(() => ({ status: 200, body: '{}' }));
  const app = await createTestApp({
    settings: { RDAP_BOOTSTRAP_URL: `${upstream.url}/list-of-rdap-servers`, SHUTDOWN_GRACE_SECONDS: '10' },
  });
  // Neither the timeout of the search nor the grace period ends.
  stopTimers(6000, 10_000);
  const search = app.request('/v1/domains/search?domain=some-name.com');
  // An answer to a later request proves that the search is running.
  await app.request('/health');
  await app.stop();
  expect((await search).status).toBe(502);
});
