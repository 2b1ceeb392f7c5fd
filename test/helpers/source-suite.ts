import { setTimeout as sleep } from 'node:timers/promises';
import type { RequestListener } from 'node:http';
import { describe, expect, test } from 'vitest';
import { failureOf, meetFault, meetNobody } from './fault-suite.ts';
import type { Answer, Fault, Seen, Upstream } from './upstream.ts';

/** A source with a timeout of 20 s, and its upstream. */
interface Harness {
  readonly upstream: Upstream;
  readonly source: { read(): Promise<unknown>; close(): Promise<void> };
}

interface Expected {
  /** The result of a read. */
  readonly value: unknown;
  /** Values that must not appear in errors. */
  readonly secrets?: readonly string[];
  /** The allowed error messages. */
  readonly messages?: readonly string[];
}

const words = 'words of the upstream';
const page = '<!DOCTYPE html><html><body><h1>Down for maintenance</h1></body></html>';
const warning = '<br />\n<b>Warning</b>: Undefined array key in <b>/srv/www/api.php</b><br />\n';
const otherShape = { result: {}, currencies: {}, publicGroupList: {}, heartbeatList: [] };

/** Tests a source's read with every fault of every request. */
export function testSource(
  name: string,
  requests: Readonly<Record<string, (seen: Seen) => boolean>>,
  setUp: () => Promise<Harness>,
  { value, secrets = [], messages = ['The request could not be completed'] }: Expected,
): void {
  describe.each(Object.entries(requests))(`${name}: %s`, (_request, matches) => {
    const answer = (status: number, body = words, headers = {}): Answer => ({ status, body, headers });
    test.each<[string, Fault]>([
      ['a 400', answer(400)],
      ['a 401', answer(401)],
      ['a 403', answer(403)],
      ['a 403 with JSON', answer(403, '{"result":"error","message":"Invalid IP 192.0.2.1","error":null}')],
      ['a 404', answer(404)],
      ['a 421', answer(421)],
      ['a 429', answer(429, words, { 'retry-after': '1' })],
      ['a 500', answer(500)],
      ['a 502 with a page, of a proxy', answer(502, page)],
      ['a 503 with a page', answer(503, page)],
      ['a 503 with JSON, as with a busy database', answer(503, '{"status":"fail"}')],
      ['a page with the status 200', answer(200, page)],
      ['a PHP warning before the JSON', answer(200, `${warning}{"result":[],"error":null}`)],
      ['an empty body', answer(200, '')],
      ['JSON of another shape', answer(200, JSON.stringify(otherShape))],
      ['null', answer(200, 'null')],
      ['JSON that is cut', answer(200, '{"result":"success","currencies":{"currency":[{"id":')],
      ['a 301 to another path', answer(301, '', { location: '/elsewhere' })],
      ['a 302 to another path', answer(302, '', { location: '/elsewhere' })],
      ['a 307, which would repeat the request', answer(307, '', { location: '/elsewhere' })],
      ['a dropped connection', 'drop'],
      ['a connection that is cut in the body', 'cut'],
      ['bytes in another protocol', 'garbage'],
      ['50 MB', 'huge'],
      ['no answer in time', 'hang'],
      ['an answer that never ends', 'stall'],
    ])('%s is an error without text from upstream, and the next read succeeds', async (_, fault) => {
      const { upstream, source } = await setUp();
      const error = await meetFault(fault, { upstream, secrets }, matches, () => source.read());
      expect(error.code).toBe('provider_error');
      expect(messages).toContain(error.message);
      expect(String(error.cause)).toContain(upstream.url);
      upstream.fail(undefined);
      expect(await source.read()).toEqual(value);
    });
  });

  test(`${name}: a slow answer is read`, async () => {
    const { upstream, source } = await setUp();
    const [listener] = upstream.server.listeners('request') as RequestListener[];
    upstream.server.removeAllListeners('request');
    upstream.server.on('request', (request, response) => void sleep(150).then(() => listener!(request, response)));
    expect(await source.read()).toEqual(value);
  });

  test(`${name}: an unreachable upstream is an error`, async () => {
    const { upstream, source } = await setUp();
    expect(await meetNobody({ upstream, secrets }, () => source.read())).toMatchObject({ code: 'provider_error' });
  });

  test(`${name}: closing the source aborts a running read`, async () => {
    const { upstream, source } = await setUp();
    const arrived = upstream.hold();
    const reading = failureOf(source.read());
    await arrived;
    await source.close();
    expect(await reading).toMatchObject({ code: 'provider_error' });
  });
}
