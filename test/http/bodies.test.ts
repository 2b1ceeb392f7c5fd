import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import type { EndpointName } from '#contract/endpoints.ts';
import { document } from '../contract/document.ts';
import { renderProblem } from '#contract/problem.ts';
import { ask, askEndpoint } from '../server/ask.ts';
import { sharedApp, sharedHosting } from '../server/shared.ts';
import { endpointNames, describeEndpoint, requestOf } from '../server/targets.ts';

const actionNames = endpointNames.filter((name) => {
  const { method, access } = describeEndpoint(name);
  return method === 'POST' && access;
});
const bodied = actionNames.filter((name) => describeEndpoint(name).body);

/** The number of action requests that upstreams received. */
async function countActions(): Promise<number> {
  const { panel, hetzner } = await sharedHosting();
  return [...panel.seen, ...hetzner.seen].filter(({ method }) => method === 'POST').length;
}

async function expectRefused(name: EndpointName, body: string, headers: Record<string, string> = {}): Promise<void> {
  const app = await sharedApp();
  const before = await countActions();
  const answer = await askEndpoint(app, name, { body, headers });
  const { success, error } = JSON.parse(answer.text) as { success: boolean; error: string };
  expect({ body: body.slice(0, 60), status: answer.status, success, error }).toEqual({
    body: body.slice(0, 60),
    status: 400,
    success: false,
    error: 'validation_error',
  });
  expect(answer.text).not.toMatch(/SyntaxError|position|zod|YAML/i);
  expect(await countActions()).toBe(before);
}

/** Sends a POST request with the key, these header lines and this body. */
async function post(name: EndpointName, lines: readonly string[], body: string): Promise<string> {
  const app = await sharedApp();
  const { target, headers } = requestOf(name, app);
  const head = [`POST ${target} HTTP/1.1`, 'Host: x', `Authorization: ${headers['Authorization']}`, ...lines];
  return app.raw([...head, '', body].join('\r\n'));
}

const tooLong = JSON.stringify({ force: true, command: 'x', filler: 'x'.repeat(16_384) });

describe.each(actionNames)('%s', (name) => {
  test('refuses a body that is too long, with a length or chunked', async () => {
    await expectRefused(name, tooLong);
    const chunk = `4000\r\n${' '.repeat(0x4000)}\r\n`;
    const received = await post(name, ['Transfer-Encoding: chunked'], chunk.repeat(4));
    expect(received).toMatch(/^HTTP\/1\.1 400 /);
    expect(received).toMatch(/^connection: close\r$/im);
    expect(received.match(/HTTP\/1\.1/g)).toHaveLength(1);
  });

  test('refuses a compressed body', async () => {
    const { body = '' } = requestOf(name, await sharedApp());
    const compressed = gzipSync(body).toString('latin1');
    const received = await post(name, ['Content-Encoding: gzip', `Content-Length: ${compressed.length}`], compressed);
    expect(received).toMatch(/^HTTP\/1\.1 400 /);
    expect(received).toContain('"error":"validation_error"');
  });
});

describe.each(bodied)('%s', (name) => {
  // messages.test.ts covers common mistakes with their messages.
  test.each([
    'true',
    '[{"force":true}]',
    '{"force":true,"command":"list"}',
    '{"force":[true]}',
    '{"force":true,"force":true}',
    '{"f\\u006frce":false,"force":true}',
    '{"force":false,\r"force":true}',
    '{\r"force":true,\r"force":true\r}',
    '{"force":true,\n"\\u0066orce"\r:true}',
    '{"command":null}',
    '{"Command":"list"}',
    '{"command":"list",\r"command":"stop"}',
    '{"__proto__":{"force":true,"command":"list"}}',
    '{"constructor":{"prototype":{"force":true}}}',
    '{"force":true}{"force":true}',
    '{force:true}',
    "{'force':true}",
    '{"force":true,}',
    '{"force":true}//',
    '\uFEFF\uFEFF{"force":true}',
    '\u0000',
    'force=true',
    '<force>true</force>',
    '['.repeat(8_000),
    `${'['.repeat(8_000)}${']'.repeat(8_000)}`,
    `${'{"a":'.repeat(2_700)}1${'}'.repeat(2_700)}`,
  ])('refuses %j', async (body) => {
    await expectRefused(name, body);
  });

  test('accepts JSON with any media type, with surrounding whitespace and with a byte order mark', async () => {
    const app = await sharedApp();
    const { body = '' } = requestOf(name, app);
    for (const type of ['application/json', 'text/plain', 'application/vnd.api+json; charset=utf-16', '']) {
      const { status } = await askEndpoint(app, name, { headers: type === '' ? {} : { 'Content-Type': type } });
      expect({ type, status }).toEqual({ type, status: 200 });
    }
    for (const [before, after] of [
      ['\r\n\t ', ' \r\n'],
      ['\uFEFF', ''],
    ])
      expect((await askEndpoint(app, name, { body: before + body + after })).status).toBe(200);
  });
});

