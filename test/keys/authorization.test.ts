import { describe, expect, test } from 'vitest';
import { scopes } from '#contract/api-keys.ts';
import type { Scope } from '#contract/api-keys.ts';
import type { EndpointName } from '#contract/endpoints.ts';
import { keyProblems, renderProblem } from '#contract/problem.ts';
import type { ProblemCode } from '#contract/problem.ts';
import { generateApiKey } from '../../server/keys/authorize.ts';
import { createHostingWorld } from '../helpers/hosting.ts';
import { temporaryFolder } from '../helpers/project.ts';
import { ask, askJson } from '../server/ask.ts';
import type { Answer } from '../server/ask.ts';
import { stopClock } from '../helpers/clock.ts';
import { serveShared, sharedApp, sharedHosting } from '../server/shared.ts';
import {
  describeEndpoint,
  endpointNames,
  keyNames,
  keyedNames,
  requestOf,
  serverAccessOf,
  serverNames,
  withServer,
} from '../server/targets.ts';
import { rotateKey } from '../store/samples.ts';

/** The accepted scopes of each endpoint, independent of the contract under test. */
const acceptedScopes: Record<string, readonly Scope[]> = {
  startVps: ['vps-power:read_write'],
  stopVps: ['vps-power:read_write'],
  resetVps: ['vps-power:read_write'],
  startGameServer: ['game-power:read_write'],
  stopGameServer: ['game-power:read_write'],
  restartGameServer: ['game-power:read_write'],
  killGameServer: ['game-power:read_write'],
  openGameConsole: ['game-console:read', 'game-console:read_write'],
  sendGameCommand: ['game-console:read_write'],
  getLatestGameLog: ['game-logs:read'],
  getVpsState: ['vps-power:read', 'vps-power:read_write'],
  getGameServerState: ['game-power:read', 'game-power:read_write'],
};

test('only the operations on keys and the endpoints below /v1/hosting need a key', () => {
  const below = endpointNames.filter((name) => describeEndpoint(name).path.startsWith('/v1/hosting/'));
  expect(['getKey', ...below]).toEqual(keyedNames);
  expect(Object.keys(acceptedScopes).toSorted()).toEqual(serverNames.toSorted());
});

/** Sends a request with this Authorization header, for this server if the endpoint has one. */
async function askAs(name: EndpointName, authorization: string | undefined, server = 'mine'): Promise<Answer> {
  const app = await sharedApp();
  const { target, ...usual } = requestOf(name, app);
  const headers = authorization === undefined ? {} : { Authorization: authorization };
  return ask(app, serverNames.includes(name) ? withServer(target, server) : target, { ...usual, headers });
}

describe.each([...keyedNames, ...keyNames])('%s', (name) => {
  async function expectRefused(
    authorization: string | undefined,
    challenge: string,
    mistake: keyof typeof keyProblems,
  ): Promise<void> {
    const text = renderProblem('json', 'unauthorized', keyProblems[mistake]);
    const servers = serverNames.includes(name) ? ['mine', 'theirs', 'nothing', 'twin'] : ['mine'];
    for (const server of servers) {
      const { status, headers, text: sent } = await askAs(name, authorization, server);
      expect({ server, status, sent }).toEqual({ server, status: 401, sent: text });
      expect(headers['www-authenticate']).toBe(`Bearer ${challenge}`);
      expect(headers['cache-control']).toBe('no-store');
    }
  }

  test.each<[string, (key: string) => string | undefined, 'missing' | 'noScheme']>([
    ['no header', () => undefined, 'missing'],
    ['an empty header', () => '', 'noScheme'],
    ['no scheme', (key) => key, 'noScheme'],
    ['another scheme', (key) => `Basic ${Buffer.from(key).toString('base64')}`, 'noScheme'],
  ])('is refused without an error code if there is no key: %s', async (_, authorization, mistake) => {
    const { key } = await sharedHosting();
    await expectRefused(authorization(key), 'realm="hosting"', mistake);
  });

  test('says that X-Api-Key is not read', async () => {
    const app = await sharedApp();
    const { target, ...usual } = requestOf(name, app);
    const { status, headers, text } = await ask(app, target, { ...usual, headers: { 'X-Api-Key': app.key } });
    expect({ status, text }).toEqual({
      status: 401,
      text: renderProblem('json', 'unauthorized', keyProblems.otherHeader),
    });
    expect(headers['www-authenticate']).toBe('Bearer realm="hosting"');
  });

  test.each<[string, (key: string) => string]>([
    ['a scheme without a key', () => 'Bearer '],
    ['an invalid key', () => 'Bearer nonsense'],
    ['two keys', (key) => `Bearer ${key} ${key}`],
    ['two keys and a comma', (key) => `Bearer ${key}, Bearer ${key}`],
    ['a key with a wrong checksum', (key) => `Bearer ${key.slice(0, -1)}${key.endsWith('0') ? '1' : '0'}`],
    ['a truncated key', (key) => `Bearer ${key.slice(0, -1)}`],
    ['a key that is too long', (key) => `Bearer ${key}0`],
    ['a key in upper case', (key) => `Bearer ${key.toUpperCase()}`],
    ['a key with a NUL', (key) => `Bearer ${key}%00`],
  ])('refuses %s', async (_, authorization) => {
    const { key } = await sharedHosting();
    await expectRefused(authorization(key), 'error="invalid_token"', 'malformed');
  });

  test('refuses a key that is unknown, revoked, expired or rotated', async () => {
    const { issueKey, store } = await sharedHosting();
    const now = Date.now();
    const unknown = await (await createHostingWorld(temporaryFolder())).issueKey();
    const revoked = await issueKey({ revokedAt: now - 1 });
    const wrongSecret = generateApiKey(revoked.split('_')[1]).text;
    const expired = await issueKey({ expiresAt: now - 1 });
    const rotated = await issueKey();
    await rotateKey(store.apiKeys, rotated.split('_')[1]!, 'a'.repeat(64), now - 1);
    const keys = { unknown: [unknown, rotated, wrongSecret], revoked: [revoked], expired: [expired] } as const;
    for (const mistake of ['unknown', 'revoked', 'expired'] as const) {
      for (const key of keys[mistake]) await expectRefused(`Bearer ${key}`, 'error="invalid_token"', mistake);
    }
  });
});

