import { describe, expect, test } from 'vitest';
import type { EndpointName } from '#contract/endpoints.ts';
import { renderProblem } from '#contract/problem.ts';
import { document, operationsOf } from '../contract/document.ts';
import { hetznerToken } from '../helpers/upstream-hetzner.ts';
import { failure, panelKeys } from '../helpers/upstream-panel.ts';
import { askEndpoint, askJson } from '../server/ask.ts';
import { borrowHosting, serveHosting, sharedApp } from '../server/shared.ts';
import { describeEndpoint, serverAccessOf, serverNames } from '../server/targets.ts';

/** Texts of the schema library. */
const foreignWords = /invalid input|expected|received|unrecognized|zod|pattern|regex/i;

async function messageOf(name: EndpointName, body: string): Promise<string> {
  const { status, text } = await askEndpoint(await sharedApp(), name, { body });
  expect({ body, status }).toEqual({ body, status: 400 });
  expect(text).not.toMatch(foreignWords);
  return describeEndpoint(name).errorStyle === 'text' ? text : (JSON.parse(text) as { message: string }).message;
}

describe('a JSON 400 names the field', () => {
  const both = ['resetVps', 'killGameServer'] as const;
  test.each<[body: string, message: string]>([
    ['{}', 'The field force is required'],
    ['{"force":"true"}', 'The field force must be true or false'],
    ['{"force":1}', 'The field force must be true or false'],
    ['{"force":null}', 'The field force must be true or false'],
    ['{"force":{"force":true}}', 'The field force must be true or false'],
    ['{"force":true,"forse":true}', 'The field "forse" is unknown'],
    ['{"Force":true}', 'The field force is required; the field "Force" is unknown'],
    ['{"force":true,"a":1,"b":2}', 'The field "a" is unknown'],
    ['{"force":1,"a":1,"b":2}', 'The field force must be true or false; the field "a" is unknown'],
    ['{"force":false,"force":true}', 'The field "force" is given twice'],
    ['[]', 'The body must be a JSON object'],
    ['"force"', 'The body must be a JSON object'],
    ['{', 'The body is not valid JSON'],
  ])('%s', async (body, message) => {
    for (const name of both) expect(await messageOf(name, body)).toBe(message);
  });

  test('null, where a body is required', async () => {
    expect(await messageOf('resetVps', 'null')).toBe('The body must be a JSON object');
  });

  const limits = 'must be 1 to 1,024 characters, one of them visible, without control characters';
  test.each<[body: string, message: string]>([
    ['', 'A JSON body with the field command is required'],
    ['{}', 'The field command is required'],
    ['{"command":1}', 'The field command must be a string'],
    ['{"command":["list"]}', 'The field command must be a string'],
    ['{"command":""}', `The field command ${limits}`],
    ['{"command":"a\\nb"}', `The field command ${limits}`],
    ['{"command":" "}', `The field command ${limits}`],
    ['{"command":"list","server":"theirs"}', 'The field "server" is unknown'],
    ['{"command":"list","command":"stop"}', 'The field "command" is given twice'],
  ])('%j', async (body, message) => {
    expect(await messageOf('sendGameCommand', body)).toBe(message);
  });

  test('an unknown name is shortened, without invisible characters', async () => {
    const names = {
      ['x'.repeat(5_000)]: `${'x'.repeat(40)}…`,
      ['😀'.repeat(100)]: `${'😀'.repeat(40)}…`,
      'größe 🎮': 'größe 🎮',
      'a\u0000\u001B[31m\r\n\u202E\u200B\uD800b': 'a??[31m?????b',
      '<b>"': '<b>"',
    };
    for (const [name, shown] of Object.entries(names)) {
      const body = JSON.stringify({ force: true, [name]: 1 });
      expect(await messageOf('killGameServer', body)).toBe(`The field "${shown}" is unknown`);
      const twice = body.replace('}', `,${body.slice(1)}`);
      expect(await messageOf('killGameServer', twice)).toBe('The field "force" is given twice');
    }
  });
});

test.each<[body: string, text: string]>([
  ['', 'feedback must be a JSON object with the field helpful\n'],
  ['{}', 'the field helpful is required\n'],
  ['{"helpful":"yes please"}', 'the field helpful must be true or false\n'],
  ['{"helpful":true,"title":7}', 'the field title must be a string\n'],
  ['{"helpful":true,"e-mail":"a@b.example"}', 'the body has an unknown field\n'],
  ['{"Helpful":true,"a":1}', 'the field helpful is required; the body has an unknown field\n'],
  ['{"a":1,"a":2}', 'the body has a field twice\n'],
  ['[]', 'the body must be a JSON object\n'],
  ['{', 'the body is not valid JSON\n'],
])('the error text for the feedback %s names fields, and repeats no input', async (body, text) => {
  expect(await messageOf('sendFeedback', body)).toBe(text);
});

