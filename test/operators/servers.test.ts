import { expect, test } from 'vitest';
import { ask } from '../server/ask.ts';
import { call as callPort, createToken, serveOperators } from './operators.ts';

const servers = '/v1/operator/servers';
const record = (ref: string) => ({ provider: 'panel', ref });

test('a server is put, read, suspended, resumed and removed; repetitions change and audit nothing', async () => {
  const { call, changes, tokenId } = await serveOperators();
  const shown = {
    success: true,
    server: 'game:1',
    provider: 'panel',
    ref: '1a7ce9aa',
    log_file: null,
    shared: false,
    suspended_at: null,
    keys: 0,
    made_by: 'billing',
    warnings: [],
  };
  expect(await call('PUT', `${servers}/game:1`, record('1A7CE9AA'))).toMatchObject({ status: 201, json: shown });
  const got = await call('GET', `${servers}/game%3A1`);
  expect(got).toMatchObject({ status: 200, json: shown, headers: { 'cache-control': 'no-store' } });
  expect(await call('PUT', `${servers}/game:1`, record('1a7ce9aa'))).toMatchObject({ status: 200, json: shown });
  for (const [action, isSuspended] of [
    ['suspend', true],
    ['suspend', true],
    ['resume', false],
    ['resume', false],
  ] as const) {
    const { status, json } = await call('POST', `${servers}/game:1/${action}`);
    expect({ status, isSuspended: json['suspended_at'] !== null }).toEqual({ status: 200, isSuspended });
  }
  expect(await call('DELETE', `${servers}/game:1`)).toMatchObject({
    status: 200,
    json: { success: true, server: 'game:1', ref: '1a7ce9aa' },
  });
  for (const [method, path] of [
    ['DELETE', ''],
    ['GET', ''],
    ['POST', '/suspend'],
    ['POST', '/resume'],
  ] as const) {
    const json = { success: false, error: 'not_found', message: 'There is no server game:1' };
    expect(await call(method, `${servers}/game:1${path}`)).toMatchObject({ status: 404, json });
  }
  const made = await changes();
  expect(made.map(({ action, outcome }) => `${action} ${outcome}`)).toEqual([
    'servers add ok',
    'servers suspend ok',
    'servers resume ok',
    'servers remove ok',
  ]);
  const author = { actor: `operator billing (${tokenId})`, ip: '127.0.0.1', requestId: expect.any(String) as string };
  expect(made).toEqual(made.map((entry) => ({ ...entry, ...author })));
});

test('a record with other values needs replace, and a taken ref names its server', async () => {
  const { call } = await serveOperators();
  await call('PUT', `${servers}/game:1`, record('1a7ce9aa'));
  await call('PUT', `${servers}/game:2`, record('1a7ce9bb'));
  const exists = 'game:1 exists with ref 1a7ce9aa of provider panel; pass "replace": true to replace the record';
  const taken = 'game:2 has ref 1a7ce9bb of provider panel; pass "shared": true to allow a second server';
  const conflict = (message: string, more = {}) => ({
    status: 409,
    json: { success: false, error: 'conflict', message, ...more },
  });
  expect(await call('PUT', `${servers}/game:1`, record('1a7ce9cc'))).toMatchObject(conflict(exists));
  const replaced = { ...record('1a7ce9cc'), replace: true, log_file: 'logs/a.log' };
  expect(await call('PUT', `${servers}/game:1`, replaced)).toMatchObject({
    status: 200,
    json: { ref: '1a7ce9cc', log_file: 'logs/a.log' },
  });
  const other = { ...record('1a7ce9bb'), replace: true };
  expect(await call('PUT', `${servers}/game:1`, other)).toMatchObject(conflict(taken, { server: 'game:2' }));
  expect(await call('PUT', `${servers}/game:3`, record('1A7CE9BB'))).toMatchObject(
    conflict(taken, { server: 'game:2' }),
  );
  expect(await call('PUT', `${servers}/game:3`, { ...record('1a7ce9bb'), shared: true })).toMatchObject({
    status: 201,
  });
});

test('a suspension is put with a record, and what staff suspends, a token cannot resume', async () => {
  const { call, run, changes } = await serveOperators();
  const suspendedOf = async (body: object) => (await call('PUT', `${servers}/game:1`, body)).json['suspended_at'];
  expect(await suspendedOf({ ...record('1a7ce9aa'), suspended: true })).toEqual(expect.any(String));
  expect(await suspendedOf(record('1a7ce9aa'))).toEqual(expect.any(String));
  expect(await suspendedOf({ ...record('1a7ce9aa'), suspended: false })).toBeNull();
  await call('POST', `${servers}/game:1/suspend`);
  await run('servers', 'suspend', 'game:1');
  const before = await changes();
  const refused = {
    status: 409,
    json: { error: 'conflict', message: 'game:1 is suspended by staff, who alone can resume it' },
  };
  expect(await call('POST', `${servers}/game:1/resume`)).toMatchObject(refused);
  expect(await call('PUT', `${servers}/game:1`, { ...record('1a7ce9aa'), suspended: false })).toMatchObject(refused);
  expect(await call('POST', `${servers}/game:1/suspend`)).toMatchObject({ status: 200 });
  expect(await changes()).toEqual(before);
  await run('servers', 'resume', 'game:1');
  expect((await call('GET', `${servers}/game:1`)).json['suspended_at']).toBeNull();
});

