import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ErrorResponse } from '#contract/problem.ts';
import { bytes, first, requestRows, targetRows } from '../../../http/targets/rows.ts';
import type { Line, Row } from '../../../http/targets/rows.ts';
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

// Sends the requests of test/http/targets to a server, and through nginx to another server.

/** Media longer than a line, for ranges. */
const media = {
  'content/media/kb/film.webm': Buffer.concat([Buffer.from('\x1aE\xdf\xa3webm', 'latin1'), Buffer.alloc(992, 'film')]),
  'content/media/kb/paper.pdf': Buffer.alloc(500, '%PDF-1.7\n'),
} as const;

const film = 'GET /media/kb/film.webm';

/** Rows about files, encodings and ranges, which nginx may answer itself. */
const fileRows: Readonly<Record<string, readonly Line[]>> = {
  'a file': [
    film,
    'GET /media/kb/paper.pdf',
    'GET /docs',
    'GET /docs/',
    'GET /docs/index.html',
    'GET /docs/errors.html',
    'GET /docs/errors.html | Accept-Encoding: br | If-None-Match: {etag}',
    'GET /docs/none.html',
    'POST /docs/errors.html',
    'GET /docs/index.html.gz',
    'GET /docs/errors.html.br',
    'GET /v1/openapi.json.br',
    'GET /v1/plans.json',
    'GET /v1/plans/index.json',
    'GET /v1/service-status.json',
    'GET /v1/blog/article/news/first.json',
    'GET /v1/blog/LIST',
    'GET /v1/Plans',
    'GET /schemas/blog.json',
    'GET /current/manifest.json',
    'GET /media/../../private/aliases.json',
    'GET /media/%2e%2e/%2e%2e/private/aliases.json',
    'GET /media/..%2f..%2fprivate/aliases.json',
    'GET /docs/../../private/aliases.json',
    'GET /media/kb/../kb/map.svg',
    'GET /media//kb/map.svg',
    'GET /media/./kb/map.svg',
    'GET /media/kb/map.SVG',
    'GET /media/kb/',
    'GET /media/kb',
    'GET /media/kb/map.svg?x=1',
    'GET /v1/kb/list?category=../list',
    'GET /v1/kb/list?category=vps&category=vps',
    'GET /v1/kb/article?path=%2fknowledgebase%2fvps%2fssh',
    'GET /v1/kb/article?path=%2Fknowledgebase%2Fvps%2Fssh',
    'GET /v1/kb/article?path=/knowledgebase/vps/ssh#top',
    'GET /v1/kb/article?path=knowledgebase/vps/ssh',
    'GET /v1/blog/index?category=none',
    'GET /.hosting-api/400',
    'GET /.for-the-server',
  ],
  'a part of a file': [
    `${film} | Range: bytes=0-3`,
    `${film} | Range: bytes=990-`,
    `${film} | Range: bytes=-5`,
    `${film} | Range: bytes=0-2000`,
    `${film} | Range: bytes=999-999`,
    `${film} | Range: bytes=-0`,
    `${film} | Range: bytes=-2000`,
    `${film} | Range: bytes=5-3`,
    `${film} | Range: bytes=1000-`,
    `${film} | Range: bytes=99999999999999999999-`,
    `${film} | Range: bytes=0-1,3-4`,
    `${film} | Range: bytes=-`,
    `${film} | Range: bytes=a-b`,
    `${film} | Range: BYTES=0-3`,
    `${film} | Range: items=0-3`,
    `${film} | Range: bytes=0-3 | If-Range: {etag}`,
    `${film} | Range: bytes=0-3 | If-Range: "other"`,
    `${film} | Range: bytes=0-3 | If-Range: Fri, 01 Jan 2100 00:00:00 GMT`,
    `${film} | Range: bytes=0-3 | If-None-Match: {etag}`,
    `${film} | Range: bytes=2000- | If-None-Match: *`,
    'HEAD /media/kb/film.webm | Range: bytes=0-3',
    'GET /media/none.webm | Range: bytes=0-3',
    'GET /v1/plans | Range: bytes=0-3',
    'GET /docs | Range: bytes=0-3',
    'GET /v1/info | Range: bytes=0-3',
  ],
  'another condition': [
    `GET ${first} | If-Match: "other"`,
    `GET ${first} | If-Match: *`,
    `GET ${first} | If-Unmodified-Since: Sat, 01 Jan 2000 00:00:00 GMT`,
    `${film} | If-Unmodified-Since: Sat, 01 Jan 2000 00:00:00 GMT`,
    `${film} | If-Modified-Since: Fri, 01 Jan 2100 00:00:00 GMT`,
    `GET ${first} | If-Modified-Since: Fri, 01 Jan 2100 00:00:00 GMT | If-None-Match: {etag}`,
    `${film} | If-None-Match: {etag}`,
    `${film} | If-None-Match: "one,two", {etag}`,
    `GET ${first} | If-None-Match:`,
    `GET ${first} | If-None-Match: other`,
  ],
  'an accepted encoding': [
    'GZIP',
    'BR',
    '*',
    'gzip,deflate,br,zstd',
    'gzip, deflate',
    'br, gzip, deflate',
    'deflate, zstd',
    'x-gzip, brotli',
    'gzipped, br2',
    ', gzip ,',
    'gzip;q=0.5, br;q=0.5',
    'gzip; q=0.2 , br ; q=0.9',
    'gzip;Q=1, br;Q=0.1',
    'br;q=0, gzip',
    'gzip;q=0',
    'gzip;q=0.5, identity',
    'identity;q=0',
    ';;;,,=,q=1',
  ].map((accepted) => `GET /v1/plans | Accept-Encoding: ${accepted}`),
  'a proxy in front': [
    `GET ${first} | Via: 1.1 cdn.example | Accept-Encoding: gzip`,
    'GET /v1/status | Via: 1.1 cdn.example | Accept-Encoding: gzip',
    `GET ${first} | Authorization: Bearer {key}`,
    `GET ${first} | Cache-Control: no-cache`,
    `GET ${first} | Cookie: session=1`,
  ],
};

