import { H3 } from 'h3';
import type { H3Event } from 'h3';
import type { ServerName } from '#contract/api-keys.ts';
import { isLimited } from '#contract/endpoint.ts';
import type { Endpoint, LimitName } from '#contract/endpoint.ts';
import { problems } from '#contract/problem.ts';
import type { LogRequest } from './http/access-log.ts';
import { isPreflight, preflightHeaders } from './http/cors.ts';
import type { Cors } from './http/cors.ts';
import { badTarget, renderError, unwrapError } from './http/errors.ts';
import type { Caller, KeyCaller, Route } from './http/handle.ts';
import { addPreview } from './http/preview.ts';
import type { Identify, RequestInfo } from './http/identify.ts';
import { append, nodeOf, send, setStatus } from './http/send.ts';
import { readRest, unreadable } from './http/target.ts';
import { authorize } from './keys/authorize.ts';
import type { Authenticate } from './keys/authorize.ts';
import type { Limits } from './limits.ts';
import { Problem } from './problem.ts';
import { StoreUnreachableError } from './store/error.ts';
import type { RateLimitResult } from './token-bucket.ts';

/** Dependencies of the app. */
export interface AppOptions {
  readonly routes: readonly Route[];
  /** In development: where /preview is rendered. */
  readonly preview?: string | undefined;
  readonly identify: Identify;
  readonly logRequest: LogRequest;
  readonly cors: Cors;
  readonly limits: Limits;
  readonly authenticate: Authenticate;
  /** Called with what a request threw, before it is rendered. */
  readonly onThrown?: (thrown: unknown) => void;
  /** The maximum body lengths, by the rate limit of the endpoint, if not the default. */
  readonly maxBodyBytes: Readonly<Partial<Record<LimitName, number>>>;
}

/** What the middleware adds to a request. */
declare module 'h3' {
  interface H3EventContext {
    info?: RequestInfo | undefined;
    /** The routes of the path, one for each method. */
    routes?: readonly Route[] | undefined;
    route?: Route | undefined;
    caller?: KeyCaller | Caller;
    /** The headers of the rate limits. Only responses that no cache keeps have them: others are seen by other clients. */
    limits?: readonly string[];
    /** An error on our side, for the log. */
    failure?: unknown;
  }
}

/**
 * Creates the app. A request passes the middleware in this order: request id, access log, CORS, the limit of the client
 * (429), path (404) and method (405), the limit of the endpoint (429), access (401, 429, 403), and then its route. The
 * error hook renders everything that is thrown.
 */
export function createApp(options: AppOptions): H3 {
  const { begin, addCors, limitClient, limitEndpoint, authorizeKey, answer } = createSteps(options);
  const app = new H3({
    silent: true,
    onError(error, event) {
      // h3 rejects some URLs before any middleware.
      if (!event.context.info) begin(event);
      const { endpoint } = event.context.route ?? {};
      const thrown = unwrapError(error);
      options.onThrown?.(thrown);
      const isUnreachable = isStoreUnreachable(thrown);
      const { status, headers, body } = renderError(isUnreachable ? toStoreProblem(error, endpoint) : error, endpoint);
      // The health of the store logs that it does not answer, once for all requests.
      if (status >= 500 && !isUnreachable) event.context.failure = thrown;
      setStatus(event, status);
      for (const [name, value] of Object.entries(headers)) event.res.headers.set(name, value);
      if (headers['Cache-Control'] === 'no-store') append(event, event.context.limits);
      else if (options.preview !== undefined) event.res.headers.set('Cache-Control', 'no-cache');
      return body;
    },
  });
  if (options.preview !== undefined) addPreview(app, options.preview);
  app.use((event) => begin(event));
  app.use((event) => addCors(event));
  app.use((event) => limitClient(event));
  app.use((event) => assertRoute(event));
  app.use((event) => limitEndpoint(event));
  app.use((event) => {
    const { endpoint } = event.context.route!;
    return endpoint.access && authorizeKey(event, endpoint);
  });
  for (const [path, routes] of Map.groupBy(options.routes, ({ endpoint }) => endpoint.path)) {
    const pattern = path.replace('{path*}', '**:rest').replace(/\{\w+\}/, ':id');
    app.all(pattern, answer, { meta: { routes } });
  }
  return app;
}