const failureTexts: Readonly<Record<string, string>> = {
  ...Object.fromEntries(serverNames.map((name) => [name, 'Failed to send the power action'])),
  openGameConsole: 'The console or log request failed',
  sendGameCommand: 'The console or log request failed',
  getLatestGameLog: 'The console or log request failed',
  getVpsState: 'The state could not be read',
  getGameServerState: 'The state could not be read',
};

describe.each(serverNames)('%s', (name) => {
  const { kind } = serverAccessOf(name);
  const message = failureTexts[name]!;

  test('names the failed action in its 502, also in a replay', async () => {
    const { app, world } = await borrowHosting();
    const isAction = describeEndpoint(name).method === 'POST';
    const isPower = describeEndpoint(name).unknownOutcome !== undefined;
    if (name === 'openGameConsole') await world.store.servers.remove('game:mine');
    for (const [status, outcome] of [
      [500, 'unknown'],
      [422, 'not_sent'],
      [undefined, 'unknown'],
    ] as const) {
      world.panel.fail(status ? { status, body: panelKeys.write } : 'drop');
      world.hetzner.fail(status ? { status, body: hetznerToken } : 'drop');
      const id = `order-471-${status}`;
      const headers = { 'Idempotency-Key': id, 'X-Request-Id': id };
      const unknown = `The power action may have been done; see /v1/hosting/actions/${id}`;
      const body = {
        success: false,
        error: 'provider_error',
        message: isPower && outcome === 'unknown' ? unknown : message,
      };
      const expected = {
        status: 502,
        text: `${JSON.stringify(body)}\n`,
        headers: isAction ? { 'action-outcome': outcome } : {},
      };
      expect(await askEndpoint(app, name, { headers })).toMatchObject(expected);
      expect(await askEndpoint(app, name, { headers })).toMatchObject(expected);
    }
    for (const token of [panelKeys.write, hetznerToken]) expect(JSON.stringify(app.log())).not.toContain(token);
  });

  test('sends the example messages of the OpenAPI document', async () => {
    const { path, method } = describeEndpoint(name);
    const { responses } = operationsOf(document).find(({ operationId }) => operationId === name)!;
    const examplesOf = (status: number) => responses[status]?.content!['application/json']!.examples ?? {};
    const example = (status: number, code: string) => (examplesOf(status)[code]!.value as { message: string }).message;
    expect(example(502, 'provider_error')).toBe(message);
    expect(responses[502]!.description).toContain(`${message}.`);
    const app = await sharedApp();
    const { json } = await askJson(app, path.replace(/\{\w+\}/, 'theirs'), { method, key: app.key });
    const forbidden = `You do not have access to this ${kind === 'vps' ? 'VPS' : 'game server'}`;
    expect(json).toEqual({ success: false, error: 'forbidden', message: forbidden });
    expect(example(403, 'forbidden')).toBe(forbidden);
    if (!('confirmation_required' in examplesOf(400))) return;
    const needed =
      name === 'resetVps' ? 'Reset requires force=true in the query and' : 'Kill requires force=true in the query or';
    expect(example(400, 'confirmation_required')).toBe(`${needed} in the body`);
  });
});

test('a forbidden command and a command to an offline server have different answers', async () => {
  const { app, world } = await serveHosting();
  world.panel.wings.become('offline');
  const text = renderProblem('json', 'provider_error', 'The server must be online to receive commands');
  expect(await askEndpoint(app, 'sendGameCommand')).toMatchObject({ status: 502, text });
  world.panel.users.get(panelKeys.write)!.permissions = ['websocket.connect'];
  expect(await askEndpoint(app, 'sendGameCommand')).toMatchObject({
    status: 403,
    text: renderProblem('json', 'provider_permission_denied'),
    headers: { 'www-authenticate': 'Bearer' },
  });
});

test('a missing or unreadable log of a panel is empty', async () => {
  const { app, world } = await serveHosting();
  const empty = { status: 200, text: '{"success":true,"server_id":"mine","empty":true,"content":""}\n' };
  world.panel.fail(failure(403, 'AccessDeniedHttpException', 'no'), ({ path }) => path.includes('/files/'));
  expect(await askEndpoint(app, 'getLatestGameLog')).toMatchObject(empty);
  const { app: other, world: without } = await serveHosting();
  without.panel.files.clear();
  expect(await askEndpoint(other, 'getLatestGameLog')).toMatchObject(empty);
});
