import { rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { childKeyLimits, scopes } from '#contract/api-keys.ts';
import { isLimited, takesIdempotencyKey } from '#contract/endpoint.ts';
import type { EndpointName } from '#contract/endpoints.ts';
import { parseApiKey } from '../../server/keys/authorize.ts';
import { createTestApp } from '../helpers/app.ts';
import { ownServers } from '../helpers/hosting.ts';
import { rotateKey } from '../store/samples.ts';
import { buildProject, createProject } from '../helpers/project.ts';
import { createKumaUpstream } from '../helpers/upstream-kuma.ts';
import { createUpstream } from '../helpers/upstream.ts';
import { ask, askEndpoint, askJson } from '../server/ask.ts';
import type { Answer, Question } from '../server/ask.ts';
import { stopClock } from '../helpers/clock.ts';
import { copyProject, serveHosting, serveShared, sharedApp } from '../server/shared.ts';
import type { SharedApp } from '../server/shared.ts';
import {
  describeEndpoint,
  endpointNames,
  keyNames,
  keyedNames as keyed,
  readManifest,
  requestOf,
  serverNames as ofServers,
  withServer,
} from '../server/targets.ts';
import { document, operationsOf } from './document.ts';

/** All documented statuses as `operation status code`, with the error code of the example. */
const described = operationsOf(document).flatMap(({ operationId, responses }) =>
  Object.entries(responses).flatMap(([status, { content = {} }]) => {
    const codes = Object.values(content).flatMap(({ examples = {} }) => Object.keys(examples));
    return (codes.length > 0 ? codes : ['']).map((code) => `${operationId} ${status} ${code}`.trim());
  }),
);

/** Statuses that no test can produce, with the reason. */
const unseen: Readonly<Record<string, string>> = {
  'getHealth 500 internal_error': 'The route cannot fail; all endpoints share one error hook.',
  'getReady 500 internal_error': 'As getHealth.',
  'getInfo 500 internal_error': 'As getHealth.',
  'getStatus 500 internal_error': 'As getHealth: a failed source is 503.',
  'listDomainTlds 500 internal_error': 'As getHealth: a failed source is 502.',
  'searchDomain 500 internal_error': 'As getHealth: a failed source is 502.',
  'sendFeedback 500 internal_error': 'As getHealth: a failed chat is 502.',
  'sendFeedback 500 feedback_not_counted': 'A failed store gets the votes later: feedback.test.ts has an invalid one.',
  'rotateKey 400 validation_error': 'The message names the mistake.',
  'rotateKey 409 conflict': 'The message names the key.',
  'listChildKeys 405 method_not_allowed': 'The message names the methods of both endpoints of the path.',
  'createChildKey 405 method_not_allowed': 'As listChildKeys.',
  'sendFeedback 500 feedback_not_built': 'The message consists of validated text, so no request makes it fail.',
};

const seen = new Set<string>();
/** Bodies that match no example, for the failure message. */
const otherBodies: string[] = [];

/** Records a response, with the error code of the example with the same body. */
function record(name: EndpointName, { status, text, headers }: Answer): number {
  const { path, method } = describeEndpoint(name);
  const operation = document.paths[path.replace('*}', '}')]![method.toLowerCase() as 'get']!;
  const content = operation.responses[status]?.content;
  const isError = status >= 400 && !(status in describeEndpoint(name).replies);
  if (!isError) seen.add(`${name} ${status}`);
  else {
    const { examples = {} } = Object.values(content!)[0]!;
    const body: unknown = headers['content-type'] === 'application/json' ? JSON.parse(text) : text;
    const same = Object.entries(examples).find(([, shown]) => isEqual(shown.value, body));
    if (same) seen.add(`${name} ${status} ${same[0]}`);
    else otherBodies.push(`${name} ${status} ${text.trim()}`);
  }
  return status;
}

const isEqual = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

async function produce(app: SharedApp, name: EndpointName, question: Question = {}, target?: string): Promise<number> {
  const { target: usual, headers, ...rest } = requestOf(name, app);
  const asked = { ...rest, ...question, headers: { ...headers, ...question.headers } };
  return record(name, await ask(app, target ?? usual, asked));
}

const acting = endpointNames.filter((name) => takesIdempotencyKey(describeEndpoint(name)));
const stored = endpointNames.filter((name) => describeEndpoint(name).stored);
const files = endpointNames.filter((name) => describeEndpoint(name).stored === 'file');
const statusesOf = (names: readonly EndpointName[], run: (name: EndpointName) => Promise<number>) =>
  names.reduce<Promise<number[]>>(async (before, name) => [...(await before), await run(name)], Promise.resolve([]));
const all = (names: readonly unknown[], status: number): number[] => names.map(() => status);

test('each endpoint responds with 200, 304 and 405', async () => {
  const app = await sharedApp();
  expect(await statusesOf(endpointNames, (name) => produce(app, name))).toEqual(all(endpointNames, 200));
  const unchanged = { headers: { 'If-None-Match': '*' } };
  expect(await statusesOf(stored, (name) => produce(app, name, unchanged))).toEqual(all(stored, 304));
  const deleting = { method: 'DELETE', body: undefined };
  expect(await statusesOf(endpointNames, (name) => produce(app, name, deleting))).toEqual(all(endpointNames, 405));
});

test('each limited endpoint responds with 429', async () => {
  stopClock();
  const [client, content] = ['', 'CONTENT_'].map((name) => ({
    [`${name}RATELIMIT_BURST`]: '1',
    [`${name}RATELIMIT_RPS`]: '1',
  }));
  const app = await serveShared({ ...client, ...content });
  const limited = [...endpointNames, ...keyNames].filter((name) => isLimited(describeEndpoint(name).path));
  for (const target of ['/v1/info', '/v1/plans']) await ask(app, target);
  expect(await statusesOf(limited, (name) => produce(app, name))).toEqual(all(limited, 429));
});

test('endpoints with a key respond with 400, 401, 403, 404 and 422', async () => {
  const { app, world } = await serveHosting();
  const withKey = (key: string) => ({ headers: { Authorization: `Bearer ${key}` } });
  const before = Date.now() - 1;
  const unknown = (await serveHosting()).app.key;
  const ended = [await world.issueKey({ revokedAt: before }), await world.issueKey({ expiresAt: before })];
  const wrong = [`Basic ${app.key}`, ...['none', unknown, ...ended].map((key) => `Bearer ${key}`)];
  const unkeyed = [{}, { 'X-Api-Key': app.key }, ...wrong.map((authorization) => ({ authorization }))];
  for (const headers of unkeyed) {
    const refuse = async (name: EndpointName) => {
      const { target, ...usual } = requestOf(name, app);
      return record(name, await ask(app, target, { ...usual, headers }));
    };
    const keys = [...keyed, ...keyNames];
    expect(await statusesOf(keys, refuse)).toEqual(all(keys, 401));
  }

  const ofOthers = withKey(await world.issueKey({ servers: ['game:theirs', 'vps:theirs'] }));
  expect(await statusesOf(ofServers, (name) => produce(app, name, ofOthers))).toEqual(all(ofServers, 403));
  const withoutScopes = withKey(await world.issueKey({ scopes: [] }));
  expect(await statusesOf(ofServers, (name) => produce(app, name, withoutScopes))).toEqual(all(ofServers, 403));

  const withoutId = (name: EndpointName) => withServer(requestOf(name, app).target, '');
  expect(await statusesOf(ofServers, (name) => produce(app, name, {}, withoutId(name)))).toEqual(all(ofServers, 404));
  expect(await produce(app, 'getAction', {}, '/v1/hosting/actions/none')).toBe(404);
  expect(await produce(app, 'listActivity', {}, '/v1/hosting/activity?limit=0')).toBe(400);
  expect(await produce(app, 'listServers', {}, '/v1/hosting/servers?limit=0')).toBe(400);

  const headers = { 'Idempotency-Key': 'order-4711' };
  await askEndpoint(app, 'startVps', { headers });
  const others = acting.filter((name) => name !== 'startVps');
  expect(await statusesOf(others, (name) => produce(app, name, { headers }))).toEqual(all(others, 422));
  const other = { 'Idempotency-Key': 'order-4712' };
  await askEndpoint(app, 'stopVps', { headers: other });
  expect(await produce(app, 'startVps', { headers: other })).toBe(422);

  const denied = { errors: [{ code: 'HttpForbiddenException', status: '403', detail: 'no' }] };
  world.panel.fail({ status: 403, body: JSON.stringify(denied) });
  await produce(app, 'sendGameCommand');
});

test('operations on keys respond with 200, 201, 400, 403, 404, 405 and 409, and all endpoints with 403 for a foreign address', async () => {
  const { app, world } = await serveHosting({ TRUSTED_PROXIES: '127.0.0.1' });
  const issue = () => world.issueKey({ managesKeys: true, servers: ['game:demo', ...ownServers] });
  const make = async (key: string, fields: object = {}) => {
    const body = JSON.stringify({ label: 'bot', scopes, ...fields });
    return (await askJson<{ id: string; key: string }>(app, '/v1/keys', { key, method: 'POST', body })).json;
  };
  for (const name of keyNames) {
    const key = await issue();
    const child = await make(key, { networks: ['192.0.2.2'] });
    const target = name === 'revokeChildKey' ? `/v1/keys/${child.id}` : requestOf(name, { ...app, key }).target;
    const request = { headers: { Authorization: `Bearer ${key}` } };
    await rotateKey(world.store.apiKeys, key.split('_')[1]!, 'a'.repeat(64), Date.now() + 60_000);
    expect(await produce(app, name, request, target)).toBe(403);
    await world.store.apiKeys.update(key.split('_')[1]!, { secretHash: parseApiKey(key)!.secretHash });
    expect(await produce(app, name, request, target)).toBe(name === 'createChildKey' ? 201 : 200);
    if (name !== 'revokeKey')
      expect(await produce(app, name, { ...request, ...(await unmanaged()) }, target)).toBe(403);
    expect(await produce(app, name, { ...request, method: 'PATCH' }, target)).toBe(405);
  }
  function unmanaged() {
    return world.issueKey().then((key) => ({ headers: { Authorization: `Bearer ${key}` } }));
  }
  const key = await issue();
  const request = { headers: { Authorization: `Bearer ${key}` } };
  expect(await produce(app, 'revokeChildKey', request, '/v1/keys/none')).toBe(404);
  expect(await produce(app, 'createChildKey', { ...request, body: '' })).toBe(400);
  expect(await produce(app, 'revokeKey', request, '/v1/key/revoke')).toBe(400);
  const child = await make(key, { networks: ['192.0.2.2'] });
  const foreign = { headers: { Authorization: `Bearer ${child.key}`, 'X-Forwarded-For': '192.0.2.1' } };
  const names = [...keyed, ...keyNames];
  expect(await statusesOf(names, (name) => produce(app, name, foreign))).toEqual(all(names, 403));
  for (let count = 1; count < childKeyLimits.active; count += 1) await make(key);
  expect(await produce(app, 'createChildKey', request)).toBe(409);
});

test('endpoints with a key respond with 502, and with 409 while an action runs', async () => {
  const { app, world } = await serveHosting({ UPSTREAM_TIMEOUT_SECONDS: '60' });
  world.panel.fail({ status: 500 });
  world.hetzner.fail({ status: 500 });
  // A console token needs no provider.
  const ofProviders = ofServers.filter((name) => name !== 'openGameConsole');
  const withId = { headers: { 'X-Request-Id': 'restart-4711' } };
  expect(await statusesOf(ofProviders, (name) => produce(app, name, withId))).toEqual(all(ofProviders, 502));
  for (const upstream of [world.panel, world.hetzner]) upstream.fail({ status: 422 });
  expect(await statusesOf(acting, (name) => produce(app, name))).toEqual(all(acting, 502));

  world.panel.fail('hang');
  world.hetzner.fail('hang');
  // The later of two requests gets the first response.
  const conflicts = await statusesOf(acting, async (name) => {
    const headers = { 'Idempotency-Key': `order-${name}` };
    const requests = [1, 2].map(() => askEndpoint(app, name, { headers }));
    // The other request ends with the server.
    for (const request of requests) request.catch(() => undefined);
    return record(name, await Promise.race(requests));
  });
  expect(conflicts).toEqual(all(acting, 409));
});

test('files and endpoints with a key respond with 500', async () => {
  const root = await copyProject();
  const app = await serveShared({ DIST_DIR: join(root, 'dist'), RELEASE_CACHE_BYTES: '0' });
  for (const file of Object.keys(readManifest(root).files)) truncateSync(join(root, 'dist/current', file), 0);
  expect(await statusesOf(files, (name) => produce(app, name))).toEqual(all(files, 500));

  const { app: hosting, world } = await serveHosting();
  const file = join(world.settings.DATA_DIR!, 'hosting.sqlite');
  world.change(`UPDATE hosting_servers SET provider = ''`);
  await statusesOf(keyed, (name) => produce(hosting, name));
  for (const end of ['', '-wal', '-shm']) rmSync(file + end);
  const keys = [...keyed, ...keyNames];
  expect(await statusesOf(keys, (name) => produce(hosting, name))).toEqual(all(keys, 500));
});

test('single endpoints respond with 202, 206, 400, 404, 415, 416 and 502', async () => {
  const app = await sharedApp();
  const article = '/v1/blog/article';
  const guide = '/v1/kb/article';
  expect(await produce(app, 'getBlogArticle', {}, article)).toBe(400);
  expect(await produce(app, 'getBlogArticle', {}, `${article}?path=/blog/a&path=/blog/b`)).toBe(400);
  expect(await produce(app, 'getBlogArticle', {}, `${article}?path=/blog/none/none`)).toBe(404);
  expect(await produce(app, 'getKnowledgeBaseArticle', {}, guide)).toBe(400);
  expect(await produce(app, 'getKnowledgeBaseArticle', {}, `${guide}?path=/blog/a&path=/blog/b`)).toBe(400);
  expect(await produce(app, 'getKnowledgeBaseArticle', {}, `${guide}?path=/knowledgebase/none/none`)).toBe(404);
  expect(await produce(app, 'listKnowledgeBaseArticles', {}, '/v1/kb/list?category=a&category=b')).toBe(400);
  expect(await produce(app, 'getBlogIndex', {}, '/v1/blog/index')).toBe(400);
  expect(await produce(app, 'getKnowledgeBaseIndex', {}, '/v1/kb/index')).toBe(400);
  expect(await produce(app, 'getStatusWidgetVersion', {}, '/v1/service-status.0.js')).toBe(404);
  expect(await produce(app, 'getMedia', {}, '/media/none.svg')).toBe(404);
  expect(await produce(app, 'getMedia', { headers: { Range: 'bytes=0-9' } })).toBe(206);
  expect(await produce(app, 'getMedia', { headers: { Range: 'bytes=100000-' } })).toBe(416);

  expect(await produce(app, 'searchDomain', {}, '/v1/domains/search?domain=')).toBe(400);
  expect(await produce(app, 'searchDomain', {}, '/v1/domains/search?domain=example.nothing')).toBe(404);
  expect(await produce(app, 'resetVps', { body: '' }, '/v1/hosting/cloud/vps-custom/mine/reset')).toBe(400);
  expect(await produce(app, 'killGameServer', { body: '' }, '/v1/hosting/game/power/mine/kill')).toBe(400);
  const tooLong = { headers: { 'Idempotency-Key': 'x'.repeat(256) } };
  expect(await statusesOf(acting, (name) => produce(app, name, tooLong))).toEqual(all(acting, 400));

  expect(await produce(app, 'sendFeedback', { body: '' })).toBe(400);
  expect(await produce(app, 'sendFeedback', { headers: { 'Content-Type': 'text/plain' } })).toBe(415);
  const silent = await serveShared({ CHAT_FEEDBACK_WEBHOOK_URL: '' });
  expect(await produce(silent, 'sendFeedback')).toBe(202);
  const chat = await createUpstream(() => ({ status: 500 }));
  const failing = await serveShared({ CHAT_FEEDBACK_WEBHOOK_URL: `${chat.url}/api/webhooks/1/token-of-the-tests` });
  expect(await produce(failing, 'sendFeedback')).toBe(502);
});

test('endpoints respond with 404, 500, 502 and 503 in lasting states of the service', async () => {
  const kuma = await createKumaUpstream();
  kuma.fail({ status: 500 });
  const app = await serveShared({ ...kuma.settings });
  expect(await produce(app, 'getStatus')).toBe(503);
  app.drain();
  expect(await produce(app, 'getReady')).toBe(503);

  const billing = await createUpstream(() => ({ status: 500 }));
  const unpriced = await serveShared({ DOMAIN_PRICES: 'fossbilling', FOSSBILLING_URL: billing.url });
  expect(await produce(unpriced, 'listDomainTlds')).toBe(502);
  expect(await produce(unpriced, 'searchDomain')).toBe(502);

  const root = createProject({ 'catalog/domains.yaml': 'tlds:\n  .com: { active: true }\n' });
  await buildProject(root, { lenient: true });
  const empty = { ...(await createTestApp({ root })), key: '' };
  expect(await produce(empty, 'listDomainTlds')).toBe(500);
  expect(await produce(empty, 'searchDomain')).toBe(500);
  expect(await produce(empty, 'getBlogFeed')).toBe(404);
  expect(await produce(empty, 'getSitemap')).toBe(404);
});

test('every documented status was produced with the body of its example, except for listed reasons', () => {
  const missing = described.filter((one) => !seen.has(one) && !(one in unseen));
  expect(missing, `other bodies: ${[...new Set(otherBodies)].join('\n')}`).toEqual([]);
  expect(Object.keys(unseen).filter((one) => seen.has(one) || !described.includes(one))).toEqual([]);
});
