import { isIP } from 'node:net';
import type { LookupFunction } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Endpoint } from '#contract/endpoint.ts';
import { endpoints } from '#contract/endpoints.ts';
import { GameConsoleWebsocketResponse } from '#contract/hosting.ts';
import { isLoopback } from '../upstream/address.ts';
import {
  askTime,
  codeOf,
  createVisit,
  isCertificateError,
  isDateError,
  judgeCertificate,
  judgeStream,
  maxSkewMs,
  pathOf,
  readSkew,
  setClock,
} from './client.ts';
import type { Seen, Visit } from './client.ts';
import { fault, ok, runChecks, skipped } from './run.ts';
import type { Checks, Finding, Outcome } from './run.ts';

/** The service as a client sees it, and what its lists contain. */
interface Site extends Readonly<Awaited<ReturnType<typeof readLists>>> {
  readonly visit: Visit;
  readonly base: URL;
  /** The headers that send an API key, if there is one. */
  readonly keyed: Readonly<Record<string, string>> | undefined;
}

/**
 * Looks at a running service as its clients see it, through all proxies. It sends no action, no command and no vote. With
 * an API key, what the key may read is read too, unless it would travel in plain text. `lookup` resolves the name of the
 * service; the default is the resolver of the system.
 */
export async function examine(
  base: URL,
  { key, lookup }: { readonly key?: string | undefined; readonly lookup?: LookupFunction } = {},
): Promise<readonly Finding[]> {
  const isSafe = base.protocol === 'https:' || isLoopback(base.hostname);
  const keyed = isSafe && key !== undefined ? { Authorization: `Bearer ${key}` } : undefined;
  /** Each check has a client, and so a time, of its own. */
  const connect = (): Visit => createVisit(base, lookup);
  const onNoAnswer = async (error: unknown): Promise<Outcome> => {
    // A wrong clock refuses every certificate, and is the one fault then.
    const skewMs = isDateError(codeOf(error)) ? await askTime(base, '/health', lookup) : 0;
    return Math.abs(skewMs) > maxSkewMs ? { check: 'clock', ...judgeClock(skewMs) } : toFault(error);
  };
  const first = await runChecks({ answers: checkAnswers }, connect, onNoAnswer);
  if (first.some(({ state }) => state === 'fault')) return first;
  const lists = await readLists(connect());
  // One after another: some count requests, others look at what a proxy kept of an earlier one.
  const others = await runChecks(checks, () => ({ ...lists, visit: connect(), base, keyed }), toFault, 1);
  return [...first, ...others];
}

function toFault(error: unknown): Outcome {
  const code = codeOf(error);
  let advice = 'see that the proxy listens there and does not cut the connection, and read its error log';
  if (/ENOTFOUND|EAI_AGAIN/.test(code)) advice = 'the name is not in the DNS as this machine sees it';
  if (code === 'CERT_NOT_YET_VALID') advice = `if the certificate is not new, ${setClock}`;
  else if (isCertificateError(code))
    advice =
      'clients refuse the certificate: it must be valid for this name, not ended, and sent with its intermediate ones';
  return fault(`the request failed: ${code}`, advice);
}

function judgeClock(skewMs: number): Outcome {
  if (Math.abs(skewMs) <= maxSkewMs) return ok('within 30 s of this machine');
  return fault(`it is ${Math.round(skewMs / 1000)} s off this machine`, 'set both clocks by NTP');
}

async function readLists(visit: Visit) {
  const read = async (kind: string): Promise<{ path: string; cover?: string }[]> => {
    const list = (await visit(`/v1/${kind}/list`).catch(() => undefined))?.json;
    return Array.isArray(list) ? list.filter((item) => typeof item?.path === 'string') : [];
  };
  const [posts, guides] = await Promise.all([read('blog'), read('kb')]);
  return {
    /** Targets of articles. */
    articles: [
      ...posts.map(({ path }) => `/v1/blog/article?path=${path}`),
      ...guides.map(({ path }) => `/v1/kb/article?path=${path}`),
    ],
    /** The target of a picture, if an article has one. */
    picture: posts.find(({ cover }) => cover?.startsWith('/media/'))?.cover,
  };
}

