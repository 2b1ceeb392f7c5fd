import { describe, expect, test } from 'vitest';
import { openRaw } from '../helpers/app.ts';
import type { TestApp } from '../helpers/app.ts';
import { openClient } from '../helpers/console-client.ts';
import { ask } from '../server/ask.ts';
import { eventually, serveShared, sharedApp } from '../server/shared.ts';
import { endpointNames, requestOf } from '../server/targets.ts';
import { handshake } from './targets/rows.ts';

/** A raw GET request that closes its connection. */
function get(target: string, ...lines: string[]): string {
  return ['GET ' + target + ' HTTP/1.1', 'Host: x', 'Connection: close', ...lines, '', ''].join('\r\n');
}

function statusesOf(received: string): number[] {
  return [...received.matchAll(/^HTTP\/1\.1 (\d{3}) /gm)].map(([, status]) => Number(status));
}

/** Internals that an answer must not show: stacks, files, libraries, runtime errors. */
const internals =
  /\bat .+:\d+:\d+|node_modules|\/work\/|\.ts\b|\.mjs\b|\bnode:|\bh3\b|srvx|listhen|zod|E[A-Z]{4,}:|\w+Error\b/;

/** Checks that no answer is a 5xx or shows internals, the server still runs, and its log has no warnings. */
async function expectUnharmed(app: TestApp, received: string): Promise<void> {
  expect(received).not.toMatch(/^HTTP\/1\.\d 5/m);
  expect(received).not.toMatch(internals);
  expect((await ask(app, '/health')).status).toBe(200);
  await expect.poll(() => app.log().some(({ url }) => url === '/health'), eventually).toBe(true);
  expect(app.log().filter(({ level }) => level !== 'info')).toEqual([]);
}

const webSocket = handshake.replace('Connection: Upgrade', 'Connection: Upgrade, close').split(' | ');

/** The request and its allowed statuses. `targets/rows.ts` has more, with the whole answer. */
const requests: Readonly<Record<string, readonly [request: string, ...statuses: number[]]>> = {
  'an absolute target with a query alone': [get('http://x?/v1/plans'), 302],
  'a Host that holds a path': [get('/v1/info').replace('Host: x', 'Host: x/abc?'), 200, 400],
  'a Host that holds a route': [get('/nothing').replace('Host: x', 'Host: x/v1/info?'), 404, 400],
  'a Host that is nonsense': [get('/v1/info').replace('Host: x', 'Host: "%00<>'), 200, 400],
  'a target of 10 kB': [get(`/v1/blog/article?path=${'a'.repeat(10_000)}`), 404],
  '1,000 headers': [get('/health', ...Array(1_000).fill('A: b')), 200, 431],
  '5,000 headers': [get('/health', ...Array(5_000).fill('A: b')), 431],
  'NUL in the target': [get('/v1/\0plans'), 400],
  'ESC in the target': [get('/v1/\x1b[31mplans'), 400],
  'non-ASCII bytes in the target': [get('/v1/\xff\xfe'), 400, 404],
  'ESC in a header': [get('/health', 'User-Agent: \x1b[31mred'), 400],
  'NUL in a header': [get('/health', 'User-Agent: a\0b'), 400],
  'a carriage return in a header': [get('/health', 'User-Agent: a\rX-Injected: b'), 400],
  'a header name with a blank': [get('/health', 'X-Blank : a'), 400],
  'more dot segments than there are folders': [get('/../../../../etc/passwd'), 404],
  'a doubly encoded dot': [get('/%252e%252e/v1/plans'), 404],
  'a target that begins with a backslash': [get('\\v1\\plans'), 400],
  'a cut percent-encoding': [get('/v1/plans%'), 404],
  'malformed UTF-8': [get('/v1/%c3%28'), 404],
  'HTTP/0.9': ['GET /health\r\n\r\n', 200, 400],
  'HTTP/1.0 without a Host': ['GET /health HTTP/1.0\r\n\r\n', 200],
  nonsense: ['\r\n\r\n\0\0\0\0 nonsense \r\n\r\n', 400],
  'a body with its length': [`${get('/v1/info', 'Content-Length: 5')}hello`, 200],
  'a body in "ChuNkEd"': [`${get('/v1/info', 'Transfer-Encoding: ChuNkEd')}5\r\nhello\r\n0\r\n\r\n`, 200],
  'a request id of 10,000 characters': [get('/health', `X-Request-Id: ${'a'.repeat(10_000)}`), 200],
};

