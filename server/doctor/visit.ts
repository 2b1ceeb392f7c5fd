import { hash } from 'node:crypto';
import { isIP } from 'node:net';
import type { Endpoint } from '#contract/endpoint.ts';
import { endpoints } from '#contract/endpoints.ts';
import { GameConsoleWebsocketResponse } from '#contract/hosting.ts';
import { isLoopback } from '../upstream/address.ts';
import {
  codeOf,
  createVisit,
  installCertificate,
  isCertificateError,
  judgeCertificate,
  judgeStream,
} from './client.ts';
import type { Seen, Visit } from './client.ts';
import { countOf, fault, faultWith, hint, ok, runChecks, skipped } from './run.ts';
import type { DoctorResult, Checks, NamedResult } from './run.ts';

/** A service as a client sees it, with targets to request. */
interface VisitedService extends Readonly<Awaited<ReturnType<typeof readLists>>> {
  readonly visit: Visit;
  readonly base: URL;
  /** Headers with the API key, if given. */
  readonly keyed: Readonly<Record<string, string>> | undefined;
}

/** Checks a running service as its clients see it, without sending an action, command or vote. */
export async function examine(base: URL, key?: string): Promise<readonly NamedResult[]> {
  // Never send the key in plain text.
  const isSafe = base.protocol === 'https:' || isLoopback(base.hostname);
  const keyed = isSafe && key !== undefined ? { Authorization: `Bearer ${key}` } : undefined;
  /** Creates a client for each check: its time limit covers all visits of the check. */
  const connect = (): Visit => createVisit(base);
  const first = await runChecks({ answers: checkAnswers }, connect, toFault);
  if (first.some(({ state }) => state === 'fault')) return first;
  const lists = await readLists(connect());
  // Sequential: some checks count requests, others depend on the cached response of an earlier one.
  const others = await runChecks(serviceChecks, () => ({ ...lists, visit: connect(), base, keyed }), toFault, 1);
  return [...first, ...others];
}

function toFault(error: unknown): DoctorResult {
  const code = codeOf(error);
  let advice = 'check that the proxy listens at this address and keeps the connection open; see its error log';
  if (/ENOTFOUND|EAI_AGAIN/.test(code)) advice = 'add the host name to the DNS: this machine cannot resolve it';
  if (isCertificateError(code)) advice = installCertificate;
  return fault(`the request failed: ${code}`, advice);
}

async function readLists(visit: Visit) {
  const read = async (kind: string): Promise<{ path: string; cover?: string }[]> => {
    const list = (await visit(`/v1/${kind}/list`).catch(() => undefined))?.json;
    return Array.isArray(list) ? list.filter((item) => typeof item?.path === 'string') : [];
  };
  const [posts, guides] = await Promise.all([read('blog'), read('kb')]);
  return {
    articles: [
      ...posts.map(({ path }) => `/v1/blog/article?path=${path}`),
      ...guides.map(({ path }) => `/v1/kb/article?path=${path}`),
    ],
    picture: posts.find(({ cover }) => cover?.startsWith('/media/'))?.cover,
  };
}

/** Checks that the service answers, and not only its proxy; the other checks depend on it. */
async function checkAnswers(visit: Visit): Promise<DoctorResult> {
  const seen = await visit('/health');
  const { status, header, text, fields } = seen;
  const changed = faultWith('let the proxy pass on bodies unchanged: check its limits, and filters that change bodies');
  if (status >= 300 && status < 400)
    return fault(`/health is redirected to ${header('location')}`, 'pass the address of the service as --url');
  if (text.startsWith('\uFEFF')) return changed('/health begins with a byte order mark');
  if (status === 200 && isCut(seen)) return changed(`/health is cut off after ${seen.bytes.length} bytes`);
  if (status !== 200 || fields.status !== 'healthy') {
    const advice = 'check that the service is running, and that the proxy routes all paths to its address';
    return fault(`/health answers ${status}, but not like this service`, advice);
  }
  const ready = await visit('/ready');
  const readiness = ready.fields.status;
  if (ready.status === 200 && readiness === 'ready') return ok('healthy and ready');
  const advice = 'unready: the store does not answer, see the server log; draining: the server is stopping';
  return fault(`/ready answers ${ready.status} ${typeof readiness === 'string' ? readiness : ''}`.trimEnd(), advice);
}

