import { expect, test } from 'vitest';
import { createTestApp } from '../helpers/app.ts';
import { sharedProject } from '../server/shared.ts';

const warning =
  'X-Forwarded-For of an address that is not in TRUSTED_PROXIES is ignored; if it is your proxy, all its visitors share one limit';

/** Sends requests with these headers, and returns what the log warns of. */
async function warningsAfter(headers: readonly Record<string, string>[], settings: Record<string, string> = {}) {
  const app = await createTestApp({ root: await sharedProject(), settings });
  for (const each of headers) {
    for (const path of ['/health', '/v1/plans', '/nowhere']) {
      // The first one is the one that is warned of.
      await app.request(path, { headers: each });
    }
  }
  return app.log().filter(({ level }) => level === 'warn');
}

test.each<[string, Record<string, string>]>([
  ['X-Forwarded-For', { 'X-Forwarded-For': '203.0.113.7' }],
  ['Forwarded', { Forwarded: 'for=203.0.113.7' }],
])('%s from an address that is not trusted is warned of once, with the address of the socket', async (_, header) => {
  const found = await warningsAfter([{}, header, { ...header, 'X-Request-Id': 'another-request' }]);
  expect(found).toEqual([{ level: 'warn', time: expect.any(String), address: '127.0.0.1', msg: warning }]);
});

test('a proxy that is not the trusted one is warned of too', async () => {
  const found = await warningsAfter([{ 'X-Forwarded-For': '203.0.113.7' }], { TRUSTED_PROXIES: '10.0.0.0/8' });
  expect(found).toMatchObject([{ address: '127.0.0.1', msg: warning }]);
});

test('nothing is warned of without the header, or if the address is trusted', async () => {
  expect(await warningsAfter([{}])).toEqual([]);
  expect(await warningsAfter([{ 'X-Forwarded-For': '203.0.113.7' }], { TRUSTED_PROXIES: '127.0.0.1' })).toEqual([]);
});