test.each(Object.entries(requests))('%s is handled', async (_, [request, ...allowed]) => {
  const app = await sharedApp();
  const received = await app.raw(request);
  expect(allowed).toContain(statusesOf(received).at(-1));
  await expectUnharmed(app, received);
});

describe('no request is smuggled', () => {
  const smuggled = 'GET /v1/plans HTTP/1.1\r\nHost: x\r\n\r\n';

  test('behind a body with both a length and chunks', async () => {
    const app = await sharedApp();
    const both = 'GET /v1/info HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n';
    const received = await app.raw(both + smuggled);
    expect(statusesOf(received)).toEqual([400]);
    await expectUnharmed(app, received);
  });

  test.each([
    ['its length', `Content-Length: ${smuggled.length}\r\n\r\n${smuggled}`],
    ['chunks', `Transfer-Encoding: ChuNkEd\r\n\r\n${smuggled.length.toString(16)}\r\n${smuggled}\r\n0\r\n\r\n`],
  ])('in an unread body with %s', async (_, body) => {
    const app = await sharedApp();
    for (const [method, status] of [
      ['POST', 405],
      ['GET', 200],
    ] as const) {
      const received = await app.raw(`${method} /v1/info HTTP/1.1\r\nHost: x\r\n${body}${get('/nothing')}`);
      expect(statusesOf(received)).toEqual([status, 404]);
      expect(received).not.toContain('"services"');
      await expectUnharmed(app, received);
    }
  });
});

test('pipelined requests are answered in order', async () => {
  const app = await sharedApp();
  const targets = ['/v1/plans', '/v1/info', '/v1/blog/list', '/nothing', '/v1/kb/list?category=none', '/health'];
  const ids = Array.from({ length: 120 }, (_, at) => `request-${at}`);
  const all = ids.map((id, at) => {
    const target = targets[at % targets.length];
    const last = at === ids.length - 1 ? 'Connection: close\r\n' : '';
    return `GET ${target} HTTP/1.1\r\nHost: x\r\nX-Request-Id: ${id}\r\n${last}\r\n`;
  });
  const received = await app.raw(all.join(''));
  expect([...received.matchAll(/^X-Request-Id: (.+)\r$/gim)].map(([, id]) => id)).toEqual(ids);
  await expectUnharmed(app, received);
});

test.each(endpointNames)('%s never becomes a websocket', async (name) => {
  const app = await sharedApp();
  const { method, target, headers } = requestOf(name, app);
  const own = Object.entries(headers).map(([header, value]) => `${header}: ${value}`);
  const received = await app.raw(
    [`${method} ${target} HTTP/1.1`, 'Host: x', ...own, ...webSocket, '', ''].join('\r\n'),
  );
  expect(statusesOf(received)).not.toContain(101);
  await expectUnharmed(app, received);
});

