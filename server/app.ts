import { STATUS_CODES } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { closest, distance } from 'fastest-levenshtein';
import { H3, HTTPError, proxyRequest, toNodeHandler } from 'h3';
import type { H3Event, HTTPMethod } from 'h3';
import type { ServerName } from '#contract/api-keys.ts';
import { describeNearest, isLimited, takesIdempotencyKey } from '#contract/endpoint.ts';
import type { Endpoint, LimitName } from '#contract/endpoint.ts';
import { endpoints } from '#contract/endpoints.ts';
import { problems } from '#contract/problem.ts';
import { failUnsent } from './hosting/actions.ts';
import type { Relay } from './hosting/console/relay.ts';
import { handleUpgrades, streamRoute } from './hosting/console/upgrade.ts';
import type { Caller, KeyCaller, Route, RouteReply } from './http/handle.ts';
import { listenOn } from './http/listen.ts';
import type { ListenSettings } from './http/listen.ts';
import {
  assertAllowed,
  assertNetwork,
  createHostCheck,
  createRequests,
  keyedOrigins,
  nest,
  preflightHeaders,
  readRest,
  unreadable,
} from './http/request.ts';
import type { RequestContext, RequestSettings, Requests } from './http/request.ts';
import { toStoredReply } from './http/stored.ts';
import type { StoredFile } from './http/stored.ts';
import { assertAccess, authorize, createAuthenticate } from './keys/authorize.ts';
import type { Authenticate } from './keys/authorize.ts';
import type { Base, Lifecycle } from './lifecycle.ts';
import type { LimitSettings, Limits } from './limits.ts';
import { createOperatorAdmit, createOperatorRoutes } from './operators/routes.ts';
import type { OperatorSettings } from './operators/routes.ts';
import { Problem, renderError } from './problem.ts';
import type { HeaderFields } from './problem.ts';
import { cached, createFastPath } from './releases/serve.ts';
import type { Releases } from './releases/service.ts';
import type { SharedSettings } from './settings.ts';
import { isUnreachable } from './store/database.ts';
import type { Store } from './store/types.ts';
import { createTokenBucket } from './token-bucket.ts';

const badTarget = 'The target of the request is not valid, or it has no Host';

interface AppOptions {
  readonly routes: readonly Route[];
  /** In development: the origin that renders /preview, such as http://127.0.0.1:1. */
  readonly preview?: string | undefined;
  readonly requests: Requests;
  readonly limits: Omit<Limits, 'client' | 'content'>;
  /** Needed by routes with an API key, or with an operator token. */
  readonly authenticate?: Authenticate;
  readonly admitOperator?: ReturnType<typeof createOperatorAdmit>;
  readonly onThrown?: (thrown: unknown) => void;
  /** Maximum body lengths by the rate limit of the endpoint, in place of the default. */
  readonly maxBodyBytes: Readonly<Partial<Record<LimitName, number>>>;
}

declare module 'h3' {
  interface H3EventContext {
    request?: RequestContext;
    /** The endpoint of the path; after a wrong method, the first endpoint of the path. */
    endpoint?: Endpoint | undefined;
  }
}

/**
 * Creates the app. Steps of a request, in order: request id, access log, CORS, the limit of the client (429), path (404)
 * and method (405), the limit of the endpoint (429), access (401, 429, 403), route. See docs/h3.md.
 */