/** Rows with a different answer from nginx: its status and the reason. */
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

/** Renders a response as text, without connection headers. */
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
    else ErrorResponse.parse(JSON.parse(text));
  };

  /** Compares both responses; returns true if nginx answered itself. */
  const expectAnswer = (name: string, one: Recorded, other: Recorded, isVolatile: boolean): boolean => {
    const [expected, given] = [toComparable(one, isVolatile), toComparable(other, isVolatile)];
    const own = unavoidable[name];
    if (own === undefined) expect(given).toBe(expected);
    else {
      expect(given).not.toBe(expected);
      expectOwn(other, own);
    }
    return own !== undefined;
  };

  const expectSame = async (row: Row, isOther = false): Promise<void> => {
    const { recorded, isVolatile } = await exchangeRow(direct, row, exchangeOnce);
    const send = async (): Promise<boolean> => {
      const other = await exchangeRow(proxied, row, exchangeOnce);
      return expectAnswer(String(row), recorded, other.recorded, isOther || isVolatile);
    };
    // The second response is from the cache, if cacheable.
    if (!(await send()) && typeof row === 'string' && /^(?:GET|HEAD) /.test(row)) await send();
  };

  describe.each(Object.entries({ ...targetRows, ...requestRows, ...fileRows }))('%s', (_, rows) => {
    test.each(toCases(rows))('%s', async (_name, row) => expectSame(row));
  });

  test.each(endpointNames)('%s', async (name) => {
    const { method, target, headers, body } = requestOf(name, { root, key: '{key}' });
    const lines = Object.entries(headers).map(([header, value]) => ` | ${header}: ${value}`);
    const rest = `${lines.join('')}${body === undefined ? '' : ` | Content-Type: application/json || ${body}`}`;
    // The key and the stream token differ each time.
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
    const one = await exchangeOnce(direct.port, sent, nextAddress());
    expectAnswer(name, one, await exchangeOnce(proxied.port, sent, nextAddress()), false);
  });
});
