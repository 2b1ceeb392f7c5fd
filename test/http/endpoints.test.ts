import { describe, expect, test } from 'vitest';
import { describeNearest } from '#contract/endpoint.ts';
import { errorMediaTypes, renderProblem } from '#contract/problem.ts';
import { ask, askEndpoint } from '../server/ask.ts';
import type { Answer } from '../server/ask.ts';
import { sharedApp } from '../server/shared.ts';
import { describeEndpoint, endpointNames, limitedNames, methodsOf, requestOf, storedNames } from '../server/targets.ts';

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const preflight = { Origin: 'https://www.example.com', 'Access-Control-Request-Method': 'GET' };

/** The GET endpoints. */
const readNames = endpointNames.filter((name) => describeEndpoint(name).method === 'GET');

/** Picks the headers that equal requests have in common. */
function stableHeaders({ headers }: Answer): Answer['headers'] {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !['date', 'x-request-id', 'ratelimit'].includes(name)),
  );
}

/** Finds the headers of the rate limit, which a cacheable response must not have. */
function hasLimits(headers: object): boolean {
  const [policy, limit] = ['ratelimit-policy' in headers, 'ratelimit' in headers];
  if (policy !== limit) throw new Error('one of both headers is missing');
  return limit;
}

describe.each(endpointNames)('%s', (name) => {
  const { path, errorStyle, replies, access } = describeEndpoint(name);

  test('refuses every other method with 405 and lists the allowed ones', async () => {
    const app = await sharedApp();
    const others = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'QUERY', 'OPTIONS'];
    const message = `Method not allowed; use ${methodsOf(name).join(' or ')}`;
    const refused = renderProblem(errorStyle, 'method_not_allowed', errorStyle === 'json' ? message : undefined);
    for (const method of others.filter((other) => !methodsOf(name).includes(other))) {
      const answer = await askEndpoint(app, name, { method, body: undefined });
      const { status, headers, text } = answer;
      expect({ method, status, text }).toEqual({ method, status: 405, text: method === 'HEAD' ? '' : refused });
      expect(headers).toMatchObject({
        allow: methodsOf(name).join(', '),
        'content-type': errorMediaTypes[errorStyle],
        'content-length': String(refused.length),
        'cache-control': 'no-store',
      });
    }
  });

  test('answers a CORS preflight with 204 and its methods', async () => {
    const app = await sharedApp();
    const { target } = requestOf(name, app);
    const answer = await ask(app, target, { method: 'OPTIONS', headers: preflight });
    expect(answer.status).toBe(204);
    // Any origin may read public answers; without CORS_ORIGINS, no origin may read answers that need a key.
    expect(answer.headers['access-control-allow-origin']).toBe(access ? undefined : '*');
    expect(answer.headers['access-control-allow-headers']).toContain('Authorization');
    expect(answer.headers).toMatchObject({
      'access-control-allow-methods': methodsOf(name).join(', '),
      'access-control-max-age': '86400',
    });
    expect(answer.headers).not.toHaveProperty('content-length');
    expect('ratelimit' in answer.headers).toBe(limitedNames.includes(name));
    expect(answer.body).toHaveLength(0);
    for (const missing of Object.keys(preflight)) {
      const headers = Object.fromEntries(Object.entries(preflight).filter(([header]) => header !== missing));
      const other = await ask(app, target, { method: 'OPTIONS', headers });
      expect({ missing, status: other.status }).toEqual({ missing, status: 405 });
    }
  });

  test('names the rate limit in uncached answers only', async () => {
    const app = await sharedApp();
    const { target } = requestOf(name, app);
    for (const method of methodsOf(name)) {
      // The first two may take the fast path; the last never does.
      const answers = [
        await askEndpoint(app, name, { method }),
        await askEndpoint(app, name, { method, headers: { 'If-None-Match': '*' } }),
        await ask(app, target + (target.includes('?') ? '&other=1' : '?other=1'), { ...requestOf(name, app), method }),
      ];
      for (const { status, headers } of answers) {
        const isPublic = describeEndpoint(name).stored !== false && status < 400;
        expect({ status, cached: headers['cache-control'] !== 'no-store' }).toEqual({ status, cached: isPublic });
        expect(hasLimits(headers)).toBe(limitedNames.includes(name) && !isPublic);
      }
    }
  });

  test('answers 200 with the schema of the contract', async () => {
    const app = await sharedApp();
    const { status, headers, text } = await askEndpoint(app, name);
    expect(status).toBe(200);
    const { schema, mediaType } = replies[200]!;
    if (!schema) return;
    expect(headers['content-type']).toBe(mediaType);
    const body: unknown = JSON.parse(text);
    expect(schema.parse(body)).toEqual(body);
  });

  test('exists under its exact path only', async () => {
    const app = await sharedApp();
    const { target, ...usual } = requestOf(name, app);
    const [exact = '', query] = target.split('?');
    const others = [`${exact}/`, `/${exact}`, exact.replaceAll('/', '//'), exact.toUpperCase(), `${exact}/more`];
    // Below a wildcard any name is valid but missing, so the error may have the style of the endpoint.
    const near = endpointNames.map((one) => describeNearest(describeEndpoint(one)));
    const texts = [undefined, ...near].map((message) => renderProblem('json', 'not_found', message));
    if (path.includes('*')) texts.push(renderProblem(errorStyle, 'media_not_found'));
    for (const other of others) {
      const { status, text } = await ask(app, query === undefined ? other : `${other}?${query}`, usual);
      expect({ other, status }).toEqual({ other, status: 404 });
      expect(texts).toContain(text);
    }
  });
});