export function createApp(options: AppOptions): H3 {
  const { routes, preview, requests, limits, authenticate, admitOperator, maxBodyBytes, onThrown } = options;
  const isPreview = preview !== undefined;
  const findNearest = createFindNearest(routes.map(({ endpoint }) => endpoint));
  const hasMedia = routes.some(({ endpoint }) => endpoint === endpoints.getMedia);

  const open = (event: H3Event): RequestContext => {
    const { req, res } = event.runtime?.node ?? {};
    const context = (event.context.request ??= requests.begin(req as IncomingMessage, res as ServerResponse));
    const endpoint = (event.context.endpoint = findEndpoint(event));
    context.route = endpoint?.path;
    append(event, requests.headersOf(context, isKeyed(endpoint)));
    return context;
  };
  // h3 rejects some URLs before any middleware.
  const contextOf = (event: H3Event): RequestContext => event.context.request ?? open(event);

  const fail = (event: H3Event, error: unknown): string => {
    const context = contextOf(event);
    const { endpoint } = event.context;
    let thrown = HTTPError.isError(error) && error.unhandled ? error.cause : error;
    onThrown?.(thrown);
    // h3 rejected the URL before it looked for an endpoint.
    if (!endpoint && HTTPError.isError(thrown) && thrown.status === 400)
      thrown = new Problem('validation_error', badTarget);
    const isOutage = isStoreUnreachable(thrown);
    const { status, headers, body } = renderError(isOutage ? toStoreProblem(thrown, endpoint) : thrown, endpoint);
    // The health check of the store logs an outage, once for all requests.
    if (status >= 500 && !isOutage) context.failure = thrown;
    setHead(event, status);
    for (const [name, value] of Object.entries(headers)) event.res.headers.set(name, value);
    if (headers['Cache-Control'] === 'no-store') append(event, ...context.limits);
    else if (isPreview) event.res.headers.set('Cache-Control', 'no-cache');
    return body;
  };
  /** Renders the error of a step: h3 would wrap it in an HTTPError, whose stack costs more than the response. */
  const withErrors = (step: (event: H3Event) => unknown) => (event: H3Event) => {
    try {
      const result = step(event);
      return result instanceof Promise ? result.catch((error: unknown) => fail(event, error)) : result;
    } catch (error) {
      return fail(event, error);
    }
  };

  const enter = (event: H3Event): void => {
    const context = open(event);
    const { endpoint } = event.context;
    const isContent = endpoint !== undefined && endpoint.stored !== false;
    const hasLimit = isLimited(endpoint?.path ?? event.url.pathname) && !(isContent && isPreview);
    if (hasLimit) assertAllowed(context, requests.consume(context, isContent));
    requests.assertOwnHost(context);
    if (context.target === unreadable) throw new Problem('validation_error', badTarget);
    if (endpoint) return;
    if (!hasMedia || !event.url.pathname.startsWith('/media/')) throw new Problem('not_found', findNearest(event));
    // A trailing or doubled slash matches no route; the 404 is still the one of media.
    event.context.endpoint = endpoints.getMedia;
    context.route = endpoints.getMedia.path;
    throw new Problem('media_not_found', undefined, cached);
  };
  /** Applies limits, key or token, and scope of an endpoint; throws 429, 401 or 403. */
  const admit = async (context: RequestContext, endpoint: Endpoint, id: string) => {
    const { method, access, limit, body, right } = endpoint;
    const { id: requestId, client, trace, request } = context;
    if (endpoint.hasOptionalKey) {
      const { origin, authorization } = request.headers;
      const allowed = requests.headersOf(context, true);
      if (origin !== undefined && !('Access-Control-Allow-Origin' in allowed)) throw new Problem('forbidden');
      // Only checks the key: `ask` counts each request.
      if (authorization !== undefined) await authenticate!(request.headers);
    }
    // A refused body uses no vote: `count` consumes the token after validation.
    if (limit && !body) assertAllowed(context, await limits[limit].consume(client.key));
    if (right) return await admitOperator!(context, right);
    if (!access) return undefined;
    const { key, secretHash } = await authenticate!(request.headers);
    assertNetwork(key.networks, context);
    assertAllowed(context, await limits[method === 'GET' ? 'reads' : 'actions'].consume(key.parentId ?? key.id));
    const { id: keyId, scopes, servers } = key;
    const caller: KeyCaller = { keyId, secretHash, scopes, servers, requestId, trace, ip: client.address };
    if (typeof access === 'string') {
      assertAccess(key, secretHash, access);
      return caller;
    }
    const server: ServerName = `${access.kind}:${id}`;
    authorize(key, access.scope, server);
    return { ...caller, scope: access.scope, server, id } satisfies Caller;
  };
  /** Admits a request; a failure says that an action was not sent. */
  const admitOrFail = (context: RequestContext, endpoint: Endpoint, id: string) => {
    const admitted = admit(context, endpoint, id);
    return takesIdempotencyKey(endpoint) ? admitted.catch(failUnsent('The API key cannot be checked')) : admitted;
  };
  const send = async (event: H3Event, reply: RouteReply, context: RequestContext): Promise<unknown> => {
    if (reply instanceof Response) {
      const type = reply.headers.get('content-type') ?? 'text/plain';
      setHead(event, reply.status, { 'Content-Type': type, 'Cache-Control': 'no-store' }, ...context.limits);
      return await reply.text();
    }
    if ('to' in reply) {
      setHead(event, 302, { Location: reply.to, 'Cache-Control': 'no-cache', 'Content-Length': '0' });
      return '';
    }
    if ('body' in reply) {
      const text = `${JSON.stringify(reply.body)}\n`;
      const length = String(Buffer.byteLength(text));
      const own = { 'Content-Type': 'application/json', 'Content-Length': length, 'Cache-Control': 'no-store' };
      setHead(event, reply.status, { ...own, ...reply.headers }, ...context.limits);
      return text;
    }
    const { status, headers, variant, range } = toStoredReply(reply, context.request, isPreview);
    const bytes = variant && (reply.inMemory(variant) ?? (await reply.read(variant, range)));
    // The response has begun: an error can only abort the connection.
    if (bytes instanceof Readable) bytes.once('error', (error) => (context.failure = error));
    setHead(event, status, headers);
    return range && Buffer.isBuffer(bytes) ? bytes.subarray(range.start, range.end + 1) : (bytes ?? '');
  };
  const answer = async (event: H3Event, route: Route): Promise<unknown> => {
    const context = contextOf(event);
    const { endpoint } = route;
    const { limit, body } = endpoint;
    const id = event.context.params?.['id'] ?? '';
    const count = async (): Promise<void> => assertAllowed(context, await limits[limit!].consume(context.client.key));
    const ask = async (method: Endpoint['method'], target: string): Promise<Response> => {
      const inner = nest(context, method, target);
      const response = await app.request(target, { method }, { request: inner });
      context.failure ??= inner.failure;
      return response;
    };
    const reply = await route.answer({
      context,
      query: event.url.searchParams,
      caller: limit || isKeyed(endpoint) ? await admitOrFail(context, endpoint, id) : undefined,
      rest: readRest(context.target, endpoint) ?? id,
      maxBodyBytes: limit && maxBodyBytes[limit],
      count: limit && body ? count : undefined,
      ask,
    });
    return await send(event, reply, context);
  };
  const refuseMethod = (event: H3Event, methods: string): string => {
    const context = contextOf(event);
    const preflight = preflightHeaders(context.request, methods, event.context.endpoint?.access !== undefined);
    if (!preflight) throw new Problem('method_not_allowed', undefined, { headers: { Allow: methods } });
    setHead(event, 204, preflight, ...context.limits);
    return '';
  };

  const app = new H3({ silent: true, onError: (error, event) => fail(event, error) });
  if (isPreview) {
    app.use((event) => {
      const { pathname, search } = event.url;
      return /^\/preview(?:\/|$)/.test(pathname) ? proxyRequest(event, `${preview}${pathname}${search}`) : undefined;
    });
  }
  app.use(withErrors(enter));
  for (const [path, ofPath] of Map.groupBy(routes, ({ endpoint }) => endpoint.path)) {
    const pattern = path.replace('{path*}', '**:rest').replace(/\{\w+\}/, ':id');
    const methods: HTTPMethod[] = [];
    for (const route of ofPath) {
      const { endpoint } = route;
      const step = withErrors((event) => answer(event, route));
      // Bind HEAD too: without its own route, h3 would take the route of all methods.
      const own: HTTPMethod[] = endpoint.method === 'GET' ? ['GET', 'HEAD'] : [endpoint.method];
      for (const method of own) app.on(method, pattern, step, { meta: { endpoint } });
      methods.push(...own);
    }
    const allowed = methods.join(', ');
    const refuse = withErrors((event) => refuseMethod(event, allowed));
    app.all(pattern, refuse, { meta: { endpoint: ofPath[0]!.endpoint } });
  }
  return app;
}

