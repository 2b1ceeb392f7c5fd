import { expect, test } from 'vitest';
import { document } from '../contract/document.ts';
import { ask } from '../server/ask.ts';
import { serveHosting, sharedApp } from '../server/shared.ts';

const stream = '/v1/hosting/game/console/mine/stream';
const message = 'This address is a websocket: send a websocket handshake';

test.each([
  ['GET', stream],
  ['GET', `${stream}?token=secret`],
  ['GET', '/v1/hosting/game/console/unknown/stream'],
  ['HEAD', stream],
])('%s %s without a handshake is 426, and names the protocol', async (method, target) => {
  const app = await sharedApp();
  for (const headers of [{}, { Connection: 'Upgrade', Upgrade: 'h2c' }, { Authorization: `Bearer ${app.key}` }]) {
    const answer = await ask(app, target, { method, headers });
    const text = `{"success":false,"error":"upgrade_required","message":"${message}"}\n`;
    expect(answer).toMatchObject({ status: 426, text: method === 'HEAD' ? '' : text });
    expect(answer.headers).toMatchObject({
      upgrade: 'websocket',
      connection: 'Upgrade',
      'content-type': 'application/json',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-request-id': expect.any(String),
      ratelimit: expect.any(String),
    });
  }
});

test('the connection serves another request after a 426', async () => {
  const app = await sharedApp();
  const [get, end] = [`GET ${stream} HTTP/1.1\r\nHost: x\r\n`, '\r\n'];
  const received = await app.raw(`${get}${end}${get}Connection: close\r\n${end}`);
  expect(received.match(/^HTTP\/1\.1 426 Upgrade Required\r$/gm)).toHaveLength(2);
});

test('another method of a stream is 405, and what is no stream is 404', async () => {
  const app = await sharedApp();
  for (const method of ['POST', 'DELETE', 'PROPFIND', 'OPTIONS']) {
    const { status, headers } = await ask(app, stream, { method });
    expect({ method, status, allow: headers.allow }).toEqual({ method, status: 405, allow: 'GET, HEAD' });
  }
  const others = ['not%20a%20server', 'vps:mine', ''].map((id) => `/v1/hosting/game/console/${id}/stream`);
  for (const target of [`${stream}/`, `${stream}/x`, ...others]) {
    expect(await ask(app, target)).toMatchObject({ status: 404 });
  }
});

test('the OpenAPI document says what the address of a stream answers without a handshake', () => {
  const { get } = document.paths['/v1/hosting/game/console/{server_id}/websocket']!;
  expect(JSON.stringify(get)).toContain('a plain GET of it is 426');
});

test('a handshake behind an unfinished request is answered after it, and opens no stream', async () => {
  const { app, world } = await serveHosting();
  world.panel.fail({ status: 204, ms: 300 }, ({ path }) => path.endsWith('/power'));
  const action = `POST /v1/hosting/game/power/mine/start HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.key}\r\n`;
  const handshake =
    'GET /v1/hosting/game/console/mine/stream HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
    'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n';
  const answer = await app.raw(`${action}Content-Length: 0\r\n\r\n${handshake}`);
  expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 426']);
  expect(await app.raw(`GET /v1/info HTTP/1.1\r\nHost: x\r\n\r\n${handshake}`)).toMatch(
    /^HTTP\/1\.1 200[^]*HTTP\/1\.1 (?:101|426)/,
  );
  expect(await app.raw(handshake)).toMatch(/^HTTP\/1\.1 101/);
});
