import { cpSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { messageOf } from '#contract/endpoint.ts';
import { errorMediaTypes, renderProblem } from '#contract/problem.ts';
import { examine } from '../../../../server/doctor/visit.ts';
import { findFreePort } from '../../../helpers/free-port.ts';
import { resolveToLoopback } from '../../../helpers/loopback.ts';
import { describeNginx, examples, runExample } from '../../../helpers/nginx.ts';
import type { Places } from '../../../helpers/nginx.ts';
import { article, buildProject, temporaryFolder, writeFiles } from '../../../helpers/project.ts';
import { serve } from '../../../helpers/upstream.ts';
import { openStream } from '../../../hosting/instances.ts';
import { ask, askEndpoint, askJson, send } from '../../../server/ask.ts';
import { stopClock } from '../../../helpers/clock.ts';
import { copyProject, serveShared } from '../../../server/shared.ts';
import type { SharedApp } from '../../../server/shared.ts';
import { describeEndpoint, endpointNames, limitedNames, requestOf } from '../../../server/targets.ts';

const trusted = { TRUSTED_PROXIES: '127.0.0.1' };
const first = '/v1/blog/article?path=/blog/news/first';

/** Lists the files of nginx's cache. */
function cacheFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

/** Header of a cached response: version, and the ends of fresh, stale-while-revalidate and stale-if-error. */
const version = 5n;
const times = [8, 16, 24];

/** Ages all responses in a cache by this time. Throws if nginx changed its cache format. */
function ageCache(folder: string, seconds: number): void {
  for (const file of cacheFiles(folder)) {
    const bytes = readFileSync(file);
    if (bytes.readBigUInt64LE(0) !== version) throw new Error(`${file} has another format`);
    for (const at of times) {
      const time = bytes.readBigInt64LE(at);
      if (time > 0n) bytes.writeBigInt64LE(time - BigInt(seconds), at);
    }
    writeFileSync(file, bytes);
  }
}

describeNginx((run) => {
  /** Starts a server behind a copy of an example. */
  const start = async (places: Partial<Places> = {}, settings: Record<string, string> = {}) => {
    const app = await serveShared({ ...trusted, ...settings });
    const nginx = await runExample(run(), { instances: [app.port], ...places });
    const proxied: SharedApp = { ...app, port: nginx.port, url: `http://127.0.0.1:${nginx.port}` };
    return { app, proxied, cache: join(nginx.folder, 'cache'), nginx };
  };
  const requestsTo = (app: SharedApp, target: string) =>
    app.log().filter(({ msg, url }) => msg === 'request' && url === target);

  test('has no faults according to the doctor', async () => {
    const port = await findFreePort();
    const url = `http://localhost:${port}`;
    const limits = { RATELIMIT_RPS: '5', RATELIMIT_BURST: '500' };
    const { app } = await start({ port }, { ...limits, PUBLIC_URL: url });
    resolveToLoopback();
    const findings = await examine(new URL(url), app.key);
    expect(findings.filter(({ state }) => state === 'fault')).toEqual([]);
    expect(findings.filter(({ state }) => state === 'skipped').map(({ check }) => check)).toEqual([
      'TLS',
      // Both sides are this machine.
      'forged X-Forwarded-For',
    ]);
  });

  test('proxies a console stream', async () => {
    const port = await findFreePort();
    const { proxied } = await start({ port }, { PUBLIC_URL: `http://127.0.0.1:${port}` });
    const client = await openStream(proxied);
    onTestFinished(() => client.socket.terminate());
    expect(client.socket.url).toBe(`ws://127.0.0.1:${port}/v1/hosting/game/console/mine/stream`);
    client.send('send command', 'say hello', 'one');
    expect((await client.until('command accepted')).at(-1)).toEqual(['command accepted', 'one']);
  });

  test('port 80 next to TLS refuses a request with a key, and redirects others with their method', async () => {
    const [, lines = ''] = /with TLS: .*\n((?:#.*\n)+)/.exec(readFileSync(join(examples, 'cached.conf'), 'utf8'))!;
    const port80 = await run()((folder, port) => {
      cpSync(join(examples, 'snippets'), join(folder, 'snippets'), { recursive: true });
      // The server with TLS sets this variable.
      const content = 'map "" $api_is_content { default ""; }';
      const server = `${content}\ninclude snippets/hosting-api-http.conf;\n${lines.replaceAll(/^# /gm, '')}`;
      return server.replace('listen 80', `listen 127.0.0.1:${port}`).replace('listen [::]:80', `listen [::1]:${port}`);
    });
    const target = '/v1/hosting/game/power/demo/stop?a=1';
    const post = (headers: Record<string, string>) => send(port80.port, target, { method: 'POST', headers });
    const keyed = await post({ Authorization: 'Bearer hk_key' });
    expect(keyed).toMatchObject({ status: 403, headers: { 'content-type': 'application/json' } });
    expect(JSON.parse(keyed.text)).toEqual({
      success: false,
      error: 'forbidden',
      message: 'The key was sent in plain text: use https, and replace the key',
    });
    const other = await post({ Host: 'api.example.com' });
    expect(other).toMatchObject({ status: 308, headers: { location: `https://api.example.com${target}` } });
  });

  test('replaces a forged X-Forwarded-For, and forwards the request id', async () => {
    const { app, proxied } = await start();
    const headers = { 'X-Forwarded-For': '203.0.113.9', 'X-Request-Id': 'order-4711' };
    const answer = await ask(proxied, '/v1/info', { headers, from: '127.0.0.77' });
    expect(answer.headers['x-request-id']).toBe('order-4711');
    await expect.poll(() => requestsTo(app, '/v1/info')).toHaveLength(1);
    expect(requestsTo(app, '/v1/info')[0]).toMatchObject({ ip: '127.0.0.77', id: 'order-4711' });
  });

  test("limits a client across all instances, with the server's message", async () => {
    const limit = { rate: '1r/m', burst: 3 };
    const instances = [await serveShared(trusted), await serveShared(trusted)];
    const { proxied } = await start({ limit, instances: instances.map(({ port }) => port) });
    const statuses: number[] = [];
    for (let count = 0; count < 8; count += 1) statuses.push((await ask(proxied, '/v1/info')).status);
    expect(statuses).toEqual([200, 200, 200, 200, 429, 429, 429, 429]);
    const counts = () => instances.map((instance) => requestsTo(instance, '/v1/info').length);
    await expect.poll(() => counts().reduce((sum, count) => sum + count)).toBe(4);
    expect(Math.min(...counts())).toBeGreaterThan(0);
    const one = await serveShared({ RATELIMIT_BURST: '1', RATELIMIT_RPS: '1' });
    stopClock();
    await ask(one, '/v1/info');
    for (const name of limitedNames.filter((each) => !describeEndpoint(each).stored)) {
      const [own, other] = [await askEndpoint(one, name), await askEndpoint(proxied, name)];
      const { errorStyle } = describeEndpoint(name);
      const text = renderProblem(errorStyle, 'rate_limited', messageOf(describeEndpoint(name), 'rate_limited'));
      expect({ name, status: other.status, text: other.text }).toEqual({ name, status: 429, text });
      expect(other.headers['content-type']).toBe(errorMediaTypes[errorStyle]);
      expect(Number(other.headers['retry-after'])).toBeGreaterThan(0);
      const names = (headers: object) =>
        Object.keys(headers).filter((header) => !['server', 'keep-alive', 'vary'].includes(header));
      expect(names(other.headers).toSorted()).toEqual(names(own.headers).toSorted());
      for (const header of ['access-control-allow-origin', 'access-control-expose-headers', 'cache-control']) {
        expect(other.headers[header]).toBe(own.headers[header]);
      }
    }
    // Another client, content, and paths without a limit.
    expect((await ask(proxied, '/v1/info', { from: '127.0.0.9' })).status).toBe(200);
    const content = [first, '/v1/content.json', '/v1/domains/tlds', '/v1/plans', '/v1/status'];
    for (const target of [...content, '/health', '/ready', '/media/kb/map.svg', '/docs']) {
      expect((await ask(proxied, target)).status).toBe(200);
    }
  });

  test('tells clients apart behind a CDN, IPv6 clients by their network', async () => {
    const { proxied } = await start({ cdn: true, limit: { rate: '1r/m', burst: 1 } });
    const askFrom = async (address: string) =>
      (await ask(proxied, '/v1/info', { headers: { 'X-Forwarded-For': `203.0.113.1, ${address}` } })).status;
    expect([await askFrom('2001:db8:0:a::1'), await askFrom('2001:db8:0:a:f::2')]).toEqual([200, 200]);
    expect([await askFrom('2001:db8:0:a::3'), await askFrom('2001:db8:0:b::1')]).toEqual([429, 200]);
    expect([await askFrom('198.51.100.1'), await askFrom('198.51.100.1')]).toEqual([200, 200]);
    expect([await askFrom('198.51.100.1'), await askFrom('198.51.100.2')]).toEqual([429, 200]);
    // The same IPv4 client, mapped into IPv6 and behind a NAT64 translator.
    expect([await askFrom('::ffff:198.51.100.1'), await askFrom('64:ff9b::198.51.100.1')]).toEqual([429, 429]);
    expect([await askFrom('::ffff:198.51.100.2'), await askFrom('64:ff9b::198.51.100.2')]).toEqual([200, 429]);
    expect([await askFrom('::ffff:198.51.100.3'), await askFrom('64:ff9b::198.51.100.4')]).toEqual([200, 200]);
    expect([await askFrom('::1:2:3'), await askFrom('64:ff9b:1::1')]).toEqual([200, 200]);
  });

  test('answers the status from the snapshot while all instances are down, and other requests with 502', async () => {
    const statusFile = join(temporaryFolder(), 'status.json');
    const { app, proxied, cache } = await start({ statusFile }, { STATUS_FILE: statusFile });
    await expect.poll(async () => (await ask(proxied, '/v1/status')).status).toBe(200);
    await expect.poll(() => readFileSync(statusFile, 'utf8')).toContain('"status"');
    const usual = await askJson(proxied, '/v1/status');
    await app.stop();
    ageCache(cache, 60);
    const down = await ask(proxied, '/v1/status');
    expect(down).toMatchObject({ status: 200, text: readFileSync(statusFile, 'utf8') });
    expect(JSON.parse(down.text)).toEqual(usual.json);
    expect(down.headers).toMatchObject({
      'content-type': 'application/json',
      'cache-control': usual.headers['cache-control'],
      'access-control-allow-origin': '*',
      'x-content-type-options': 'nosniff',
      'last-modified': expect.stringContaining('GMT'),
    });
    expect((await ask(proxied, '/v1/status', { headers: { 'If-None-Match': down.headers.etag! } })).status).toBe(304);
    expect((await fetch(`${proxied.url}/v1/status`, { method: 'POST' })).status).toBe(503);
    rmSync(statusFile);
    const unknown = await fetch(`${proxied.url}/v1/status`);
    expect([unknown.status, await unknown.text()]).toEqual([503, '{"status":"error"}\n']);
    expect(unknown.headers.get('retry-after')).toBe('10');
    for (const name of endpointNames.filter((one) => !describeEndpoint(one).stored)) {
      const { method, target, headers, body } = requestOf(name, app);
      // Not ask(): the OpenAPI document does not describe responses of nginx.
      const answer = await fetch(proxied.url + target, { method, headers, ...(body && { body }) });
      const [style, text] = /^\/v1\/(?:domains|hosting|key)/.test(target)
        ? (['json', renderProblem('json', 'provider_error', 'The service does not answer')] as const)
        : (['text', 'the service does not answer\n'] as const);
      expect({ name, status: answer.status, text: await answer.text() }).toEqual({ name, status: 502, text });
      expect(Object.fromEntries(answer.headers)).toMatchObject({
        'content-type': errorMediaTypes[style],
        'cache-control': 'no-store',
        'retry-after': '5',
        'x-content-type-options': 'nosniff',
        'x-request-id': expect.stringMatching(/^[0-9a-f]{32}$/),
      });
    }
  });

  test('sends a POST once, and retries a GET or a POST with an Idempotency-Key on another instance', async () => {
    const seen: string[] = [];
    const broken = await serve((request) => {
      seen.push(`${request.method} ${request.url}`);
      request.socket.destroy();
    });
    const app = await serveShared(trusted);
    const instances = [Number(new URL(broken).port), app.port];
    const nginx = await runExample(run(), { instances });
    const url = `http://127.0.0.1:${nginx.port}`;
    const { target, headers } = requestOf('startVps', app);
    await expect
      .poll(async () => {
        seen.length = 0;
        const { status } = await fetch(url + target, { method: 'POST', headers });
        return seen.length > 0 && status;
      })
      .toBe(502);
    expect(seen).toEqual([`POST ${target}`]);
    await expect.poll(() => app.log().length).toBeGreaterThan(0);
    const reached = requestsTo(app, target).length;
    await expect
      .poll(async () => {
        seen.length = 0;
        expect((await fetch(`${url}/v1/info`)).status).toBe(200);
        return seen;
      })
      .toEqual(['GET /v1/info']);
    expect(requestsTo(app, target)).toHaveLength(reached);
    await expect
      .poll(async () => {
        seen.length = 0;
        const repeatable = { ...headers, 'Idempotency-Key': 'one' };
        expect((await fetch(url + target, { method: 'POST', headers: repeatable })).status).toBe(200);
        return seen;
      })
      .toEqual([`POST ${target}`]);
  });

  test('asks the server once, and never caches responses for a single client', async () => {
    const { app, proxied, cache } = await start();
    const accepted = ['gzip, deflate, br, zstd', 'br, gzip', 'gzip', 'deflate, gzip', '', 'identity'];
    for (const encoding of accepted) {
      const answer = await ask(proxied, first, { headers: { 'Accept-Encoding': encoding } });
      expect(answer.status).toBe(200);
      const { headers } = answer;
      expect(
        (await ask(proxied, first, { method: 'HEAD', headers: { 'Accept-Encoding': encoding } })).headers.etag,
      ).toBe(headers.etag);
      const again = { 'Accept-Encoding': encoding, 'If-None-Match': headers.etag! };
      expect((await ask(proxied, first, { headers: again })).status).toBe(304);
    }
    const film = { headers: { Range: 'bytes=0-3' } };
    expect((await ask(proxied, '/media/kb/map.svg', film)).status).toBe(206);
    expect((await ask(proxied, '/media/kb/map.svg', { headers: { Range: 'bytes=4-7' } })).status).toBe(206);
    await expect.poll(() => requestsTo(app, first)).toHaveLength(3);
    expect(requestsTo(app, '/media/kb/map.svg')).toHaveLength(1);

    const kept = cacheFiles(cache).length;
    expect(kept).toBe(4);
    for (const name of endpointNames.filter((one) => !describeEndpoint(one).stored)) await askEndpoint(proxied, name);
    await ask(proxied, '/v1/plans', { headers: { Authorization: `Bearer ${app.key}` } });
    await ask(proxied, '/v1/blog/article');
    expect(cacheFiles(cache)).toHaveLength(kept);
  });

  test('answers every origin from one cached response', async () => {
    const { app, proxied } = await start({}, { CORS_ORIGINS: 'https://one.example' });
    for (const origin of ['https://one.example', 'https://other.example', undefined]) {
      const { headers } = await ask(proxied, first, { headers: origin === undefined ? {} : { Origin: origin } });
      expect(headers['access-control-allow-origin']).toBe('*');
    }
    expect(requestsTo(app, first)).toHaveLength(1);
  });

  test('serves cached responses of any age while all instances are down', async () => {
    const { app, proxied, cache } = await start();
    const names = endpointNames.filter((name) => describeEndpoint(name).stored === 'file');
    const targets = names.map((name) => requestOf(name, app).target);
    const before = new Map<string, Buffer>();
    for (const target of targets) before.set(target, (await ask(proxied, target)).body);
    await app.stop();
    ageCache(cache, 80_000);
    for (const [target, body] of before) {
      const answer = await ask(proxied, target);
      expect({ target, status: answer.status, same: answer.body.equals(body) }).toEqual({
        target,
        status: 200,
        same: true,
      });
      const headers = { 'If-None-Match': answer.headers.etag! };
      expect((await ask(proxied, target, { headers })).status).toBe(304);
    }
    expect((await askEndpoint(proxied, 'getMedia', { headers: { Range: 'bytes=0-3' } })).status).toBe(206);
  });

  test('shows a new release within the time of Cache-Control, or at once after a purge', async () => {
    const root = await copyProject();
    const { app, proxied, cache } = await start({}, { DIST_DIR: join(root, 'dist') });
    const publish = async (title: string): Promise<void> => {
      writeFiles(root, { 'content/blog/news/first.md': article({ title, date: '2026-01-02' }, '## Details\n') });
      await buildProject(root);
      await expect.poll(async () => titleOf(app)).toBe(title);
    };
    const titleOf = async (from: typeof app) => (await askJson(from, first)).json.title;
    const seen = () => titleOf(proxied);
    expect(await seen()).toBe('First');
    await publish('Second');
    expect(await seen()).toBe('First');
    // After a minute, one visitor gets the old response while nginx fetches the new response.
    ageCache(cache, 61);
    expect(await seen()).toBe('First');
    await expect.poll(seen).toBe('Second');
    // After eleven minutes, nobody gets the old response.
    await publish('Third');
    ageCache(cache, 661);
    expect(await seen()).toBe('Third');
    await publish('Fourth');
    for (const one of cacheFiles(cache)) rmSync(one);
    expect(await seen()).toBe('Fourth');
  });
});