const isKeyed = (endpoint: Endpoint | undefined): boolean =>
  (endpoint?.access ?? endpoint?.right) !== undefined || endpoint?.hasOptionalKey === true;

/** Trailing slashes are 404, or caches would store a resource twice; `/docs/` is the exception. */
function findEndpoint({ url, context }: H3Event): Endpoint | undefined {
  if (!/^\/(?:docs\/)?$|[^/]$/.test(url.pathname)) return undefined;
  return context.matchedRoute?.meta?.['endpoint'] as Endpoint | undefined;
}

/** Splits a path or a template, with its id masked. */
const toSegments = (path: string): string[] => path.replace(/\{\w+\}/, '*').match(/[^/]+/g) ?? [];

/** Returns a function that names the endpoint nearest to a mistyped path below /v1, by its template. */
function createFindNearest(all: readonly Endpoint[]) {
  const below = all.filter(({ path }) => path.startsWith('/v1/'));
  const templates = below.map((endpoint) => ({ endpoint, words: toSegments(endpoint.path) }));
  const vocabulary = [...new Set(templates.flatMap(({ words }) => words))];
  return ({ req, url: { pathname } }: H3Event): string | undefined => {
    // A longer path is no typo, and would cost time.
    if (!/^\/v1\/./i.test(pathname) || pathname.length > 128) return undefined;
    const method = req.method === 'HEAD' ? 'GET' : req.method;
    const segments = toSegments(pathname.toLowerCase());
    const given = segments.map((segment) => {
      const word = vocabulary.includes(segment) ? segment : closest(segment, vocabulary);
      return distance(segment, word) <= 1 + word.length / 3 ? word : '*';
    });
    const typos = given.filter((word, at) => word !== '*' && word !== segments[at]).length;
    const near = templates.flatMap(({ endpoint, words }) => {
      const missing = words.filter((word) => !given.includes(word)).length;
      const extra = given.length - words.length + missing;
      const mistakes = typos + missing + extra;
      return endpoint.method === method && mistakes <= 1 ? [{ endpoint, mistakes }] : [];
    });
    const [nearest] = near.toSorted((one, other) => one.mistakes - other.mistakes);
    return nearest && describeNearest(nearest.endpoint);
  };
}