describe.each(serverNames)('%s', (name) => {
  const { kind } = serverAccessOf(name);
  const other = kind === 'vps' ? 'game' : 'vps';

  test('accepts the old secret of a rotated key during the overlap', async () => {
    const { issueKey, store } = await sharedHosting();
    const key = await issueKey();
    await rotateKey(store.apiKeys, key.split('_')[1]!, 'a'.repeat(64), Date.now() + 60_000);
    expect((await askAs(name, `Bearer ${key}`, 'mine')).status).toBe(200);
  });

  test.each([...scopes.map((scope) => [scope]), [...scopes], []].map((held) => ({ held })))(
    'checks the scopes of a key: $held',
    async ({ held }) => {
      const { issueKey } = await sharedHosting();
      const key = await issueKey({ scopes: held, servers: [`${kind}:mine`, `${other}:twin`] });
      const own = await askAs(name, `Bearer ${key}`, 'mine');
      if (held.some((scope) => acceptedScopes[name]!.includes(scope))) {
        expect(own.status).toBe(200);
        expect(own.headers).not.toHaveProperty('www-authenticate');
      } else {
        const readOnly = held.some((scope) => scope === `${kind}-power:read`) && /Vps|Server/.test(name);
        const message = readOnly ? 'This API key only has read scope' : undefined;
        expect(own).toMatchObject({ status: 403, text: renderProblem('json', 'insufficient_scope', message) });
        const needed = name === 'openGameConsole' ? 'game-console:read' : acceptedScopes[name]![0];
        expect(own.headers['www-authenticate']).toBe(`Bearer error="insufficient_scope", scope="${needed}"`);
      }

      // Another customer's server, an unknown server and a server of the other kind look the same.
      const message = `You do not have access to this ${kind === 'vps' ? 'VPS' : 'game server'}`;
      for (const server of ['theirs', 'nothing', 'twin']) {
        const { status, headers, text } = await askAs(name, `Bearer ${key}`, server);
        const forbidden = { server, status: 403, text: renderProblem('json', 'forbidden', message) };
        expect({ server, status, text }).toEqual(forbidden);
        expect(headers['www-authenticate']).toBe('Bearer');
      }
    },
  );

  test.each([
    ['in upper case', 'MINE'],
    ['encoded', '%6dine', 200],
    ['encoded twice', '%256dine'],
    ['with an encoded slash at the end', 'mine%2f'],
    ['with an encoded slash at the start', '%2fmine'],
    ['through the path of another', 'theirs%2f..%2fmine'],
    ['with its kind', `${kind}:mine`],
    ['with a NUL', 'mine%00'],
    ['with a blank', 'mine%20'],
    ['with a query', 'mine%3f'],
    ['with full-width letters', '%EF%BD%8Dine'],
  ])('compares the exact id of a server, decoded once: %s', async (_, id, expected = 403) => {
    const { key } = await sharedHosting();
    expect((await askAs(name, `Bearer ${key}`, id)).status).toBe(expected);
  });

  test("sends the same bytes for another customer's server and for an unknown server", async () => {
    const app = await sharedApp();
    const { target, ...usual } = requestOf(name, app);
    const question = { ...usual, headers: { ...usual.headers, 'X-Request-Id': 'order-4711' } };
    const [foreign, unknown] = await Promise.all(
      ['theirs', 'nothing'].map((server) => ask(app, withServer(target, server), question)),
    );
    const stable = ({ headers: { date: _d, ratelimit: _r, ...headers }, ...answer }: Answer) => ({
      headers,
      ...answer,
    });
    expect(stable(foreign!)).toEqual(stable(unknown!));
  });
});

