import { describe, expect, test } from 'vitest';
import { ask, askEndpoint } from '../server/ask.ts';
import type { Answer } from '../server/ask.ts';
import { sharedApp } from '../server/shared.ts';
import type { SharedApp } from '../server/shared.ts';
import { describeEndpoint, endpointNames, keyedNames, requestOf } from '../server/targets.ts';

const site = 'https://www.example.com';
const exposed =
  'Accept-Ranges, Action-Outcome, Content-Location, Content-Range, ETag, Idempotent-Replayed, Idempotent-Request-Id, RateLimit, ' +
  'RateLimit-Policy, Retry-After, WWW-Authenticate, X-Domain-Unicode, X-Request-Id';

/** The endpoints without an API key. */
const publicNames = endpointNames.filter((name) => !describeEndpoint(name).access);

/** Requests answers of every status from public endpoints, for one origin. */
async function askAll(app: SharedApp, origin: string | undefined): Promise<Answer[]> {
  const headers = origin === undefined ? {} : { Origin: origin };
  return [
    ...(await Promise.all(publicNames.map((name) => askEndpoint(app, name, { headers })))),
    await ask(app, '/v1/blog/list?other=1', { headers }),
    await ask(app, '/v1/blog/list', { headers: { ...headers, 'If-None-Match': '*' } }),
    await ask(app, '/v1/blog/list?other=1', { headers: { ...headers, 'If-None-Match': '*' } }),
    await ask(app, '/v1/blog/article', { headers }),
    await ask(app, '/v1/%zz', { headers }),
    await ask(app, '/nothing', { headers }),
    await ask(app, '/v1/plans', { method: 'POST', headers }),
    await ask(app, '/v1/plans', { method: 'HEAD', headers }),
    await ask(app, '/v1/plans', { method: 'OPTIONS', headers: { ...headers, 'Access-Control-Request-Method': 'GET' } }),
  ];
}

function variesBy({ headers }: Answer): string[] {
  return (headers.vary ?? '').toLowerCase().split(/\s*,\s*/);
}

test.each([
  [undefined, {}],
  [site, {}],
  ['null', { CORS_ORIGINS: '*' }],
  ['http://localhost:8081', { CORS_ORIGINS: 'http://localhost:8081' }],
  [site, { CORS_ORIGINS: 'http://localhost:8081', ALLOW_LOCAL_ORIGINS: 'true' }],
])('every origin may read every answer without a key (%s, %j)', async (origin, settings) => {
  const app = await sharedApp(settings);
  for (const answer of await askAll(app, origin)) {
    expect(answer.headers['access-control-allow-origin']).toBe('*');
    expect(answer.headers['access-control-expose-headers']).toBe(exposed);
    expect(variesBy(answer)).not.toContain('origin');
    expect(answer.headers).not.toHaveProperty('access-control-allow-credentials');
  }
});

describe('a preflight', () => {
  const preflight = async (target: string, origin: string, asked?: string) => {
    const app = await sharedApp({ CORS_ORIGINS: site });
    const headers = { Origin: origin, 'Access-Control-Request-Method': 'GET' };
    const { status, headers: answered } = await ask(app, target, {
      method: 'OPTIONS',
      headers: { ...headers, ...(asked !== undefined && { 'Access-Control-Request-Headers': asked }) },
    });
    const allowed = answered['access-control-allow-headers'];
    return {
      status,
      origin: answered['access-control-allow-origin'],
      methods: answered['access-control-allow-methods'],
      allowed,
    };
  };
  const listed =
    'Accept, Authorization, Baggage, Content-Type, Idempotency-Key, If-None-Match, If-Range, Range, Sentry-Trace, ' +
    'Traceparent, Tracestate, X-Request-Id';

  test.each(['baggage,sentry-trace', 'newrelic', 'x-datadog-trace-id, x-anything, authorization'])(
    'allows the headers of monitoring scripts without a key (%s)',
    async (asked) => {
      const answer = { status: 204, origin: '*', methods: 'GET, HEAD', allowed: asked };
      expect(await preflight('/v1/plans', 'https://evil.example', asked)).toEqual(answer);
      expect(await preflight('/v1/domains/search', site, asked)).toEqual(answer);
    },
  );

  test('allows a list of headers with a key, to listed origins', async () => {
    const answer = { status: 204, origin: site, methods: 'GET, HEAD', allowed: listed };
    expect(await preflight('/v1/key', site, 'x-anything')).toEqual(answer);
    expect(await preflight('/v1/key', 'https://evil.example')).toEqual({ ...answer, origin: undefined });
  });
});