function isStoreUnreachable(error: unknown): boolean {
  return error instanceof Error && (isUnreachable(error) || isStoreUnreachable(error.cause));
}

/** Creates the error of an endpoint while the store is unreachable: a 500 with Retry-After. */
function toStoreProblem(thrown: unknown, endpoint: Endpoint | undefined): Problem {
  const code = thrown instanceof Problem && problems[thrown.code].status === 500 ? thrown.code : endpoint?.failure;
  const headers = thrown instanceof Problem ? thrown.headers : {};
  return new Problem(code ?? 'internal_error', undefined, { headers: { ...headers, 'Retry-After': '5' } });
}

/** Sets the status and its reason phrase, which h3 leaves empty; adds headers. */
function setHead(event: H3Event, status: number, ...headers: readonly HeaderFields[]): void {
  event.res.status = status;
  event.res.statusText = STATUS_CODES[status]!;
  append(event, ...headers);
}

function append(event: H3Event, ...headers: readonly HeaderFields[]): void {
  for (const record of headers) for (const name of Object.keys(record)) event.res.headers.append(name, record[name]!);
}

type Settings = SharedSettings & ListenSettings & RequestSettings & Pick<LimitSettings, 'MAX_FEEDBACK_BODY_BYTES'>;

interface PortsBase extends Base<Settings & OperatorSettings & { PROVIDERS_FILE?: string | undefined }> {
  readonly releases: Releases;
  readonly store: Store;
  readonly lifecycle: Lifecycle;
  readonly limits: Limits;
  readonly relay: Relay;
  /** In development: the origin that renders /preview. Requests are not logged. */
  readonly preview: string | undefined;
}