describe('a console command', () => {
  test.each([
    'x'.repeat(1025),
    'say hello\nstop',
    'say hello\rstop',
    'say \u0000',
    'say \u001B[31m',
    'say \u007F',
    'say \u0085',
    '\t',
    ' ',
    '   \u00A0\u3000',
    '\u200B',
    '\uFEFF \u2060\u00AD',
    '\u2028',
    '\uD800',
    'say \uDC00 hello',
    'say \uDC00\uD800',
  ])('may not be %j', async (command) => {
    await expectRefused('sendGameCommand', JSON.stringify({ command }));
  });

  test.each([
    'x',
    'x'.repeat(1024),
    'a\u200Bb',
    'say "hi" & \\ ${x} `id`; rm -rf /',
    '😀'.repeat(1024),
    'ünïcode ✓',
    '/stop',
  ])('may be %j and arrives unchanged', async (command) => {
    const app = await sharedApp();
    const { panel } = await sharedHosting();
    expect((await askEndpoint(app, 'sendGameCommand', { body: JSON.stringify({ command }) })).status).toBe(200);
    expect(panel.commands.at(-1)).toBe(command);
  });

  test('has its length in the OpenAPI document', () => {
    const { properties } = document.components.schemas['GameConsoleCommandRequest'] as { properties: object };
    // JSON Schema counts code points.
    const description = expect.stringContaining('one of them visible, without control characters');
    expect(properties).toEqual({ command: { type: 'string', minLength: 1, maxLength: 1024, description } });
  });

  test('must be UTF-8', async () => {
    const body = '{"command":"\xff\xfe"}';
    const received = await post('sendGameCommand', [`Content-Length: ${body.length}`], body);
    expect(received).toContain('"error":"validation_error"');
  });
});

describe('a confirmation', () => {
  const yes = '{"force":true}';
  const no = '{"force":false}';
  const reset = '/v1/hosting/cloud/vps-custom/mine/reset';
  const kill = '/v1/hosting/game/power/mine/kill';
  /** Without `refused`, the action is confirmed. */
  const cases: readonly [path: string, query: string, body: string, refused?: 'refused'][] = [
    [reset, '?force=true', yes],
    [reset, '?force=true&force=true', yes],
    [reset, '?force=true', no, 'refused'],
    [reset, '?force=true', '', 'refused'],
    [reset, '', yes, 'refused'],
    [reset, '', '', 'refused'],
    [reset, '?force=', yes, 'refused'],
    [reset, '?force=false', yes, 'refused'],
    [reset, '?force=TRUE', yes, 'refused'],
    [reset, '?force=1', yes, 'refused'],
    [reset, '?force=1', '', 'refused'],
    [reset, '?force', yes, 'refused'],
    [reset, '?Force=true', yes, 'refused'],
    [reset, '?force[]=true', yes, 'refused'],
    [reset, '?force=%20true', yes, 'refused'],
    [reset, '?force=false', no, 'refused'],
    [kill, '?force=true', ''],
    [kill, '?force=true&forced=no', ''],
    // Generated clients send null for an optional body that was not given.
    [kill, '?force=true', ' null\n'],
    [kill, '', 'null', 'refused'],
    [kill, '', yes],
    [kill, '?force=true', yes],
    [kill, '?force=', yes],
    [kill, '', '', 'refused'],
    [kill, '?forced=true', '', 'refused'],
    [kill, '?Force=1&a&a', '', 'refused'],
    [kill, '', no, 'refused'],
    [kill, '?force=true', no, 'refused'],
    [kill, '?force=false', yes, 'refused'],
    [kill, '?force=True', '', 'refused'],
    [kill, '?force=%1B%E2%80%AE', '', 'refused'],
    [kill, '?force=yes', yes, 'refused'],
  ];

  test.each(cases)('of %s by %j and the body %j: %s', async (path, query, body, refused) => {
    const app = await sharedApp();
    const before = await countActions();
    const { status, text } = await ask(app, path + query, { method: 'POST', key: app.key, body });
    expect(status).toBe(refused === undefined ? 200 : 400);
    expect(await countActions()).toBe(refused === undefined ? before + 1 : before);
    const action =
      path === reset ? 'Reset requires force=true in the query and' : 'Kill requires force=true in the query or';
    const message = `${action} in the body`;
    if (status === 400) expect(text).toBe(renderProblem('json', 'confirmation_required', message));
  });

  test.each([reset, kill])('of %s with contradicting values is refused', async (path) => {
    const app = await sharedApp();
    for (const query of ['?force=true&force=false', '?force=false&force=true']) {
      const { status, text } = await ask(app, path + query, { method: 'POST', key: app.key, body: yes });
      expect({ query, status }).toEqual({ query, status: 400 });
      expect(text).toContain('"error":"validation_error"');
    }
  });
});
