import { randomBytes, randomInt } from 'node:crypto';
import { connect } from 'node:net';
import { once } from 'node:events';
import { get as httpGet } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { expect, test } from 'vitest';
import { WebSocket } from 'ws';
import type { EndpointName } from '#contract/endpoints.ts';
import { endpoints } from '#contract/endpoints.ts';
import { stopClock } from '../helpers/clock.ts';
import { changesOf, metricNames, parseSeries, promtool, prometheusProgram } from '../helpers/metrics.ts';
import { describeInstalled } from '../helpers/installed.ts';
import { ask, askEndpoint } from '../server/ask.ts';
import { eventually, serveShared, sharedApp } from '../server/shared.ts';
import type { SharedApp } from '../server/shared.ts';

const serve = (settings: Record<string, string> = {}): Promise<SharedApp> =>
  serveShared({ METRICS_PORT: '0', ...settings });

const series = (route: string, method: string, status: number): string =>
  `hosting_api_http_requests_total{route="${route}",method="${method}",status="${status}"}`;

/** Counts requests while a function runs; a response counts once flushed. */
async function countedBy(app: SharedApp, work: () => Promise<unknown>, expected: number) {
  const before = await app.metrics();
  await work();
  const counted = async () =>
    Object.entries(changesOf(before, await app.metrics())).filter(([name]) => /_http_requests_total/.test(name));
  await expect
    .poll(async () => (await counted()).reduce((sum, [, count]) => sum + count, 0), eventually)
    .toBe(expected);
  return Object.fromEntries(await counted());
}

test('without METRICS_PORT there are no metrics', async () => {
  await expect((await sharedApp()).metrics()).rejects.toThrow('URL');
});

test('the port of the metrics answers only GET and HEAD of /metrics', async () => {
  const app = await serve();
  const { url } = app.log().find(({ msg }) => msg === 'metrics') as { url: string };
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/metrics$/);
  const get = await fetch(url);
  expect(get.status).toBe(200);
  expect(get.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  expect(get.headers.get('cache-control')).toBe('no-store');
  expect(metricNames(await get.text())).toContain('hosting_api_http_requests_total');
  const head = await fetch(url, { method: 'HEAD' });
  expect({ status: head.status, text: await head.text() }).toEqual({ status: 200, text: '' });
  for (const method of ['POST', 'DELETE', 'OPTIONS']) {
    const answer = await fetch(url, { method });
    expect({ status: answer.status, allow: answer.headers.get('allow') }).toEqual({ status: 405, allow: 'GET, HEAD' });
  }
  for (const path of ['/', '/health', '/metrics/', '/v1/info']) {
    expect((await fetch(new URL(path, url))).status).toBe(404);
  }
  expect((await ask(app, '/metrics')).status).toBe(404);
});

test('metrics on loopback need a host name of this machine', async () => {
  const { metricsPort: port } = await serve({ PUBLIC_URL: 'https://api.example.com' });
  const askFor = async (Host: string): Promise<number | undefined> => {
    const [response] = (await once(
      httpGet({ host: '127.0.0.1', port, path: '/metrics', headers: { Host } }),
      'response',
    )) as [IncomingMessage];
    response.resume();
    return response.statusCode;
  };
  for (const host of ['evil.example', `evil.example:${port}`]) expect(await askFor(host)).toBe(421);
  for (const host of [`localhost:${port}`, '127.0.0.1', 'api.example.com']) expect(await askFor(host)).toBe(200);
});

test('the build is described by one series', async () => {
  const text = await (await serve()).metrics();
  const found = [...parseSeries(text)].filter(([name]) => name.startsWith('hosting_api_build_info'));
  expect(found).toEqual([[`hosting_api_build_info{version="1.2.3",node_version="${process.version}"}`, 1]]);
});