describe('ALLOW_LOCAL_ORIGINS', () => {
  const local = ['http://localhost:5173', 'https://localhost', 'http://127.0.0.1:8080', 'http://[::1]:3000'];
  const foreign = [
    'http://localhost.evil.example',
    'http://127.0.0.1.evil.example',
    'http://127.0.0.1:80.evil.example',
    'http://evil.example:80/localhost',
    'http://xlocalhost:3000',
    'http://192.168.0.1:3000',
    'ftp://localhost',
    'http://localhost:',
    'null',
  ];

  /** Filters origins by the answer. */
  async function findAllowed(settings: Record<string, string>, origins: readonly string[]): Promise<string[]> {
    const app = await sharedApp({ CORS_ORIGINS: site, ...settings });
    const answers = origins.map((origin) => ask(app, '/v1/key', { headers: { Origin: origin } }));
    return (await Promise.all(answers)).flatMap(({ headers }) => headers['access-control-allow-origin'] ?? []);
  }

  test('allows every port of this machine beside the listed origins', async () => {
    const all = [...local, site, ...foreign];
    expect(await findAllowed({ ALLOW_LOCAL_ORIGINS: 'true' }, all)).toEqual([...local, site]);
  });

  test('is off by default', async () => {
    expect(await findAllowed({}, local)).toEqual([]);
  });
});

const foreignOrigins = [
  undefined,
  'https://evil.example',
  'https://www.example.com.evil.example',
  'https://www.example.com:444',
  'http://www.example.com',
  'https://example.com',
  'HTTPS://WWW.EXAMPLE.COM',
  `${site}/`,
  `${site}, http://shop.example.com:8080`,
  '*',
  'null',
  'http://localhost:3000',
];

describe.each(keyedNames)('%s', (name) => {
  test.each(['*', site, `*, ${site}`])('allows listed origins only, with CORS_ORIGINS=%s', async (listed) => {
    const app = await sharedApp({ CORS_ORIGINS: listed });
    for (const Authorization of [`Bearer ${app.key}`, 'Bearer nonsense']) {
      for (const origin of foreignOrigins) {
        const { headers } = await askEndpoint(app, name, {
          headers: { Authorization, ...(origin && { Origin: origin }) },
        });
        for (const part of ['allow-origin', 'allow-credentials', 'expose-headers']) {
          expect(headers).not.toHaveProperty(`access-control-${part}`);
        }
        expect(headers.vary).toBe('Origin');
      }
      const { headers } = await askEndpoint(app, name, { headers: { Authorization, Origin: site } });
      expect(headers['access-control-allow-origin']).toBe(listed === '*' ? undefined : site);
      expect(headers).not.toHaveProperty('access-control-allow-credentials');
    }
  });

  test.each<[string, (target: string) => string]>([
    ['with an encoded digit', (target) => target.replace('/v1/', '/v%31/')],
    ['with encoded letters', (target) => target.replace('/hosting/', '/%68ostin%67/')],
    ['in the absolute form', (target) => `http://www.example.com${target}`],
    ['with dot segments', (target) => `/v1/plans/..${target.replace('/v1', '/../v1')}`],
  ])('is not public %s', async (_, spell) => {
    const app = await sharedApp();
    const { target, ...usual } = requestOf(name, app);
    const headers = { ...usual.headers, Origin: site };
    const answer = await ask(app, spell(target), { ...usual, headers });
    const requested = { Origin: site, 'Access-Control-Request-Method': 'POST' };
    const preflight = await ask(app, spell(target), { method: 'OPTIONS', headers: requested });
    // Any origin may read a 404, which has no content.
    const found = [answer, preflight].filter(({ status }) => status !== 404);
    expect(found.filter((one) => 'access-control-allow-origin' in one.headers)).toEqual([]);
  });
});