const keepHeaders = 'let the proxy keep the headers of the service';

/** Whether the service answers, and not only its proxy: all other checks depend on it. */
async function checkAnswers(visit: Visit): Promise<Outcome> {
  const { status, header, text, fields } = await visit('/health');
  if (status >= 300 && status < 400)
    return fault(`/health is redirected to ${header('location')}`, 'give --url the address that it leads to');
  if (status >= 502 && status <= 504)
    return fault(
      `/health answers ${status}`,
      'the proxy answers, the service behind it does not: see whether it runs, and the address that the proxy has of it',
    );
  if (text.startsWith('\uFEFF')) {
    const advice = 'let the proxy change no body: many clients cannot read such JSON';
    return fault('/health begins with a byte order mark', advice);
  }
  if (status !== 200 || fields.status !== 'healthy')
    return fault(`/health answers ${status}, not as this service does`, 'see that all paths go to the service');
  const ready = await visit('/ready');
  const readiness = ready.fields.status;
  if (ready.status === 200 && readiness === 'ready') return ok('healthy and ready');
  const advice = 'unready: the store does not answer, see its log; draining: it is being stopped';
  return fault(`/ready answers ${ready.status} ${typeof readiness === 'string' ? readiness : ''}`.trimEnd(), advice);
}

function compareBody(seen: Seen, { problems, replies }: Endpoint): string | undefined {
  // Targets that exist only with some settings answer 404 without them.
  if (seen.status === 404 && problems.includes('not_found')) return undefined;
  const reply = replies[200];
  if (seen.status !== 200 || !reply) return `answers ${seen.status}`;
  const type = seen.header('content-type');
  if (!type.startsWith(reply.mediaType)) return `is ${type || 'without a type'}, not ${reply.mediaType}`;
  if (reply.schema && !reply.schema.safeParse(seen.json).success) return 'has another shape';
  return seen.bytes.length === 0 ? 'is empty' : undefined;
}

const origin = 'https://doctor.example';

/** Requests of a burst: enough to see in the remaining quota, few enough to leave most of it. */
const burst = 20;
const noQuota = fault('answers have no RateLimit', 'let the proxy keep RateLimit and RateLimit-Policy of the service');
const tooFast = skipped('the quota grows too fast to see in it whose requests are counted');

/** Sends requests at once; returns how many the fullest answer says were counted, or NaN if one does not say it. */
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

const noKey = skipped('no --key-file, or no TLS to send it by');
const noPicture = skipped('no article has a picture');

