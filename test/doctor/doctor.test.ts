import { writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { examine } from '../../server/doctor/visit.ts';
import { runHere } from '../commands/run-command.ts';
import { offline } from '../helpers/app.ts';
import { hastenPings, stopTimeouts } from '../helpers/clock.ts';
import { findOwnAddress } from '../helpers/loopback.ts';
import { temporaryFolder } from '../helpers/project.ts';
import { createUpstream, serve } from '../helpers/upstream.ts';
import { findFreePort } from '../helpers/free-port.ts';
import { call, serveOperators } from '../operators/operators.ts';
import { serveShared, sharedApp } from '../server/shared.ts';

/** A file with a text. */
function fileWith(text: string): string {
  const file = join(temporaryFolder(), 'key');
  writeFileSync(file, text);
  return file;
}

test('a service without a proxy has no fault, and the table has a row for each check', async () => {
  hastenPings();
  const { url, key } = await sharedApp();
  const { status, stdout, stderr } = await runHere(['doctor', '--url', url, '--key-file', fileWith(`${key}\n`)], {});
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  const [heading, ...rows] = stdout.trimEnd().split('\n');
  expect(heading).toMatch(/^CHECK +RESULT +SEEN$/);
  expect(rows).toHaveLength(20);
  expect(rows.filter((row) => !/ {2}(?:ok|skipped) {2}/.test(row))).toEqual([]);
  expect(stdout).not.toContain(key);
});

test('an unreachable service is a single fault, with exit status 1', async () => {
  const url = `http://127.0.0.1:${await findFreePort()}`;
  const { status, stdout, stderr } = await runHere(['doctor', '--url', url, '--json'], {});
  expect({ status, stderr }).toEqual({ status: 1, stderr: '1 of 1 checks found a fault\n' });
  expect(JSON.parse(stdout)).toEqual([
    {
      check: 'answers',
      state: 'fault',
      seen: 'the request failed: ECONNREFUSED',
      advice: 'check that the proxy listens at this address and keeps the connection open; see its error log',
    },
  ]);
});

test('in a terminal, the table and the remedies fit the width, and keep all words and whole commands', async () => {
  const root = temporaryFolder();
  writeFileSync(join(root, 'hosting.sqlite'), 'This is no database. '.repeat(100));
  const settings = {
    ...offline,
    DATA_DIR: root,
    DIST_DIR: join(root, 'dist'),
    PORT: '2',
    PUBLIC_URL: 'http://api.example.com',
    TRUSTED_PROXIES: '0.0.0.0/0',
  };
  const [{ stdout: whole }, { stdout }] = await Promise.all([
    runHere(['doctor'], settings),
    runHere(['doctor'], settings, { columns: 80 }),
  ]);
  const toWords = (text: string): string[] => text.replaceAll(/\d+/g, '0').split(/\s+/);
  expect(toWords(stdout)).toEqual(toWords(whole));
  const lines = stdout.split('\n');
  expect(lines.filter((line) => line.length > 80)).toEqual([]);
  expect(whole.split('\n').filter((line) => line.length > 80)).not.toEqual([]);
  // A long finding goes on in its column, a remedy below itself.
  const at = lines.findIndex((line) => line.includes('TRUSTED_PROXIES trusts every address'));
  expect(lines[at + 1]).toMatch(new RegExp(`^ {${lines[0]!.indexOf('SEEN')}}\\S`));
  expect(lines).toContain('  `npm run store -- restore FILE`');
});

test('a service whose store does not answer is a fault', async () => {
  const upstream = await createUpstream(({ path }) =>
    path === '/health' ? { status: 200, body: '{"status":"healthy"}' } : { status: 503, body: '{"status":"unready"}' },
  );
  const [finding] = await examine(new URL(upstream.url));
  expect(finding).toMatchObject({ check: 'answers', state: 'fault', seen: '/ready answers 503 unready' });
});

test.each([
  ['another service', { status: 200, body: 'ok' }, '/health answers 200, but not like this service'],
  [
    'a redirect',
    { status: 301, headers: { location: 'https://www.example.com/health' } },
    '/health is redirected to https://www.example.com/health',
  ],
  [
    'a proxy that cuts bodies',
    { status: 200, headers: { 'content-type': 'application/json' }, body: '{"status":"heal' },
    '/health is cut off after 15 bytes',
  ],
  ['a proxy without a service', { status: 502, body: '<h1>Bad Gateway</h1>' }, '/health answers 502'],
])('%s in place of the service is a single fault', async (_, answer, seen) => {
  const { url } = await createUpstream(() => answer);
  expect(await examine(new URL(url))).toEqual([
    { check: 'answers', state: 'fault', seen: expect.stringContaining(seen), advice: expect.stringMatching(/\w{3}/) },
  ]);
});

test('a service below a path is checked at that path', async () => {
  const seen: string[] = [];
  const upstream = await createUpstream(({ path }) => {
    seen.push(path);
    return { status: 200, body: '{"status":"healthy"}' };
  });
  await examine(new URL(`${upstream.url}/api/`));
  expect(seen).toEqual(['/api/health', '/api/ready']);
});

const noAddress = '--url must be an address such as https://api.example.com, without a query';

test.each([
  ['--key-file', 'key', '--key-file needs --url'],
  ['--url', 'api.example.com', noAddress],
  ['--url', 'ftp://a.example', noAddress],
  ['--url', 'https://a.example/?x', noAddress],
  ['--url', 'https://u:p@a.example', noAddress],
])('%s %s is refused', async (option, value, message) => {
  expect(await runHere(['doctor', option, value], {})).toEqual({ status: 1, stdout: '', stderr: `${message}\n` });
});

test('a key file without a key is refused, and its text is not printed', async () => {
  const file = fileWith('hk_secret');
  const use = (path: string) => runHere(['doctor', '--url', 'http://127.0.0.1:1', '--key-file', path], {});
  const stderr = `${file} must contain one API key, as \`keys create\` prints it\n`;
  expect(await use(file)).toMatchObject({ status: 1, stderr });
  expect((await use(`${file}-x`)).stderr).toBe(`${file}-x cannot be read: ENOENT\n`);
});

type Change = (response: ServerResponse, text: string, request: IncomingMessage) => void;

/** Checks a service behind a proxy that changes its responses. */
async function examineBehind(change: Change, { host = '127.0.0.1', changeBody = (body: string) => body } = {}) {
  const app = await sharedApp();
  const url = await serve((request, response) => {
    const forward = async (): Promise<void> => {
      const body = changeBody(await readText(request)) || null;
      const { 'content-type': type } = request.headers;
      const init = {
        method: request.method!,
        redirect: 'manual',
        body,
        headers: { ...(type && { 'content-type': type }) },
      } as const;
      // oxlint-disable-next-line no-restricted-globals -- A request to our own server, not to an upstream.
      const answer = await fetch(app.url + request.url!, init);
      const text = await answer.text();
      response.statusCode = answer.status;
      for (const [name, value] of answer.headers)
        if (!/^(?:content-length|content-encoding|connection|x-request-id)$/.test(name))
          response.setHeader(name, value);
      change(response, text, request);
    };
    void forward();
  }, host);
  const findings = await examine(new URL(url));
  return (name: string) => findings.find(({ check }) => check === name);
}

test('a proxy that writes Allow in lower case, or adds a byte order mark, is a fault', async () => {
  const lower = await examineBehind((response, text) => {
    const allow = response.getHeader('allow');
    if (allow !== undefined) response.setHeader('Allow', String(allow).toLowerCase());
    response.end(text);
  });
  expect(lower('methods')).toMatchObject({ state: 'fault', seen: expect.stringContaining('with Allow: get, head,') });
  const marked = await examineBehind((response, text) => response.end(`\uFEFF${text}`));
  expect(marked('answers')).toMatchObject({ state: 'fault', seen: '/health begins with a byte order mark' });
});

test("a proxy that passes on the operators' port is a fault", async () => {
  const { port } = await serveOperators();
  const find = await examineBehind((response, text, { url }) => {
    if (url !== '/v1/operator') response.end(text);
    else void call(port, undefined, 'GET', url).then(({ status }) => response.writeHead(status).end());
  });
  expect(find("operators' port")).toMatchObject({
    state: 'fault',
    seen: '/v1/operator is answered 401, not 404: the port is exposed',
  });
});

test('a proxy that cuts long bodies is a fault by that name', async () => {
  const find = await examineBehind((response, text) => response.end(text.slice(0, 4096)));
  expect(find('bodies as described')).toMatchObject({
    state: 'fault',
    seen: expect.stringContaining('/v1/openapi.json is cut off after 4096 bytes'),
  });
  const closed = await examineBehind((response, text) => {
    response.setHeader('Content-Length', text.length);
    response.write(text.slice(0, 5), () => response.destroy());
  });
  expect(closed('answers')!.seen).toBe('the request failed: the connection ends before the response does');
});

test('a proxy that answers a wrong method without GET in Allow is a fault with both', async () => {
  const find = await examineBehind((response, text) => {
    if (response.hasHeader('allow')) response.setHeader('Allow', 'POST');
    response.end(text);
  });
  const seen = 'DELETE /v1/plans is answered 405 with Allow: POST, not 405 with GET';
  expect(find('methods')).toMatchObject({ state: 'fault', seen });
});

test('a proxy that cuts bodies of requests is a fault', async () => {
  const changeBody = (body: string): string => body.slice(0, 8000);
  const cut = await examineBehind((response, text) => response.end(text), { changeBody });
  expect(cut('request bodies')).toMatchObject({ state: 'fault', seen: 'a body of 16 kB arrives changed or cut' });
  const whole = await examineBehind((response, text) => response.end(text));
  expect(whole('request bodies')).toMatchObject({ state: 'ok', seen: '16 kB arrive' });
});

test('streams wait for the rate limit like other checks', async () => {
  const app = await serveShared({ RATELIMIT_RPS: '5', RATELIMIT_BURST: '5' });
  const found = await examine(new URL(app.url));
  expect(found.find(({ check }) => check === 'console streams')).toMatchObject({ state: 'ok' });
});

test('a quota that refills between two bursts is not a forged address', async (context) => {
  let forged = 0;
  const change: Change = (response, text, { headers }) => {
    const hasGrown = headers['x-forwarded-for'] !== undefined && (forged += 1) <= 20;
    response.setHeader('RateLimit-Policy', '"default";q=100;w=2');
    response.setHeader('RateLimit', `"default";r=${hasGrown ? 100 : 90};t=1`);
    response.end(text);
  };
  const find = await examineBehind(change, { host: findOwnAddress(context) });
  expect(find('forged X-Forwarded-For')).toMatchObject({ state: 'ok' });
  expect(forged).toBe(40);
});

test('a response that decompresses to more than 16 MiB is a fault', async () => {
  const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024));
  const url = await serve((_, response) => response.setHeader('Content-Encoding', 'gzip').end(bomb));
  const [finding] = await examine(new URL(url));
  expect(finding).toMatchObject({ check: 'answers', state: 'fault', seen: expect.stringContaining('16 MiB') });
});

test('a service that trickles bytes is given up after 30 s', async () => {
  const advance = stopTimeouts();
  const bytes = Promise.withResolvers<void>();
  const url = await serve((_, response) => {
    let sent = 0;
    const timer = setInterval(() => response.write(' ', () => (sent += 1) === 5 && bytes.resolve()), 20);
    response.on('close', () => clearInterval(timer));
  });
  const examined = examine(new URL(url));
  await bytes.promise;
  advance(30_000);
  expect((await examined)[0]).toMatchObject({
    state: 'fault',
    seen: 'the request failed: no complete response within 30 s',
  });
});
