import { BlockList } from 'node:net';
import { join } from 'node:path';
import { toNodeHandler } from 'h3';
import { expect, onTestFinished, test } from 'vitest';
import { problems, renderProblem } from '#contract/problem.ts';
import { createApp } from '../../server/app.ts';
import { listenOn } from '../../server/http/listen.ts';
import { createRequests } from '../../server/http/request.ts';
import { createTokenBucket } from '../../server/token-bucket.ts';
import { createLifecycle } from '../../server/lifecycle.ts';
import { openReleases } from '../../server/releases/service.ts';
import { createRoutes } from '../../server/routes.ts';
import type { Features } from '../../server/routes.ts';
import { createTestLog } from '../helpers/upstream.ts';
import { ask } from './ask.ts';
import { eventually, sharedProject } from './shared.ts';
import { describeEndpoint, storedNames } from './targets.ts';

/** A server with a defect: its release cannot find its files. */
async function createBroken({ lifecycle = createLifecycle() } = {}) {
  const nothing = (): undefined => undefined;
  const opened = await openReleases({
    dist: join(await sharedProject(), 'dist'),
    cacheBytes: 0,
    checkStatus: nothing,
    onLoaded: nothing,
    onRejected: nothing,
  });
  opened.stop();
  const releases = { ...opened, current: () => ({ ...opened.current(), find: nothing }) };
  const { log, lines } = createTestLog('info');
  const limit = createTokenBucket({ name: 'default', rps: 100, burst: 100 });
  const routes = createRoutes({
    releases,
    lifecycle,
    version: '1.2.3',
    // The stored endpoints use none of the others.
  } as Partial<Features> as Features);
  const app = createApp({
    routes: Object.values(routes),
    requests: createRequests({
      trustedProxies: new BlockList(),
      cors: { origins: ['https://www.example.com'], allowLocal: false },
      limit,
      log,
    }),
    limits: { domains: limit, feedback: limit, actions: limit, reads: limit },
    authenticate: undefined as never,
    maxBodyBytes: {},
  });
  const server = await listenOn(toNodeHandler(app), { host: '127.0.0.1', port: 0, stalledMs: 60_000 });
  onTestFinished(() => server.drain(0));
  return {
    port: Number(new URL(server.url).port),
    failures: () => lines().filter(({ msg }) => msg === 'request failed'),
  };
}

const withoutParameters = storedNames.filter((name) => {
  const { path, query, problems: codes } = describeEndpoint(name);
  // A release may lack some files, which is 404.
  const mayBeMissing = codes.some((code) => problems[code].status === 404);
  return !mayBeMissing && !path.includes('{') && (query === undefined || query.safeParse({}).success);
});

test.each(withoutParameters)('%s answers an unexpected error with 500 and logs the reason', async (name) => {
  const broken = await createBroken();
  const { path, errorStyle, failure } = describeEndpoint(name);
  const headers = { 'X-Request-Id': 'order-4711', Origin: 'https://www.example.com' };
  const answer = await ask(broken, path, { headers });
  expect(answer.status).toBe(500);
  expect(answer.text).toBe(renderProblem(errorStyle, failure));
  expect(answer.headers).toMatchObject({
    'x-request-id': 'order-4711',
    'x-content-type-options': 'nosniff',
    'access-control-allow-origin': 'https://www.example.com',
    'cache-control': 'no-store',
    vary: 'Origin',
  });
  await expect.poll(broken.failures, eventually).toEqual([
    expect.objectContaining({
      level: 'error',
      id: 'order-4711',
      url: path,
      status: 500,
      err: expect.objectContaining({ message: `${path} is not in the release`, stack: expect.any(String) }),
    }),
  ]);
});

test('a failed request does not affect others', async () => {
  const broken = await createBroken();
  const statuses = await Promise.all(
    ['/v1/plans', '/health', '/v1/plans', '/v1/info'].map(async (target) => (await ask(broken, target)).status),
  );
  expect(statuses).toEqual([500, 200, 500, 200]);
  await expect.poll(broken.failures, eventually).toHaveLength(2);
});

test('a draining server is not ready', async () => {
  const lifecycle = createLifecycle();
  const server = await createBroken({ lifecycle });
  expect((await ask(server, '/ready')).text).toBe('{"status":"ready"}\n');
  lifecycle.drain();
  const { status, text } = await ask(server, '/ready');
  expect({ status, text }).toEqual({ status: 503, text: '{"status":"draining"}\n' });
});