test('lists have pages of 1,000, and mine lists what tokens of this label have put', async () => {
  const { call: ofBilling, port, world, run, tokenId } = await serveOperators();
  const known = (await world.store.servers.list()).length;
  for (let at = 0; at < 1001; at += 1) {
    const server = `game:z${String(at).padStart(4, '0')}` as const;
    await world.store.servers.add({ server, provider: 'panel', ref: `r${at}`, logFile: null });
  }
  await ofBilling('PUT', `${servers}/game:mine2`, record('1a7ce9aa'));
  const first = await ofBilling('GET', servers);
  expect(first.json.servers).toHaveLength(1000);
  const second = await ofBilling('GET', `${servers}?after=${String(first.json['next'])}`);
  expect([second.json.servers.length, second.json['next']]).toEqual([known + 2, null]);
  const names = [...first.json.servers, ...second.json.servers].map(({ server }) => String(server));
  expect(names).toEqual(names.toSorted());
  expect((await ofBilling('GET', `${servers}?mine=true`)).json.servers).toMatchObject([{ server: 'game:mine2' }]);
  const { token } = await createToken(world, 'other', '--right', 'servers');
  expect((await callPort(port, token, 'GET', `${servers}?mine=true`)).json.servers).toEqual([]);
  await callPort(port, token, 'PUT', `${servers}/game:mine2`, record('1a7ce9aa'));
  expect((await ofBilling('GET', `${servers}?mine=true`)).json.servers).toEqual([]);
  await run('servers', 'add', 'game:mine2', '--provider', 'panel', '--ref', '1a7ce9ab', '--replace');
  await run('operators', 'revoke', tokenId);
  const again = await run('operators', 'create', '--label', 'other', '--right', 'servers');
  expect(again.stderr).toBe('an active token has the label other: revoke it, or choose another label\n');
  expect((await callPort(port, token, 'GET', `${servers}?mine=true`)).json.servers).toMatchObject([
    { server: 'game:mine2' },
  ]);
});

test.each<readonly [method: string, path: string, body: unknown, message: string]>([
  ['PUT', '/game:1', { provider: 'none', ref: '1a7ce997' }, 'PROVIDERS_FILE has no provider none'],
  [
    'PUT',
    '/game:1',
    record('17'),
    'the ref 17 is invalid for pterodactyl: use the identifier of a server in the panel (8 hexadecimal digits, or the whole UUID)',
  ],
  ['PUT', '/vps:1', record('1a7ce997'), 'the provider panel (pterodactyl) runs no VPS'],
  ['PUT', '/vps:1', { provider: 'cloud', ref: '1', log_file: 'x' }, 'The field log_file is for game servers'],
  ['PUT', '/game:1', { provider: 'panel' }, 'The field ref is required'],
  ['PUT', '/game:1', { ...record('x'), owner: 'me' }, 'The field "owner" is unknown'],
  ['PUT', '/game:1', record('a\0b'), 'The field ref must be a line of 1 to 255 characters'],
  ['PUT', '/game:1', '{"provider":"a","provider":"b","ref":"r"}', 'The field "provider" is given twice'],
  ['PUT', '/game:1', 'x', 'The body is not valid JSON'],
  ['PUT', '/game:1', undefined, 'A JSON body is required'],
  ['PUT', '/1', record('1a7ce997'), 'The name in the path must be vps:<id> or game:<id>'],
  ...['%00', '..%2f', '%zz', `game:${'x'.repeat(200)}`, 'game%253A1', 'game:a%2Fb'].map(
    (name) => ['GET', `/${name}`, undefined, 'The name in the path must be vps:<id> or game:<id>'] as const,
  ),
  ['GET', '?mine=maybe', undefined, 'Query parameter mine is not valid'],
  ['GET', '?after=a&after=b', undefined, 'Query parameter after is given more than once'],
])('%s %s with %j is 400', async (method, path, body, message) => {
  const { call } = await serveOperators();
  const json = { success: false, error: 'validation_error', message };
  expect(await call(method, servers + path, body)).toMatchObject({ status: 400, json });
});