/** The endpoints for any valid key, and their status for a key without actions. */
const anyKey = [
  ['getKey', 200],
  ['listServers', 200],
  ['getAction', 404],
  ['listActivity', 200],
] as const;

test('the endpoints for any key are those of the table', () => {
  expect(keyedNames.filter((name) => !serverNames.includes(name))).toEqual(anyKey.map(([name]) => name));
});

describe.each(anyKey)('%s', (name, emptyStatus) => {
  test.each([...scopes.map((scope) => [scope]), [...scopes], []].map((held) => ({ held })))(
    'shows only the key and its own actions, whatever its scopes and servers: $held',
    async ({ held }) => {
      const { issueKey, addAction } = await sharedHosting();
      for (const servers of [['game:mine', 'vps:mine'], ['game:theirs'], []] as const) {
        const key = await issueKey({ scopes: held, servers });
        expect((await askAs(name, `Bearer ${key}`)).status).toBe(emptyStatus);
        const requestId = 'mine';
        await addAction(key, { requestId, action: 'kill', server: 'game:gone' });
        const { status, text } = await askAs(name, `Bearer ${key}`);
        expect(status).toBe(200);
        const body = JSON.parse(text) as { activity?: unknown[]; servers: { server: string }[] };
        if (name === 'getKey') {
          expect(body).toMatchObject({ id: key.split('_')[1], scopes: held, servers });
          continue;
        }
        if (name === 'listServers') {
          expect(body.servers.map(({ server }) => server)).toEqual(servers);
          continue;
        }
        expect(body.activity ?? [body]).toEqual([
          expect.objectContaining({ request_id: requestId, action: 'kill', server: 'game:gone', status: 'accepted' }),
        ]);
      }
    },
  );
});

describe('if a request has several problems, the response names the first:', () => {
  const path = '/v1/hosting/game/console';
  const cases: readonly [string, ProblemCode, { method?: string; target: string; key?: string; body?: string }][] = [
    ['the route', 'not_found', { method: 'POST', target: `${path}/theirs/commands` }],
    ['the method', 'method_not_allowed', { method: 'GET', target: `${path}/theirs/command`, body: '' }],
    ['the key', 'unauthorized', { method: 'POST', target: `${path}/theirs/command`, key: 'nonsense', body: '{' }],
    ['the server', 'forbidden', { method: 'POST', target: `${path}/theirs/command`, key: 'reader', body: '{' }],
    ['the scope', 'insufficient_scope', { method: 'POST', target: `${path}/lost/command`, key: 'reader', body: '{' }],
    ['the body', 'validation_error', { method: 'POST', target: `${path}/lost/command`, key: 'writer', body: '{' }],
    ['the record', 'provider_error', { method: 'POST', target: `${path}/lost/command`, key: 'writer' }],
  ];

  test.each(cases)('%s', async (_, code, { method = 'POST', target, key, body = '{"command":"list"}' }) => {
    const app = await sharedApp();
    const { issueKey } = await sharedHosting();
    const servers = ['game:lost'] as const;
    const keys: Record<string, string> = {
      nonsense: 'hk_nonsense',
      reader: await issueKey({ scopes: ['game-console:read'], servers }),
      writer: await issueKey({ scopes: ['game-console:read_write'], servers }),
    };
    const headers = key === undefined ? {} : { Authorization: `Bearer ${keys[key]}` };
    const { json } = await askJson(app, target, { method, headers, body });
    expect(json.error).toBe(code);
  });

  test('the rate limit of the IP address, before the key', async () => {
    stopClock();
    const app = await serveShared({ RATELIMIT_RPS: '1', RATELIMIT_BURST: '1' });
    const target = '/v1/hosting/vps-custom/mine/start';
    const statuses = await Promise.all(
      [1, 2].map(async () => (await ask(app, target.replace('hosting/', 'hosting/cloud/'), { method: 'POST' })).status),
    );
    expect(new Set(statuses)).toEqual(new Set([401, 429]));
  });
});