/** Tests for JSON that ends too early. */
const isCut = ({ json, text, header }: Seen): boolean =>
  header('content-type').startsWith('application/json') && json === undefined && /^(?:[[{]|$)/.test(text);

function compareBody(seen: Seen, { problems, replies }: Endpoint): string | undefined {
  // Some targets exist only with certain settings.
  if (seen.status === 404 && problems.includes('not_found')) return undefined;
  const reply = replies[200];
  if (seen.status !== 200 || !reply) return `answers ${seen.status}`;
  const type = seen.header('content-type');
  if (!type.startsWith(reply.mediaType)) return `has ${type || 'no type'}, not ${reply.mediaType}`;
  if (isCut(seen)) return `is cut off after ${seen.bytes.length} bytes`;
  if (reply.schema && !reply.schema.safeParse(seen.json).success) return 'does not match its schema';
  return seen.bytes.length === 0 ? 'is empty' : undefined;
}

const origin = 'https://doctor.example';

/** Requests in a burst: enough to notice in the remaining quota, which they must not use up. */
const burst = 20;
const noQuota = fault('responses have no RateLimit', 'let the proxy pass on RateLimit and RateLimit-Policy');
const tooFast = skipped('the quota refills too fast to measure');

/** Sends concurrent requests; returns the highest used quota, or NaN without a RateLimit header. */
async function countRequests(visit: Visit, requests: number, toOptions: (at: number) => Parameters<Visit>[1]) {
  const seen = await Promise.all(Array.from({ length: requests }, (_, at) => visit('/v1/info', toOptions(at))));
  // For instance `"default";q=100;w=2` in RateLimit-Policy and `"default";r=99;t=1` in RateLimit.
  const counted = seen.map(({ header }) => {
    const [, total] = /;q=(\d+)/.exec(header('ratelimit-policy')) ?? [];
    const [, left] = /;r=(\d+)/.exec(header('ratelimit')) ?? [];
    return Number(total) - Number(left);
  });
  return Math.max(...counted);
}

const noKey = skipped('no --key-file, or no TLS to protect the key');

/** The checks of a service and of the proxies in front. */
const serviceChecks: Checks<VisitedService> = {
  async TLS({ base, visit }) {
    if (base.protocol === 'https:') return judgeCertificate(await visit('/health'));
    if (isLoopback(base.hostname)) return skipped('a loopback address needs no TLS');
    return fault('API keys travel in plain text', 'serve the API over https only, and redirect http to https');
  },
  // A redirect would hide that a client sends its key in plain text, and a 301 turns a POST into a GET.
  async 'port 80'({ base }) {
    if (base.protocol !== 'https:' || base.port !== '') return [];
    const visit = createVisit(new URL(`http://${base.host}${base.pathname}`));
    const ask = (headers = {}) => visit('/v1/key', { headers }).then(({ status }) => status, codeOf);
    const [plain, keyed] = [await ask(), await ask({ Authorization: 'Bearer doctor' })];
    if (typeof plain === 'string') return ok(`does not respond (${plain})`);
    if (plain === 308 && keyed === 403) return ok('308, and 403 for a request with a key');
    const advice = 'answer requests with Authorization with 403, and others with 308 (examples/nginx has both)';
    if (keyed !== 403) return fault(`a request with a key in plain text is answered ${keyed}`, advice);
    return hint(`requests without a key are answered ${plain}`, advice);
  },
  // Each public operation must match the OpenAPI document.
  async 'bodies as described'({ visit, articles }) {
    const described = Object.values<Endpoint>(endpoints).flatMap((endpoint) => {
      const { method, replies, path, access, query } = endpoint;
      if (method !== 'GET' || !(200 in replies) || path.includes('{') || access) return [];
      const needsQuery = query?.safeParse({}).success === false;
      const target = needsQuery ? articles.find((article) => article.startsWith(`${path}?`)) : path;
      return target === undefined ? [] : [{ target, endpoint }];
    });
    // Sequential: the rate limit of the client would refuse many concurrent requests.
    const compared = await Array.fromAsync(described, async ({ target, endpoint }) => {
      const difference = compareBody(await visit(target, { headers: { 'Accept-Encoding': 'identity' } }), endpoint);
      return difference === undefined ? [] : `${target} ${difference}`;
    });
    const wrong = compared.flat();
    if (wrong.length === 0) return ok(countOf(described.length, 'response'));
    const advice =
      'let the proxy pass on these paths with their queries, and the bodies unchanged; ' +
      '500, 502 and 503 come from the service: see its log';
    return fault(wrong.slice(0, 3).join('; ') + (wrong.length > 3 ? `; and ${wrong.length - 3} more` : ''), advice);
  },
  // Proxies often replace errors with their own pages.
  async 'errors as described'({ visit }) {
    const wrong = faultWith('pass on all paths, and the errors of the service (nginx: proxy_intercept_errors off)');
    const article = await visit('/v1/kb/article?path=/knowledgebase/doctor/does-not-exist');
    if (article.status !== 404 || article.text !== 'article not found\n')
      return wrong(`a missing article is answered ${article.status}, not with the 404 of the service`);
    const { status, fields } = await visit('/v1/doctor');
    if (status === 404 && fields.error === 'not_found') return ok('404 for a missing article and an unknown path');
    return wrong(`an unknown path below /v1 is answered ${status}, not with the 404 of the service`);
  },
  async headers({ visit }) {
    const wrong = faultWith('pass on the headers of the service, and X-Request-Id of a request that has one');
    const targets = ['/v1/plans', '/v1/doctor', '/v1/info'];
    const headers = { 'X-Request-Id': `doctor-${Date.now()}` };
    const seen = await Promise.all(targets.map((target) => visit(target, { headers })));
    const lacks = seen.findIndex(({ all }) => !all('x-content-type-options').includes('nosniff'));
    if (lacks >= 0) return wrong(`${targets[lacks]} has no X-Content-Type-Options`);
    // Operators find a request in the log by the id that its client reports. A cache may keep the id of /v1/plans.
    const id = seen[2]!.header('x-request-id');
    if (id === headers['X-Request-Id']) return ok('nosniff, and the request id of the client');
    return wrong(`a request with X-Request-Id is answered with ${id === '' ? 'none' : 'another'}`);
  },
  async 'ETag and 304'({ visit }) {
    const wrong = faultWith('pass on ETag, Cache-Control and If-None-Match; do not compress again (nginx: gzip off)');
    const { header } = await visit('/v1/plans');
    const etag = header('etag');
    if (!etag.startsWith('"')) return wrong(`the ETag of /v1/plans is ${etag === '' ? 'missing' : 'weak'}`);
    if (!header('cache-control').includes('max-age=')) return wrong('/v1/plans has no max-age');
    const { status, bytes } = await visit('/v1/plans', { headers: { 'If-None-Match': etag } });
    if (status === 304 && bytes.length === 0) return ok('304 without a body');
    return wrong(`a request with If-None-Match is answered ${status}`);
  },
  async 'no-store is not cached'({ visit }) {
    const wrong = faultWith(
      'obey and pass on Cache-Control (nginx: no proxy_ignore_headers, no proxy_cache_valid any)',
    );
    // Sequential: a cache could store the first response.
    const seen = [await visit('/v1/info'), await visit('/v1/info'), await visit('/v1/info')];
    const policy = seen.map(({ header }) => header('cache-control')).find((value) => value !== 'no-store');
    if (policy !== undefined) return wrong(`/v1/info has Cache-Control ${policy || 'missing'}`);
    const ids = seen.map(({ header }) => header('x-request-id'));
    if (ids[0] === '' || new Set(ids).size === ids.length) return ok('responses are not cached');
    return wrong('/v1/info comes from a cache');
  },
  async 'queries are kept apart'({ visit, articles: [first, other] }) {
    if (first === undefined || other === undefined) return skipped('needs two articles');
    await visit(first);
    const path = String((await visit(other)).fields.path);
    if (other.endsWith(`=${path}`)) return ok('two articles get their own responses');
    return fault(
      first.endsWith(`=${path}`) ? 'one article is returned for another' : 'an article is not returned',
      'include the query in the cache key (nginx: $request_uri in proxy_cache_key) and pass it on',
    );
  },
  async encodings({ visit }) {
    const cached = faultWith('pass on Vary, and let the cache obey it (nginx: no proxy_ignore_headers Vary)');
    const compressed = faultWith('pass on Accept-Encoding, and switch off compression by the proxy (nginx: gzip off)');
    const read = (accepted: string) => visit('/v1/openapi.json', { headers: { 'Accept-Encoding': accepted } });
    // Order matters: a cache that ignores Vary returns a compressed response to the last request.
    const [br, gzip, plain] = [await read('br'), await read('gzip'), await read('identity')];
    const unwanted = plain.header('content-encoding');
    if (unwanted !== '') return cached(`a client that accepts no compression gets ${unwanted}`);
    if (!/\baccept-encoding\b/i.test(plain.header('vary'))) return cached('Vary lacks Accept-Encoding');
    for (const [encoding, { header, text, bytes }] of Object.entries({ gzip, br })) {
      const received = header('content-encoding') || 'no compression';
      if (received !== encoding) return compressed(`a client that accepts ${encoding} gets ${received}`);
      if (text !== plain.text) return cached(`the ${encoding} response has other content`);
      // The ETag of each encoding is the hash of its bytes.
      if (![`"${hash('sha256', bytes).slice(0, 32)}"`, ''].includes(header('etag')))
        return compressed(`the proxy compresses the ${encoding} response again`);
    }
    return ok('br, gzip and plain have the same content');
  },
  // Other websites may read public endpoints only.
  async CORS({ visit }) {
    const wrong = faultWith('pass on OPTIONS, and the CORS headers of the service alone, as set by CORS_ORIGINS');
    const { all, header } = await visit('/v1/plans', { headers: { Origin: origin } });
    const allowed = all('access-control-allow-origin');
    if (allowed.length > 1 || allowed[0]?.includes(','))
      return wrong('Access-Control-Allow-Origin is sent twice: browsers reject the response');
    if (allowed.length === 0) return wrong('/v1/plans has no Access-Control-Allow-Origin');
    if (allowed[0] === origin || header('access-control-allow-credentials') !== '')
      return wrong('every origin is allowed as if listed in CORS_ORIGINS');
    const keyed = await visit('/v1/hosting/game/logs/doctor/latest', { headers: { Origin: origin } });
    if (keyed.all('access-control-allow-origin').length > 0)
      return wrong('every website may call endpoints that need an API key');
    const headers = { Origin: origin, 'Access-Control-Request-Method': 'GET' };
    const preflight = await visit('/v1/plans', { method: 'OPTIONS', headers });
    const methods = preflight.header('access-control-allow-methods');
    if (preflight.status === 204 && /\bGET\b/.test(methods))
      return ok(`${allowed[0]}, but not for endpoints with a key`);
    return wrong(`OPTIONS is answered ${preflight.status}${methods ? '' : ' without the methods'}`);
  },
  async methods({ visit }) {
    const wrong = faultWith('pass on Allow and all methods (nginx: no limit_except, proxy_cache_convert_head off)');
    const { status, header } = await visit('/v1/plans', { method: 'DELETE' });
    const allowed = header('allow') || 'none';
    if (status !== 405 || !/\bGET\b/.test(allowed))
      return wrong(`DELETE /v1/plans is answered ${status} with Allow: ${allowed}, not 405 with GET`);
    const head = await visit('/v1/plans', { method: 'HEAD' });
    if (head.status === 200 && head.bytes.length === 0) return ok('405 with Allow, HEAD without a body');
    return wrong(`HEAD /v1/plans is answered ${head.status}`);
  },
  async 'request bodies'({ visit }) {
    // Not a vote: the service reads the whole body to find the unknown field.
    const body = JSON.stringify({ doctor: 'x'.repeat(16_000) });
    const headers = { 'Content-Type': 'application/json', 'Content-Length': String(body.length) };
    const { status, text } = await visit('/v1/kb/feedback', { method: 'POST', headers, body });
    if (status === 400 && text.includes('unknown field')) return ok('16 kB arrive');
    if (status === 400 && text.includes('too long')) return skipped('MAX_FEEDBACK_BODY_BYTES is less than 16 kB');
    const seen = status === 400 ? 'a body of 16 kB arrives changed or cut' : `POST is answered ${status}, not 400`;
    return fault(seen, 'pass on POST, with bodies of 64 kB (nginx: client_max_body_size 64k)');
  },
  // Clients must not choose the address that their rate limit counts.
  async 'forged X-Forwarded-For'({ visit }) {
    // A trusted proxy that appends to the header makes our loopback address trusted, too.
    if ((await visit('/health')).isLocal) return skipped('the proxy is on this machine: run it from another machine');
    // Up to three attempts: on a busy machine the quota refills between bursts.
    for (let turn = 0; turn < 3; turn += 1) {
      const counted = await countRequests(visit, burst, () => ({}));
      // TEST-NET-3 (RFC 5737): no client has these addresses.
      const forged = await countRequests(visit, burst, (at) => ({
        headers: { 'X-Forwarded-For': `203.0.113.${turn * burst + at}` },
      }));
      if (Number.isNaN(counted + forged)) return noQuota;
      if (counted < 3) return tooFast;
      if (forged >= 3) return ok('the header does not change the counted address');
    }
    const advice =
      'let the proxy replace the header (nginx: proxy_set_header X-Forwarded-For $remote_addr), and list only proxies in TRUSTED_PROXIES';
    return fault('each forged address gets a separate rate limit', advice);
  },
  // Clients need separate rate limits; otherwise one client uses up the limit of all.
  async 'addresses of clients'({ visit, base }) {
    const byFamily = (requests: number): Promise<number[]> =>
      Promise.all([4, 6].map((family) => countRequests(visit, requests, () => ({ family }))));
    const isName = isIP(base.hostname.replace(/^\[|\]$/g, '')) === 0;
    const before = isName ? await byFamily(1).catch(() => undefined) : undefined;
    if (!before) return skipped('needs a host name with IPv4 and IPv6 addresses');
    // Concurrent: the quota refills within fractions of a second.
    const after = await byFamily(burst);
    const most = Math.max(...after.map((counted, at) => counted - before[at]!));
    if (Number.isNaN(most)) return noQuota;
    if (most < burst / 2) return tooFast;
    if (most <= burst * 1.25) return ok('IPv4 and IPv6 are counted separately');
    const advice = 'let the proxy set X-Forwarded-For, and list its address in TRUSTED_PROXIES';
    return fault('requests over IPv4 and IPv6 share one rate limit', advice);
  },
  async Authorization({ visit }) {
    const wrong = faultWith('pass on Authorization and WWW-Authenticate, and let the proxy ask for no login here');
    const { status, header } = await visit('/v1/key');
    if (status !== 401) return wrong(`/v1/key without a key is answered ${status}, not 401`);
    if (header('www-authenticate') === '') return wrong('the 401 response has no WWW-Authenticate');
    const mistyped = await visit('/v1/key', { headers: { Authorization: 'Bearer doctor' } });
    if (mistyped.header('www-authenticate').includes('invalid_token')) return ok('a wrong key is reported as invalid');
    return wrong('a wrong key is reported as missing');
  },
  async 'API key'({ visit, keyed: headers }) {
    if (!headers) return noKey;
    const { status, fields } = await visit('/v1/key', { headers });
    if (status !== 200) {
      const advice = 'check `keys list`: the key may be expired, revoked or unknown to this installation';
      return fault(`/v1/key answers ${status} to this key`, advice);
    }
    const { servers = [] } = fields as { servers?: readonly string[] };
    const states = await Array.fromAsync(servers.slice(0, 5), async (server) => {
      const path = server.replace('vps:', 'cloud/vps-custom/').replace('game:', 'game/power/');
      const state = await visit(`/v1/hosting/${path}`, { headers });
      // 403: the key lacks the scope.
      return [200, 403].includes(state.status) ? [] : `${server} ${state.status}`;
    });
    const unread = states.flat();
    if (unread.length === 0) return ok(`valid; grants ${countOf(servers.length, 'server')}`);
    return fault(`states cannot be read: ${unread.join(', ')}`, 'see the server log for the response of the provider');
  },
  async "operators' port"({ visit }) {
    const { status } = await visit('/v1/operator');
    if (status === 404 || status === 403) return ok('not at this address');
    const advice = 'proxy this address to PORT only; examples/nginx/operators.conf has another name for OPERATOR_PORT';
    return fault(`/v1/operator is answered ${status}, not 404: the port is exposed`, advice);
  },
  async media({ visit, picture }) {
    if (picture === undefined) return skipped('no article has a picture');
    const wrong = faultWith(
      'pass on Range and the target (nginx: no path in proxy_pass; AllowEncodedSlashes NoDecode)',
    );
    // Generated clients encode the slashes of a path.
    const encoded = `/media/${encodeURIComponent(picture.slice('/media/'.length))}`;
    const { status: found } = await visit(encoded);
    if (found !== 200) return wrong(`${encoded} is answered ${found}`);
    const { status, bytes } = await visit(picture, { headers: { Range: 'bytes=0-9' } });
    if (status === 206 && bytes.length === 10) return ok('%2F in a path, and 206 for a range');
    return wrong(`a request with Range is answered ${status} with ${bytes.length} bytes`);
  },
  // With a wrong token, the expected event is a rejection.
  async 'console streams'({ base }) {
    const address = new URL(`${base.href.replace(/\/$/, '')}/v1/hosting/game/console/doctor/stream`);
    return await judgeStream(address, 'doctor', 'jwt error', 'the service rejects a wrong token');
  },
  async 'address of streams'({ visit, base, keyed: headers }) {
    if (!headers) return noKey;
    const { servers = [], scopes = [] } = (await visit('/v1/key', { headers })).fields as Record<string, string[]>;
    const server = servers.find((name) => name.startsWith('game:'))?.slice('game:'.length);
    const mayRead = scopes.some((scope) => scope.startsWith('game-console:'));
    if (server === undefined || !mayRead) return skipped('the key does not grant a console');
    const { status, json } = await visit(`/v1/hosting/game/console/${server}/websocket`, { headers });
    if (status !== 200) return fault(`the websocket endpoint answers ${status}`, 'see the server log');
    const { data } = GameConsoleWebsocketResponse.safeParse(json);
    if (!data) return fault('the response does not match its schema', 'let the proxy pass on bodies unchanged');
    const address = new URL(data.websocket.socket_url);
    const [given, expected] = [`${address.protocol}//${address.host}`, base.origin.replace('http', 'ws')];
    if (given !== expected)
      return fault(`clients are sent to ${given}`, `set PUBLIC_URL to ${base.href.replace(/\/$/, '')}`);
    return await judgeStream(address, data.websocket.token, 'auth success', 'a stream opens and stays open', true);
  },
};