test('the paths are only at this port, and need an operator token of the right and the network', async () => {
  const { app, world, port, token, run } = await serveOperators();
  const key = await world.issueKey();
  const notFound = { status: 404 };
  for (const path of ['/v1/operator', servers, `${servers}/game:mine`, '/v1/operator/keys'])
    expect(await ask(app, path, { key: token })).toMatchObject(notFound);
  expect(await ask(app, '/v1/key', { key: token })).toMatchObject({
    status: 401,
    text: expect.stringContaining('Malformed API key'),
  });
  for (const path of ['/', '/v1/plans', '/v1/key', '/media/a.png', '/v1/hosting/servers', '/metrics'])
    expect(await callPort(port, token, 'GET', path)).toMatchObject(notFound);
  for (const [given, message] of [
    [undefined, 'No Authorization header'],
    [key, 'Malformed operator token: incomplete or mistyped'],
    [`${token.slice(0, -1)}x`, 'Malformed operator token: incomplete or mistyped'],
  ] as const)
    expect(await callPort(port, given, 'GET', '/v1/operator')).toMatchObject({
      status: 401,
      json: { error: 'unauthorized', message },
    });
  const servant = await createToken(
    world,
    'servers',
    '--right',
    'servers',
    '--network',
    '127.0.0.0/30',
    '--network',
    '::1',
  );
  expect(await callPort(port, servant.token, 'GET', '/v1/operator')).toMatchObject({
    status: 200,
    json: { success: true, label: 'servers', rights: ['servers'] },
  });
  expect(await callPort(port, servant.token, 'GET', '/v1/operator', undefined, { from: '127.0.0.9' })).toMatchObject({
    status: 403,
    json: { error: 'forbidden', message: 'This operator token may not be used from 127.0.0.9' },
  });
  const lacks = {
    status: 403,
    json: { error: 'insufficient_scope', message: 'This operator token lacks the right keys' },
  };
  expect(await callPort(port, servant.token, 'GET', '/v1/operator/keys')).toMatchObject(lacks);
  // Another server with the ref of a customer would open that customer's server.
  for (const replace of [true, false]) {
    const stolen = { ...record(world.panel.wings.uuid), shared: true, replace };
    expect(await callPort(port, servant.token, 'PUT', `${servers}/game:evil`, stolen)).toMatchObject(lacks);
    expect(await callPort(port, servant.token, 'PUT', `${servers}/game:mine`, stolen)).toMatchObject(lacks);
  }
  await run('operators', 'revoke', servant.id);
  expect(await callPort(port, servant.token, 'GET', '/v1/operator')).toMatchObject({
    status: 401,
    json: { message: 'This operator token was revoked' },
  });
});

test('the port has its own Host check, limit, health and description, and no CORS', async () => {
  const { port, token, app } = await serveOperators({
    CORS_ORIGINS: 'https://a.example',
    PUBLIC_URL: 'https://api.example',
  });
  const from = (headers: Record<string, string>, method = 'GET') =>
    callPort(port, token, method, '/v1/operator', undefined, { headers });
  expect(await from({ Host: 'api.example' })).toMatchObject({ status: 421, json: { error: 'misdirected_request' } });
  expect(await from({ Host: 'localhost:1' })).toMatchObject({
    status: 200,
    headers: { 'ratelimit-policy': '"operators";q=1000;w=10' },
  });
  const preflight = await from({ Origin: 'https://a.example', 'Access-Control-Request-Method': 'GET' }, 'OPTIONS');
  for (const { headers } of [preflight, await from({ Origin: 'https://a.example' })])
    expect(headers).not.toHaveProperty('access-control-allow-origin');
  expect(await callPort(port, token, 'PATCH', `${servers}/game:1`)).toMatchObject({
    status: 405,
    json: { message: 'Method not allowed; use GET, HEAD, PUT or DELETE' },
  });
  expect(await callPort(port, undefined, 'GET', '/health')).toMatchObject({ status: 200 });
  expect(await callPort(port, undefined, 'GET', '/ready')).toMatchObject({ status: 200, json: { status: 'ready' } });
  const { json: document } = await callPort(port, undefined, 'GET', '/v1/openapi.json');
  expect(document['servers']).toEqual([{ url: '/', description: 'The instance that served this document.' }]);
  expect(Object.keys(document['paths'] as object).filter((path) => !path.startsWith('/v1/operator'))).toEqual([]);
  const page = await callPort(port, undefined, 'GET', '/docs');
  const text = String(page.json['text']);
  expect(text).toMatch(/^<!doctype html>.*"\/v1\/operator\/servers\/\{server\}"/s);
  const loaded = [...text.matchAll(/<(?:link|script) [^>]*(?:href|src)="(\/[^"]*)"/g)].map(([, target]) => target!);
  expect(loaded.length).toBe(2);
  for (const target of loaded) expect(await callPort(port, undefined, 'GET', target)).toMatchObject({ status: 200 });
  expect(await callPort(port, undefined, 'GET', '/docs/errors.html')).toMatchObject({ status: 404 });
  // The public port does not serve the page.
  for (const target of ['operators/docs.html', '/operators/docs.html'])
    expect((await ask(app, target)).status).toBeGreaterThanOrEqual(400);
  expect((await ask(app, '/v1/openapi.json')).text).not.toMatch(/\/v1\/operator|"Operator/);
  await expect.poll(() => app.log().some(({ url }) => url === '/v1/operator')).toBe(true);
  expect(JSON.stringify(app.log())).not.toContain(token.slice(16));
});