test.each([
  ['before it has sent a byte', ''],
  ['in its request line', 'GET /v1/pl'],
  ['in its headers', 'GET /v1/plans HTTP/1.1\r\nHost: x\r\nX-Half: '],
  ['in its body', 'POST /v1/plans HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nhalf'],
  ['in a chunk', 'POST /v1/plans HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nhalf'],
  ['before its answer', get('/v1/plans')],
  ['before an answer outside of the fast path', get('/v1/blog/list?other=1')],
  ['before many answers', 'GET /v1/plans HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(200)],
])('a client may disconnect %s', async (_, request) => {
  const app = await sharedApp();
  for (const leave of ['destroy', 'resetAndDestroy', 'end'] as const) {
    const { socket } = await openRaw(app.port);
    await new Promise((sent) => socket.write(request, sent));
    socket[leave]();
    expect((await ask(app, '/health')).status).toBe(200);
  }
  await expectUnharmed(app, '');
});

describe('the log', () => {
  test.each([
    ['quotes and braces', '","level":"fatal","x":"{}'],
    ['formats', '%s %d %o %j %% %c'],
    ['backslashes', String.raw`\n\r\t\u001b\x1b\\`],
    ['escapes of terminals', '\x9b31m\x85'],
    ['non-ASCII letters', '\xe4\xf6\xfc \xff'],
  ])('has one line per request, with any content: %s', async (_, text) => {
    const app = await serveShared();
    const target = `/v1/info?${text.replaceAll(' ', '+').replace(/[^!-~]/g, '')}`;
    const received = await app.raw(get(target, `User-Agent: ${text}`, `Referer: ${text}`));
    expect(statusesOf(received)).toEqual([200]);
    await expect.poll(() => app.log().filter(({ msg }) => msg === 'request'), eventually).toHaveLength(1);
    expect(app.log().find(({ msg }) => msg === 'request')).toEqual({
      level: 'info',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      ip: '127.0.0.1',
      method: 'GET',
      url: target,
      status: 200,
      ms: expect.any(Number),
      agent: text,
      msg: 'request',
    });
  });

  test("contains no query except an article's path: others may hold a key, a token or a secret domain name", async () => {
    const app = await serveShared();
    await app.raw(get('/v1/hosting/game/console/mine/stream?token=eyJsecret'));
    await app.raw(get(`/v1/hosting/game/console/mine/websocket?key=${app.key}`));
    await app.raw(get('/v1/domains/search?domain=secret-idea.com'));
    await app.raw(get('/v1/blog/../domains/search?domain=secret-idea.com'));
    await app.raw(get('/v1/d%6Fmains/search?domain=secret-idea.com'));
    await app.raw(get('/v1/kb/article?path=/knowledgebase/vps/ssh'));
    await expect.poll(() => app.log().filter(({ msg }) => msg === 'request'), eventually).toHaveLength(6);
    expect(JSON.stringify(app.log())).not.toMatch(/eyJ|hk_|secret-idea/);
    expect(JSON.stringify(app.log())).toContain('?path=/knowledgebase/vps/ssh');
  });

  test('redacts the secret of a key in a path', async () => {
    const app = await serveShared();
    const [, id, secret] = app.key.split('_') as [string, string, string];
    const stream = `/v1/hosting/game/console/${app.key}/stream`;
    await app.raw(get(`/v1/keys/${app.key}`));
    await app.raw(get(stream, 'Upgrade: websocket', 'Connection: Upgrade'));
    (await openClient(`ws://127.0.0.1:${app.port}${stream}`)).socket.close();
    await expect.poll(() => app.log().filter(({ ip }) => ip !== undefined), eventually).toHaveLength(3);
    const text = JSON.stringify(app.log());
    expect(text.match(new RegExp(`hk_${id}_\\*\\*\\*`, 'g'))).toHaveLength(3);
    expect(text).not.toContain(secret);
  });

  test('cuts long client input', async () => {
    const app = await serveShared();
    await app.raw(get(`/v1/info?${'q'.repeat(5_000)}`, `User-Agent: ${'a'.repeat(5_000)}`));
    await expect.poll(() => app.log().filter(({ msg }) => msg === 'request'), eventually).toHaveLength(1);
    const line = app.log().find(({ msg }) => msg === 'request');
    expect(line).toMatchObject({ url: `/v1/info?${'q'.repeat(247)}`, agent: 'a'.repeat(256) });
    expect(JSON.stringify(line).length).toBeLessThan(1_000);
  });
});