/** What clients notice of a service and of the proxies in front of it. */
const checks: Checks<Site> = {
  async TLS({ base, visit }) {
    if (base.protocol === 'https:') return judgeCertificate(await visit('/health'));
    if (isLoopback(base.hostname)) return skipped('a loopback address needs none');
    return fault('API keys travel in plain text', 'serve it by https alone, and redirect http to it');
  },
  // Expiry of keys, scheduled articles and maintenance depend on it.
  async clock({ visit }) {
    const skewMs = await readSkew(visit, '/health');
    return Number.isNaN(skewMs) ? fault('there is no Date header', keepHeaders) : judgeClock(skewMs);
  },
  // Each public operation must answer what the OpenAPI document says.
  async 'bodies as described'({ visit, articles }) {
    const described = Object.values<Endpoint>(endpoints).flatMap((endpoint) => {
      const { method, replies, path, access, query } = endpoint;
      if (method !== 'GET' || !(200 in replies) || path.includes('{') || access) return [];
      const needsQuery = query?.safeParse({}).success === false;
      const target = needsQuery ? articles.find((article) => article.startsWith(`${path}?`)) : path;
      return target === undefined ? [] : [{ target, endpoint }];
    });
    // One after another: the limit of the client would refuse many at once.
    const compared = await Array.fromAsync(described, async ({ target, endpoint }) => {
      const difference = compareBody(await visit(target, { headers: { 'Accept-Encoding': 'identity' } }), endpoint);
      return difference === undefined ? [] : `${target} ${difference}`;
    });
    const wrong = compared.flat();
    if (wrong.length === 0) return ok(`${described.length} answers`);
    const advice =
      'see that the proxy sends these paths to the service with their queries, and changes no body; ' +
      '502, 503 and 500 are the service itself: read its log';
    return fault(wrong.slice(0, 3).join('; ') + (wrong.length > 3 ? `; and ${wrong.length - 3} more` : ''), advice);
  },
  // Proxies like to send error pages of their own.
  async 'errors as described'({ visit }) {
    const article = await visit('/v1/kb/article?path=/knowledgebase/doctor/does-not-exist');
    if (article.status !== 404 || article.text !== 'article not found\n')
      return fault(
        `a missing article answers ${article.status} with ${article.header('content-type') || 'no type'}, not its text`,
        'let the proxy pass on errors (nginx: proxy_intercept_errors off, no error_page for 4xx)',
      );
    const { status, fields } = await visit('/v1/doctor');
    if (status === 404 && fields.error === 'not_found') return ok('404 of an article and of a path');
    const advice = 'send every path to the service, and let the proxy pass on its errors';
    return fault(`an unknown path below /v1 answers ${status}, not the 404 of the service`, advice);
  },
  async nosniff({ visit }) {
    const targets = ['/v1/plans', '/v1/info', '/v1/doctor'];
    const seen = await Promise.all(targets.map((target) => visit(target)));
    const lacks = seen.findIndex(({ all }) => !all('x-content-type-options').includes('nosniff'));
    if (lacks < 0) return ok('on content, service and errors');
    return fault(`${targets[lacks]} has no X-Content-Type-Options`, keepHeaders);
  },
  // A request is found in the log by the id that its client sees.
  async 'request ids'({ visit }) {
    const sent = `doctor-${Date.now()}`;
    const { all } = await visit('/v1/info', { headers: { 'X-Request-Id': sent } });
    const [received, ...more] = all('x-request-id');
    if (received === undefined)
      return fault('answers have no X-Request-Id', 'let the proxy keep the header (nginx: no proxy_hide_header)');
    if (more.length > 0)
      return fault('answers have X-Request-Id twice', 'let the proxy pass on the header of the service alone');
    if (received === sent) return ok('an id that a client sends comes back');
    const advice = 'pass on X-Request-Id of the request; an id of the proxy belongs there only if the client sent none';
    return fault('an id that a client sends is replaced', advice);
  },
  async 'ETag and 304'({ visit }) {
    const { header } = await visit('/v1/plans');
    const etag = header('etag');
    if (etag === '')
      return fault('/v1/plans has no ETag', 'let the proxy keep it (nginx: no proxy_hide_header; gzip off for /v1)');
    if (etag.startsWith('W/'))
      return fault('the ETag is weak', 'the proxy changes the body: switch off its own compression for /v1');
    if (!header('cache-control').includes('max-age='))
      return fault('/v1/plans has no max-age', 'let the proxy keep Cache-Control of the service');
    const { status, bytes } = await visit('/v1/plans', { headers: { 'If-None-Match': etag } });
    if (status === 304 && bytes.length === 0) return ok('304 without a body');
    const advice = 'pass on If-None-Match (nginx: proxy_set_header If-None-Match $http_if_none_match)';
    return fault(`If-None-Match is answered ${status}`, advice);
  },
  async 'no-store is not cached'({ visit }) {
    // One after another, so that a cache could keep the first.
    const seen = [await visit('/v1/info'), await visit('/v1/info'), await visit('/v1/info')];
    const policy = seen.map(({ header }) => header('cache-control')).find((one) => one !== 'no-store');
    if (policy !== undefined)
      return fault(`/v1/info has Cache-Control ${policy || 'missing'}`, 'let the proxy keep no-store');
    const ids = seen.map(({ header }) => header('x-request-id'));
    if (ids[0] === '' || new Set(ids).size === ids.length) return ok('each answer is a new one');
    const advice =
      'let the cache obey Cache-Control (nginx: no proxy_ignore_headers, no proxy_cache_valid any; a CDN: "respect origin")';
    return fault('/v1/info comes from a cache', advice);
  },
  async 'queries are kept apart'({ visit, articles: [one, other] }) {
    if (one === undefined || other === undefined) return skipped('it takes two articles');
    await visit(one);
    const path = String((await visit(other)).fields.path);
    if (other.endsWith(`=${path}`)) return ok('two articles');
    return fault(
      one.endsWith(`=${path}`) ? 'one article is answered with another' : 'an article is not answered',
      'the query belongs to the key of the cache (nginx: $request_uri in proxy_cache_key) and to the request',
    );
  },
  // Whether all instances behind a load balancer have the same one.
  async 'one release'({ visit }) {
    const read = async (): Promise<string> => (await visit(`/v1/plans?doctor=${Math.random()}`)).header('etag');
    const count = async (): Promise<number> => new Set(await Promise.all(Array.from({ length: 8 }, read))).size;
    if ((await count()) === 1) return ok('8 answers with one ETag');
    // A new release reaches the instances one after another.
    await sleep(5000);
    const versions = await count();
    if (versions === 1) return ok('8 answers with one ETag, after a change');
    return fault(
      `${versions} versions of /v1/plans`,
      'the instances serve different releases: publish to each of them',
    );
  },
  async encodings({ visit }) {
    const read = (accepted: string) => visit('/v1/openapi.json', { headers: { 'Accept-Encoding': accepted } });
    // In this order, a cache that ignores Vary answers the last one compressed.
    const [br, gzip, plain] = [await read('br'), await read('gzip'), await read('identity')];
    const unwanted = plain.header('content-encoding');
    if (unwanted !== '') {
      const advice = 'let the cache obey Vary (nginx: no proxy_ignore_headers Vary)';
      return fault(`a client that accepts no compression gets ${unwanted}`, advice);
    }
    if (!/\baccept-encoding\b/i.test(plain.header('vary')))
      return fault('Vary does not name Accept-Encoding', 'let the proxy keep Vary, else caches mix the encodings');
    for (const [encoding, { header, text }] of Object.entries({ gzip, br })) {
      const received = header('content-encoding') || 'no compression';
      if (received !== encoding)
        return fault(
          `a client that accepts ${encoding} gets ${received}`,
          'pass on Accept-Encoding, and switch off compression by the proxy: each file is compressed once, when it is built',
        );
      if (text !== plain.text)
        return fault(`the content in ${encoding} is another`, 'empty the cache, and let it obey Vary');
    }
    return ok('br, gzip and plain, with the same content');
  },
  // Websites of others may read what is public, and only that.
  async CORS({ visit }) {
    const advice = 'remove the CORS headers of the proxy: the service sets them, by CORS_ORIGINS';
    const { all, header } = await visit('/v1/plans', { headers: { Origin: origin } });
    const allowed = all('access-control-allow-origin');
    if (allowed.length > 1 || allowed[0]?.includes(','))
      return fault('Access-Control-Allow-Origin is there twice, so browsers refuse the answer', advice);
    // Without `*` in CORS_ORIGINS, the service says that the answer depends on the origin.
    const isRestricted = allowed.length === 0 && /\borigin\b/i.test(header('vary'));
    if (allowed.length === 0 && !isRestricted)
      return fault('/v1/plans has no Access-Control-Allow-Origin', keepHeaders);
    if (allowed[0] === origin || header('access-control-allow-credentials') !== '')
      return fault('any origin is allowed by its name, as if it were listed', advice);
    const keyed = await visit('/v1/hosting/game/logs/doctor/latest', { headers: { Origin: origin } });
    if (keyed.all('access-control-allow-origin').length > 0)
      return fault('any website may call the endpoints that take an API key', advice);
    return ok(isRestricted ? 'only the origins of CORS_ORIGINS' : `${allowed[0]}, and nothing with a key`);
  },
  async 'CORS preflight'({ visit }) {
    const headers = { Origin: origin, 'Access-Control-Request-Method': 'GET' };
    const { status, header } = await visit('/v1/plans', { method: 'OPTIONS', headers });
    const methods = header('access-control-allow-methods');
    if (status === 204 && /\bGET\b/.test(methods)) return ok('204 with the methods');
    const seen = `OPTIONS is answered ${status}${methods ? '' : ' without the methods'}`;
    return fault(seen, 'pass on OPTIONS to the service');
  },
  async methods({ visit }) {
    const { status, header } = await visit('/v1/plans', { method: 'DELETE' });
    const allowed = header('allow');
    if (status === 405 && /\bget\b/.test(allowed))
      return fault(`Allow is in lower case: ${allowed}`, 'let the proxy keep the header: methods are case-sensitive');
    if (status !== 405 || !/\bGET\b/.test(allowed))
      return fault(
        `DELETE /v1/plans is answered ${status}${allowed ? '' : ' without Allow'}, not 405`,
        'pass on all methods (nginx: no limit_except): the service refuses those that it does not know',
      );
    const head = await visit('/v1/plans', { method: 'HEAD' });
    if (head.status === 200 && head.bytes.length === 0) return ok('405 with Allow, HEAD without a body');
    const advice = 'pass on HEAD (nginx: proxy_cache_convert_head off without a cache)';
    return fault(`HEAD is answered ${head.status}`, advice);
  },
  async 'request bodies'({ visit }) {
    // The longest body that the service reads, without a key, so that nothing is done.
    const body = JSON.stringify({ doctor: 'x'.repeat(16_000) });
    const headers = { 'Content-Type': 'application/json', 'Content-Length': String(body.length) };
    const { status } = await visit('/v1/hosting/game/console/doctor/command', { method: 'POST', headers, body });
    if (status === 401) return ok('16 kB arrive');
    if (status === 413)
      return fault('a body of 16 kB is refused (413)', 'allow 64 kB (nginx: client_max_body_size 64k)');
    return fault(`POST without a key is answered ${status}, not 401`, 'pass on POST and its body to the service');
  },
  // A client may not choose the address that its limit counts.
  async 'forged X-Forwarded-For'({ visit }) {
    // Three times: while a busy machine asks, the quota grows again.
    for (let turn = 0; turn < 3; turn += 1) {
      // oxlint-disable no-await-in-loop
      const counted = await countRequests(visit, burst, () => ({}));
      // TEST-NET-3 (RFC 5737): addresses that no client has.
      const forged = await countRequests(visit, burst, (at) => ({
        headers: { 'X-Forwarded-For': `203.0.113.${turn * burst + at}` },
      }));
      // oxlint-enable no-await-in-loop
      if (Number.isNaN(counted + forged)) return noQuota;
      if (counted < 3) return tooFast;
      if (forged >= 3) return ok('it does not change whose requests are counted');
    }
    const advice =
      'let the proxy replace the header (nginx: proxy_set_header X-Forwarded-For $remote_addr), and name in TRUSTED_PROXIES only proxies';
    return fault('each forged address has a limit of its own', advice);
  },
  // The service must know its clients apart: else one of them uses up the limit of all.
  async 'addresses of clients'({ visit, base }) {
    const byFamily = (requests: number): Promise<number[]> =>
      Promise.all([4, 6].map((family) => countRequests(visit, requests, () => ({ family }))));
    const isName = isIP(base.hostname.replace(/^\[|\]$/g, '')) === 0;
    const before = isName ? await byFamily(1).catch(() => undefined) : undefined;
    if (!before) return skipped('it takes a name that is reached by IPv4 and by IPv6');
    // All at once: the quota grows again within fractions of a second.
    const after = await byFamily(burst);
    const most = Math.max(...after.map((counted, at) => counted - before[at]!));
    if (Number.isNaN(most)) return noQuota;
    if (most < burst / 2) return tooFast;
    if (most <= burst * 1.25) return ok('IPv4 and IPv6 are counted apart');
    const advice = 'let the proxy set X-Forwarded-For, and name its address in TRUSTED_PROXIES';
    return fault('requests by IPv4 and by IPv6 use up one limit', advice);
  },
  async Authorization({ visit }) {
    const { status, header } = await visit('/v1/key');
    if (status !== 401)
      return fault(`/v1/key without a key is answered ${status}, not 401`, 'pass on the paths below /v1/');
    if (header('www-authenticate') === '') return fault('the 401 has no WWW-Authenticate', keepHeaders);
    const wrong = await visit('/v1/key', { headers: { Authorization: 'Bearer doctor' } });
    if (wrong.header('www-authenticate').includes('invalid_token')) return ok('a wrong key is called invalid');
    const proxy = 'nginx: no proxy_set_header Authorization; no login of the proxy on these paths';
    return fault('a wrong key is called a missing one', `pass on Authorization (${proxy})`);
  },
  async 'API key'({ visit, keyed: headers }) {
    if (!headers) return noKey;
    const { status, fields } = await visit('/v1/key', { headers });
    if (status !== 200) {
      const advice = 'see `keys list`: it may be revoked or expired, or belong to another installation';
      return fault(`/v1/key answers ${status} to this key`, advice);
    }
    const { servers = [] } = fields as { servers?: readonly string[] };
    const states = await Array.fromAsync(servers.slice(0, 5), async (server) => {
      const path = server.replace('vps:', 'cloud/vps-custom/').replace('game:', 'game/power/');
      const state = await visit(`/v1/hosting/${path}`, { headers });
      // 403: the key has no scope for it.
      return [200, 403].includes(state.status) ? [] : `${server} ${state.status}`;
    });
    const unread = states.flat();
    if (unread.length === 0) return ok(`it is good, for ${servers.length} server${servers.length === 1 ? '' : 's'}`);
    const advice = 'read the log: it says what the provider answered';
    return fault(`the state could not be read: ${unread.join(', ')}`, advice);
  },
  // Generated clients encode the slashes of a path.
  async 'encoded slashes'({ visit, picture }) {
    if (picture === undefined) return noPicture;
    const encoded = `/media/${encodeURIComponent(picture.slice('/media/'.length))}`;
    const { status } = await visit(encoded);
    if (status === 200) return ok('%2F in the path of a picture');
    const advice =
      'pass on the target as it was sent (nginx: no path in proxy_pass; Apache: AllowEncodedSlashes NoDecode)';
    return fault(`${encoded} is answered ${status}`, advice);
  },
  async 'ranges of media'({ visit, picture }) {
    if (picture === undefined) return noPicture;
    const { status, bytes, header } = await visit(picture, { headers: { Range: 'bytes=0-9' } });
    if (status === 206 && bytes.length === 10) return ok(`206, ${header('content-range')}`);
    return fault(`Range is answered ${status} with ${bytes.length} bytes`, 'pass on Range and If-Range to the service');
  },
  // The token is wrong, so the stream is refused: that answer is what counts.
  async 'console streams'({ base }) {
    const address = new URL(pathOf(base, '/v1/hosting/game/console/doctor/stream'), base);
    return await judgeStream(address, 'doctor', 'jwt error', 'a wrong token is refused by the service');
  },
  async 'address of streams'({ visit, base, keyed: headers }) {
    if (!headers) return noKey;
    const { servers = [], scopes = [] } = (await visit('/v1/key', { headers })).fields as Record<string, string[]>;
    const server = servers.find((name) => name.startsWith('game:'))?.slice('game:'.length);
    const mayRead = scopes.some((scope) => scope.startsWith('game-console:'));
    if (server === undefined || !mayRead) return skipped('the key may read no console');
    const { status, json } = await visit(`/v1/hosting/game/console/${server}/websocket`, { headers });
    if (status !== 200) return fault(`it is answered ${status}`, 'read the log of the service');
    const { data } = GameConsoleWebsocketResponse.safeParse(json);
    if (!data) return fault('the answer has another shape', 'see that the proxy changes no body');
    const address = new URL(data.websocket.socket_url);
    const [given, expected] = [`${address.protocol}//${address.host}`, base.origin.replace('http', 'ws')];
    if (given !== expected)
      return fault(`clients are sent to ${given}`, `set PUBLIC_URL to ${base.href.replace(/\/$/, '')}`);
    return await judgeStream(address, data.websocket.token, 'auth success', 'a stream opens there');
  },
};