test('each endpoint is counted under the path of the OpenAPI document', async () => {
  const app = await serve();
  // Last the end of the key that all requests have.
  const names = (Object.keys(endpoints) as EndpointName[]).filter((name) => name !== 'revokeKey');
  for (const name of [...names, 'revokeKey' as const]) {
    const { path, method } = endpoints[name];
    let status = 0;
    const counted = await countedBy(app, async () => void ({ status } = await askEndpoint(app, name)), 1);
    expect(counted, name).toEqual({ [series(path, method, status)]: 1 });
  }
  const durations = [...parseSeries(await app.metrics()).keys()].filter((name) =>
    name.startsWith('hosting_api_http_request_duration_seconds_count'),
  );
  const routes = new Set(Object.values(endpoints).map(({ path }) => path)).add('unmatched');
  expect(durations.length).toBe(routes.size);
});

test('a file counts the same through the fast path and h3', async () => {
  const app = await serve({ CONTENT_RATELIMIT_BURST: '4', CONTENT_RATELIMIT_RPS: '1' });
  stopClock();
  const target = '/v1/blog/article?path=/blog/news/first';
  const ask304 = async () => {
    const { etag } = (await ask(app, target)).headers;
    expect((await ask(app, target, { headers: { 'If-None-Match': etag! } })).status).toBe(304);
  };
  const work = async () => {
    await ask304();
    await ask304();
    expect((await ask(app, target)).status).toBe(429);
    expect((await ask(app, '/media/kb/map.svg', { method: 'HEAD' })).status).toBe(200);
  };
  expect(await countedBy(app, work, 6)).toEqual({
    [series('/v1/blog/article', 'GET', 200)]: 2,
    [series('/v1/blog/article', 'GET', 304)]: 2,
    [series('/v1/blog/article', 'GET', 429)]: 1,
    [series('/media/{path*}', 'HEAD', 200)]: 1,
  });
});

test('requests without a route share a series, and so do unknown methods', async () => {
  const app = await serve();
  const work = async () => {
    await ask(app, '/wp-login.php');
    await ask(app, '/v1/blog/list/');
    await ask(app, '/v1/%zz');
    await ask(app, '/v1/../../etc/passwd', { method: 'PROPFIND' });
    await ask(app, '/v1/plans', { method: 'PATCH' });
    const preflight = { Origin: 'https://www.example.com', 'Access-Control-Request-Method': 'GET' };
    await ask(app, '/v1/plans', { method: 'OPTIONS', headers: preflight });
  };
  expect(await countedBy(app, work, 6)).toEqual({
    [series('unmatched', 'GET', 404)]: 3,
    [series('unmatched', 'other', 404)]: 1,
    [series('/v1/plans', 'other', 405)]: 1,
    [series('/v1/plans', 'OPTIONS', 204)]: 1,
  });
});

const randomMethods = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PROPFIND'];
const randomTargets = [
  (text: string) => `/${text}`,
  (text: string) => `/v1/${text}/${text}`,
  (text: string) => `/v1/blog/article?path=/blog/${text}`,
  (text: string) => `/v1/kb/list?category=${text}`,
  (text: string) => `/v1/plans?${text}=${text}`,
  (text: string) => `/media/${text}.png`,
  (text: string) => `/docs/${text}`,
  (text: string) => `/v1/service-status.${text}.js`,
  (text: string) => `/v1/hosting/game/power/${text}/start`,
  (text: string) => `/v1/hosting/actions/${text}`,
  (text: string) => `/v1/domains/search?domain=${text}.unknown`,
];

/** Sends each method to each path with this key, from a unique client. */
function toRandomRequests(key: string): string {
  const requests = randomMethods.flatMap((method) =>
    randomTargets.map((toTarget) => {
      const text = `x${randomBytes(4).toString('hex')}`;
      const head = [`${method} ${toTarget(text)} HTTP/1.1`, 'Host: x', `X-Forwarded-For: 127.7.${randomInt(250)}.7`];
      const own = [`User-Agent: ${text}`, `X-Request-Id: request-${text}`, `Origin: https://${text}.example`];
      return [...head, ...own, `Authorization: Bearer ${key}`, 'Content-Length: 0', '', ''].join('\r\n');
    }),
  );
  return requests.join('');
}