test.each(readNames)('%s answers HEAD like GET, without a body', async (name) => {
  const app = await sharedApp();
  for (const headers of [{}, { 'Accept-Encoding': 'gzip' }]) {
    const get = await askEndpoint(app, name, { headers });
    const head = await askEndpoint(app, name, { method: 'HEAD', headers });
    expect(get.status).toBe(200);
    expect(head.status).toBe(200);
    expect(stableHeaders(head)).toEqual(stableHeaders(get));
    expect(head.headers['content-length']).toBe(String(get.body.length));
    expect(head.body).toHaveLength(0);
  }
});

// The answers of `targets/rows.ts` have both, whatever their status.
describe('every answer carries a request id and nosniff', () => {
  test.each([
    ['GET', 'file://hehe?/v1/plans'],
    ['OPTIONS', '*'],
  ])('400 to %s %s without a path', async (method, target) => {
    const app = await sharedApp();
    const answer = await ask(app, target, { method, headers: { 'X-Request-Id': 'order-4711' } });
    expect(answer.status).toBe(400);
    const message = 'The target of the request is not valid, or it has no Host';
    expect(answer.text).toBe(renderProblem('json', 'validation_error', message));
    expect(answer.headers).toMatchObject({
      'x-request-id': 'order-4711',
      'x-content-type-options': 'nosniff',
      'access-control-allow-origin': '*',
    });
  });

  test.each<[string, id: string | string[], kept: boolean]>([
    ['of 8 characters', 'a.b_c-12', true],
    ['of 64 characters', 'x'.repeat(64), true],
    ['of 7 characters', 'a.b_c-1', false],
    ['of 65 characters', 'x'.repeat(65), false],
    ['with a blank', 'order 4711', false],
    ['with a quote', 'order"4711', false],
    ['with a non-ASCII letter', 'order-ä4711', false],
    ['that is empty', '', false],
    ['that is sent twice', ['order-4711', 'order-4711'], false],
  ])('an id %s is kept or replaced', async (_, id, kept) => {
    const app = await sharedApp();
    const { headers } = await ask(app, '/health', { headers: { 'X-Request-Id': id } });
    expect(headers['x-request-id']).toMatch(kept ? new RegExp(`^${String(id)}$`) : uuid);
  });
});

const power = '/v1/hosting/game/power/{server_id}';

test.each<[method: string, target: string, nearest: string]>([
  ['GET', '/v1/planss', '/v1/plans'],
  ['HEAD', '/v1/plan', ''],
  ['GET', '/V1/Plans', '/v1/plans'],
  ['GET', '/v1/plans/', '/v1/plans'],
  ['GET', '/v1/blog', '/v1/blog/list'],
  ['GET', '/v1/kez', '/v1/key'],
  ['GET', '/v1/hosting/activities', '/v1/hosting/activity'],
  ['GET', '/v1/hosting/action/3f2504e0-4f89-41d3-9a0c-0305e82c3301', '/v1/hosting/actions/{request_id}'],
  ['GET', '/v1/hosting/game/demo', power],
  ['GET', '/v1/hosting/game/powr/my-very-long-server-name-of-40-letters-x', power],
  ['POST', '/v1/hosting/game/power/demo/strat', `${power}/start`],
  ['POST', '/v1/hosting/game/power/demo/restart/', `${power}/restart`],
  ['POST', '/v1/hosting/game/demo/power/kill', `${power}/kill`],
  ['POST', '/v1/hosting/vps-custom/demo/reset', '/v1/hosting/cloud/vps-custom/{id}/reset'],
  ['GET', '/v1/hosting/cloud/vps-custom/demo/explode', '/v1/hosting/cloud/vps-custom/{id}'],
])('the 404 of %s %s names the nearest endpoint of the method', async (method, target, nearest) => {
  const { status, text } = await ask(await sharedApp(), target, { method });
  expect(status).toBe(404);
  const message = `Endpoint not found; the nearest is ${method} ${nearest}`;
  expect(text).toBe(nearest === '' ? '' : renderProblem('json', 'not_found', message));
});

test.each([
  '/healthz',
  '/metrics',
  '/plans',
  '/hosting/game/power/demo/stop',
  '/v1',
  '/v1/plans.json',
  '/v1/nothing',
  '/v1/hosting/cloud/vps-custom/demo/explode/now',
  `/v1/plans/${'a'.repeat(120)}`,
])('the 404 of %s names no endpoint with any method', async (target) => {
  const app = await sharedApp();
  for (const method of ['GET', 'POST', 'OPTIONS']) {
    const answer = await ask(app, target, { method });
    expect(answer.status).toBe(404);
    expect(answer.headers['content-type']).toBe('application/json');
    expect(answer.text).toBe('{"success":false,"error":"not_found","message":"Endpoint not found"}\n');
  }
});

test.each(storedNames)('%s answers the same with an unknown query parameter', async (name) => {
  const app = await sharedApp();
  const { target } = requestOf(name, app);
  const usual = await ask(app, target);
  const other = await ask(app, `${target}${target.includes('?') ? '&' : '?'}utm_source=mail`);
  expect(other.status).toBe(usual.status);
  expect(other.body.equals(usual.body)).toBe(true);
  expect(stableHeaders(other)).toEqual(stableHeaders(usual));
});
