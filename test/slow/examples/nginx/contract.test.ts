import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ErrorResponse } from '#contract/problem.ts';
import { bytes, requestRows, targetRows } from '../../../http/targets/rows.ts';
import type { Row } from '../../../http/targets/rows.ts';
import { fileRows, media } from './file-rows.ts';
import {
  buildTargets,
  exchangeRow,
  nextAddress,
  rowSettings,
  serveTargets,
  toCases,
} from '../../../http/targets/serving.ts';
import type { Served } from '../../../http/targets/serving.ts';
import { exchangeOnce, toRecord } from '../../../http/targets/wire.ts';
import type { Recorded } from '../../../http/targets/wire.ts';
import { siteUrls } from '../../../helpers/project.ts';
import { endpointNames, requestOf } from '../../../server/targets.ts';
import { describeNginx, runExample } from '../../../helpers/nginx.ts';
import type { OnEnd } from '../../../helpers/upstream.ts';

// The tables of requests of test/http/targets are sent to a server, and to another one through nginx.

/** Rows that nginx answers otherwise, with its status; each with the reason. */
const unavoidable: Readonly<Record<string, readonly [status: number, why: string]>> = {
  'GET /%zz': [400, 'nginx decodes the path to find its location'],
  'GET /v1/%zz': [400, 'as above'],
  'GET /media/%zz': [400, 'as above'],
  'GET HTTP://user:secret@odd_host.example:99999/v1/info?x=1': [400, 'nginx reads the host of an absolute target'],
  'GET ftp://example.com/v1/plans': [
    200,
    'nginx takes every scheme of an absolute target, and passes on the path alone',
  ],
  'OPTIONS *': [400, 'nginx needs a path: the same status, with the sentence for all that it cannot parse'],
  'GET *': [400, 'as above'],
  'CONNECT example.com:443': [400, 'nginx answers, the server closes the connection'],
  'CONNECT /v1/plans': [502, 'the server closes the connection, and nginx says so'],
  'HTTP/2.0': [400, 'nginx knows 1.0 and 1.1 alone without TLS'],
  'no Host': [400, 'nginx needs it: the same status, with the sentence for all that it cannot parse'],
  'no Host, for a file of the release': [400, 'as above'],
  'an empty Host': [400, 'as above'],
  'two Hosts': [400, 'nginx picks its server by the Host'],
  'GET /media/../../private/aliases.json': [400, 'nginx resolves dots, and these leave the root'],
  'GET /media/%2e%2e/%2e%2e/private/aliases.json': [400, 'as above'],
  'GET /media/..%2f..%2fprivate/aliases.json': [400, 'as above'],
  'GET /docs/../../private/aliases.json': [400, 'as above'],
  'GET /media/kb/film.webm | Range: bytes=1000-': [416, 'nginx repeats the headers of the file'],
  'GET /media/kb/film.webm | Range: bytes=-0': [416, 'as above'],
  'GET /media/kb/film.webm | Range: bytes=5-3': [416, 'the server ignores a part that ends before it begins'],
  'bare line feeds': [200, 'nginx takes them, and sends CRLF to the server'],
};

/** An answer as text, without what belongs to the connection. */
function toComparable(recorded: Recorded, isVolatile: boolean): string {
  const lines = toRecord(recorded, isVolatile).split('\n').slice(0, -1);
  return lines
    .filter((line) => !/^(?:connection|date|server): /.test(line))
    .map((line) => line.replace(/^(x-request-id: |idempotent-request-id: )[0-9a-f]{32}$/, '$1<id>'))
    .map((line) => line.replace(/"state":"\w+"/, '"state":"<state>"'))
    .join('\n');
}

describeNginx((run) => {
  const ends: (() => void | Promise<void>)[] = [];
  const onEnd: OnEnd = (end) => void ends.unshift(end);
  let root: string;
  let direct: Served;
  let proxied: Served;
  beforeAll(async () => {
    root = await buildTargets(onEnd, media, { urls: siteUrls });
    const settings = { ...rowSettings, TRUSTED_PROXIES: '127.0.0.1' };
    direct = await serveTargets({ root, settings: rowSettings, onEnd });
    const behind = await serveTargets({ root, settings, onEnd });
    const { port } = await runExample(run(), { instances: [behind.port] }, onEnd);
    proxied = { ...behind, port };
  });
  afterAll(async () => {
    for (const end of ends) await end();
  });

  const expectOwn = (recorded: Recorded, [status]: readonly [number, string]): void => {
    const [answer] = recorded.answers;
    const headers = Object.fromEntries(answer!.headers.map(([name, value]) => [name.toLowerCase(), value]));
    expect(answer!.statusLine).toContain(` ${status} `);
    expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff' });
    expect(headers['x-request-id']).toMatch(/^[0-9a-f]{32}$/);
    if (status < 400) return;
    const text = answer!.body.toString();
    if (status === 502) expect(text).toBe('the service does not answer\n');
    else if (status === 416) expect(text).toBe('the range is outside of the file\n');
    else ErrorResponse.parse(JSON.parse(answer!.body.toString()));
  };

  const expectSame = async (row: Row, isOther = false): Promise<void> => {
    const [one, other] = [await exchangeRow(direct, row, exchangeOnce), await exchangeRow(proxied, row, exchangeOnce)];
    const expected = toComparable(one.recorded, isOther || one.isVolatile);
    const own = unavoidable[String(row)];
    if (own) expect(toComparable(other.recorded, isOther || other.isVolatile)).not.toBe(expected);
    if (own) return expectOwn(other.recorded, own);
    expect(toComparable(other.recorded, isOther || other.isVolatile)).toBe(expected);
    // From the cache too, if it was kept.
    if (typeof row !== 'string' || !/^(?:GET|HEAD) /.test(row)) return;
    const again = await exchangeRow(proxied, row, exchangeOnce);
    expect(toComparable(again.recorded, isOther || again.isVolatile)).toBe(expected);
  };

  describe.each(Object.entries({ ...targetRows, ...requestRows, ...fileRows }))('%s', (_, rows) => {
    test.each(toCases(rows))('%s', async (_name, row) => expectSame(row));
  });

  test.each(endpointNames)('%s', async (name) => {
    const { method, target, headers, body } = requestOf(name, { root, key: '{key}' });
    const lines = Object.entries(headers).map(([header, value]) => ` | ${header}: ${value}`);
    const rest = `${lines.join('')}${body === undefined ? '' : ` | Content-Type: application/json || ${body}`}`;
    // The key, and the token of a stream, are others each time.
    const isOther = name === 'getKey' || name === 'openGameConsole';
    await expectSame(`${method} ${target}${rest}`, isOther);
    await expectSame(`${method} ${target}${target.includes('?') ? '&' : '?'}utm_source=mail${rest}`, isOther);
    for (const other of ['HEAD', 'OPTIONS', 'PUT']) await expectSame(`${other} ${target}${rest}`, isOther);
    for (const encoding of ['br', 'gzip']) {
      await expectSame(`GET ${target} | Accept-Encoding: ${encoding}${rest}`, isOther);
    }
  });

  test.each(Object.entries(bytes))('%s', async (name, text) => {
    const sent = Buffer.from(text, 'latin1');
    const [one, other] = [
      await exchangeOnce(direct.port, sent, nextAddress()),
      await exchangeOnce(proxied.port, sent, nextAddress()),
    ];
    const expected = toComparable(one, false);
    const own = unavoidable[name];
    if (own) expect(toComparable(other, false)).not.toBe(expected);
    if (own) return expectOwn(other, own);
    expect(toComparable(other, false)).toBe(expected);
  });
});