test('requests to random paths add no series, and no text of a client to the metrics', async () => {
  const app = await serve({ TRUSTED_PROXIES: '127.0.0.1' });
  const count = randomMethods.length * randomTargets.length;
  const send = async () => {
    for (const key of [app.key, 'hk_unknown'])
      expect((await app.raw(toRandomRequests(key))).match(/^HTTP\/1\.1 \d/gm)).toHaveLength(count);
  };
  await send();
  // The first check of the store comes a second after the start.
  await expect.poll(() => app.metrics(), eventually).toContain('table="health"');
  const before = parseSeries(await app.metrics());
  for (let round = 0; round < 5; round += 1) await send();
  const after = parseSeries(await app.metrics());
  expect([...after.keys()]).toEqual([...before.keys()]);
  // Compare without values.
  const names = [...after.keys()].join('\n');
  for (const text of [app.key, app.key.slice(16), 'hk_', '127.', 'request-', '.example', '"x']) {
    expect(names).not.toContain(text);
  }
});

/** A vote without its body. */
const vote = 'POST /v1/kb/feedback HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n';

test('upgrades, refused bytes and clients that disconnect are counted', async () => {
  const app = await serve();
  const stream = `${app.url.replace('http', 'ws')}/v1/hosting/game/console/mine/stream`;
  const work = async () => {
    const websocket = new WebSocket(stream);
    await once(websocket, 'open');
    websocket.terminate();
    const handshake = { Connection: 'Upgrade', Upgrade: 'websocket' };
    expect((await ask(app, '/v1/hosting/game/console/mine/stream', { headers: handshake })).status).toBe(400);
    expect((await ask(app, '/chat', { headers: handshake })).status).toBe(404);
    expect(await app.raw('this is not HTTP\r\n\r\n')).toContain('400');
    const client = connect(app.port, '127.0.0.1');
    client.end(`${vote}{`);
    client.destroySoon();
  };
  const route = '/v1/hosting/game/console/{server_id}/stream';
  expect(await countedBy(app, work, 5)).toMatchObject({
    [series(route, 'GET', 101)]: 1,
    [series(route, 'GET', 400)]: 1,
    [series('/v1/kb/feedback', 'POST', 499)]: 1,
    [series('unmatched', 'GET', 404)]: 1,
    [series('unmatched', 'other', 400)]: 1,
  });
});

test('the metrics are answered until the end of a shutdown', async () => {
  const app = await serve({ SHUTDOWN_GRACE_SECONDS: '20' });
  // A running request delays the exit.
  const client = connect(app.port, '127.0.0.1');
  client.write(vote);
  const arrived = async () => (await app.raw('GET /ready HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')).length;
  await expect.poll(arrived, eventually).toBeGreaterThan(0);
  app.drain();
  expect(await ask(app, '/ready')).toMatchObject({ status: 503, text: '{"status":"draining"}\n' });
  expect(await app.metrics()).toContain('hosting_api_build_info');
  const stopped = app.stop();
  await expect.poll(() => fetch(app.url).catch(() => 'closed'), eventually).toBe('closed');
  expect(await app.metrics()).toContain('hosting_api_build_info');
  client.destroy();
  await stopped;
  await expect(app.metrics()).rejects.toThrow('fetch failed');
});

describeInstalled(prometheusProgram, (folder) => {
  test('the metrics follow the rules of Prometheus, and each has a help text', async () => {
    const app = await serve();
    const text = await app.metrics();
    expect(promtool(folder(), ['check', 'metrics'], text)).toBe('');
    const helps = [...text.matchAll(/^# HELP (\S+) \S/gm)].map(([, name]) => name!);
    expect(helps).toEqual(metricNames(text));
  });
});