/** The middleware that needs the dependencies of the app. */
function createSteps({ identify, logRequest, cors, limits, authenticate, maxBodyBytes, preview }: AppOptions) {
  const begin = (event: H3Event): void => {
    const { req, res } = nodeOf(event);
    const info = (event.context.info = identify(req));
    // A trailing slash is not ignored: caches would store the resource twice. People type one behind /docs.
    const hasRoutes = /^\/(?:docs\/)?$|[^/]$/.test(event.url.pathname);
    const routes = hasRoutes ? (event.context.matchedRoute?.meta?.['routes'] as Route[]) : undefined;
    event.context.routes = routes;
    // A wrong method gets its errors in the style of the path's first endpoint.
    event.context.route = routes?.find(({ endpoint }) => isMethodOf(endpoint, event.req.method)) ?? routes?.[0];
    event.res.headers.set('X-Request-Id', info.id);
    event.res.headers.set('X-Content-Type-Options', 'nosniff');
    res.on('close', () => {
      const { failure } = event.context;
      logRequest(info, { request: req, response: res }, { route: routes?.[0]?.endpoint.path, failure });
    });
  };

  const addCors = (event: H3Event): void => {
    append(event, cors(nodeOf(event).req.headers.origin, isKeyed(event.context.routes)));
  };

  const limitClient = (event: H3Event): void => {
    const { route, info } = event.context;
    if (isLimited(route?.endpoint.path ?? event.url.pathname)) {
      assertAllowed(event, limits.client.consume(info!.client.key));
    }
  };

  const limitEndpoint = async (event: H3Event): Promise<void> => {
    const { limit } = event.context.route!.endpoint;
    if (limit) assertAllowed(event, await limits[limit].consume(event.context.info!.client.key));
  };

  const authorizeKey = async (event: H3Event, { method, access }: Endpoint): Promise<void> => {
    const { id: requestId, client, trace } = event.context.info!;
    const { key, secretHash } = await authenticate(nodeOf(event).req.headers.authorization);
    assertAllowed(event, await limits[method === 'POST' ? 'actions' : 'reads'].consume(key.id));
    const caller: KeyCaller = { keyId: key.id, secretHash, scopes: key.scopes, requestId, trace, ip: client.address };
    event.context.caller = caller;
    if (access === 'any_key') return;
    const id = event.context.params!['id']!;
    const { kind, scope } = access!;
    const server: ServerName = `${kind}:${id}`;
    authorize(key, scope, server);
    event.context.caller = { ...caller, scope, server, id } satisfies Caller;
  };

  const answer = async (event: H3Event): Promise<unknown> => {
    const { route, params, caller } = event.context;
    const { endpoint } = route!;
    const reply = await route!.answer({
      request: nodeOf(event).req,
      trace: event.context.info!.trace,
      query: event.url.searchParams,
      caller,
      rest: readRest(nodeOf(event).req.url!, endpoint.path) ?? params?.['id'] ?? '',
      maxBodyBytes: endpoint.limit && maxBodyBytes[endpoint.limit],
    });
    return send(event, reply, preview !== undefined);
  };

  return { begin, addCors, limitClient, limitEndpoint, authorizeKey, answer };
}

/** Whether an endpoint answers a method; those for GET answer HEAD too. */
function isMethodOf(endpoint: Endpoint, method: string): boolean {
  return endpoint.method === (method === 'HEAD' ? 'GET' : method);
}

/** Throws 404 for an unknown path and 405 for a wrong method, and answers CORS preflights. */
function assertRoute(event: H3Event): string | undefined {
  const { routes, route } = event.context;
  if (nodeOf(event).req.url === unreadable) throw new Problem('validation_error', badTarget);
  if (!routes) throw new Problem('not_found');
  if (isMethodOf(route!.endpoint, event.req.method)) return undefined;
  const methods = routes.flatMap(({ endpoint }) => (endpoint.method === 'GET' ? ['GET', 'HEAD'] : [endpoint.method]));
  if (!isPreflight(event.req))
    throw new Problem('method_not_allowed', undefined, { headers: { Allow: methods.join(', ') } });
  append(event, Object.entries(preflightHeaders(methods, isKeyed(routes))).flat());
  append(event, event.context.limits);
  setStatus(event, 204);
  return '';
}

/** Whether a request failed because the store did not answer. */
function isStoreUnreachable(error: unknown): boolean {
  return error instanceof Error && (error instanceof StoreUnreachableError || isStoreUnreachable(error.cause));
}

/** The response of an endpoint while the store does not answer: its own code if that is a 500, and when to retry. */
function toStoreProblem(error: unknown, endpoint: Endpoint | undefined): Problem {
  const thrown = unwrapError(error);
  const code = thrown instanceof Problem && problems[thrown.code].status === 500 ? thrown.code : endpoint?.failure;
  return new Problem(code ?? 'internal_error', undefined, { headers: { 'Retry-After': '5' } });
}

function isKeyed(routes: readonly Route[] | undefined): boolean {
  return routes?.some(({ endpoint }) => endpoint.access) ?? false;
}

/** Keeps the rate limit headers for the response, and throws 429 if the limit is exceeded. */
function assertAllowed(event: H3Event, { allowed, headers, retryAfter }: RateLimitResult): void {
  event.context.limits = [...(event.context.limits ?? []), ...headers];
  if (!allowed) throw new Problem('rate_limited', undefined, { headers: { 'Retry-After': String(retryAfter) } });
}