/** Time for a client to read its response, beyond the wait for an upstream. */
const stalledClientMs = 120_000;

const untrustedMessage =
  'ignored X-Forwarded-For of an untrusted address; if this is your proxy, add it to TRUSTED_PROXIES: its visitors share one limit';

/** Listens for requests and upgrades: first the fast path, then the app. */
export async function openListeners(base: PortsBase, routes: readonly Route[]) {
  const { env, log, opened, releases, store, limits, relay, preview, report } = base;
  const requests = createRequests({
    trustedProxies: env.TRUSTED_PROXIES,
    onUntrusted: (address) => log.warn({ address }, untrustedMessage),
    cors: {
      origins: keyedOrigins(env.CORS_ORIGINS, env.PUBLIC_URL),
      allowLocal: env.ALLOW_LOCAL_ORIGINS,
      isPrivate: preview !== undefined,
    },
    isOwnHost: preview === undefined ? undefined : createHostCheck(env),
    limits,
    log: preview === undefined ? log : log.child({}, { level: 'error' }),
  });
  const app = createApp({
    routes: [...routes, streamRoute],
    preview,
    requests,
    limits,
    authenticate: createAuthenticate('hk', store.keyring, report('the last use of a key could not be stored')),
    maxBodyBytes: { feedback: env.MAX_FEEDBACK_BODY_BYTES },
  });
  const handleByApp = toNodeHandler(app);
  const handleFile = createFastPath(releases, requests, preview !== undefined);
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    const context = requests.begin(request, response);
    if (handleFile(context, response)) return;
    // h3 reads the target from here.
    request.url = context.target;
    void handleByApp(request, response);
  };
  const stalledMs = env.UPSTREAM_TIMEOUT_SECONDS * 1000 + stalledClientMs;
  const idleMs = env.KEEP_ALIVE_SECONDS * 1000;
  const server = await listenOn(listener, { host: env.HOST, port: env.PORT, stalledMs, idleMs });
  const closeStreams = handleUpgrades(server.http, { relay, requests, log });
  const drain = async (): Promise<void> => {
    await Promise.all([closeStreams(), server.drain(env.SHUTDOWN_GRACE_SECONDS)]);
  };
  opened.defer(drain);
  return { url: server.url, announce: server.announce, drain };
}

/** Listens for operators at OPERATOR_PORT, with separate routes and limit, and without CORS. */
export async function openOperatorPort(base: PortsBase, others: readonly Route[]) {
  const { env, log, opened, releases, store, lifecycle, limits, report } = base;
  const { OPERATOR_PORT: port, OPERATOR_HOST: host, PROVIDERS_FILE: providersFile } = env;
  if (port === undefined) return undefined;
  const bucket = createTokenBucket({ name: 'operators', rps: 100, burst: 1000 });
  const requests = createRequests({
    trustedProxies: env.TRUSTED_PROXIES,
    isOwnHost: createHostCheck({ HOST: host, PUBLIC_URL: undefined }),
    cors: { origins: [], allowLocal: false, isPrivate: true },
    limits: { client: bucket, content: bucket },
    log,
  });
  const findFile = (target: string): StoredFile => {
    const file = releases.current().find(target);
    if (!file) throw new Problem('not_found');
    return file;
  };
  const routes = [...others, ...createOperatorRoutes(store, lifecycle, providersFile, findFile)];
  const admitOperator = createOperatorAdmit(store.operators, report('the last use of a token could not be stored'));
  const handle = toNodeHandler(createApp({ routes, requests, limits, admitOperator, maxBodyBytes: {} }));
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    request.url = requests.begin(request, response).target;
    void handle(request, response);
  };
  const times = { stalledMs: stalledClientMs, idleMs: env.KEEP_ALIVE_SECONDS * 1000 };
  const server = await listenOn(listener, { host, port, setting: 'OPERATOR_PORT', ...times });
  Object.assign(server.http, { shouldUpgradeCallback: () => false });
  opened.defer(() => server.drain(env.SHUTDOWN_GRACE_SECONDS));
  log.info({ url: server.url }, 'listening for operators');
  return server;
}
