import type { IncomingMessage, ServerResponse } from 'node:http';
import { H3, HTTPError, proxyRequest } from 'h3';
import type { H3Event, HTTPMethod } from 'h3';
import type { ServerName } from '#contract/api-keys.ts';
import { isLimited } from '#contract/endpoint.ts';
import type { Endpoint, LimitName } from '#contract/endpoint.ts';
import { problems } from '#contract/problem.ts';
import type { Caller, KeyCaller, Route } from './http/handle.ts';
import { assertAllowed, preflightHeaders, readRest, unreadable } from './http/request.ts';
import type { RequestContext, Requests } from './http/request.ts';
import { append, badTarget, renderError, send, setHead } from './http/respond.ts';
import { authorize } from './keys/authorize.ts';
import type { Authenticate } from './keys/authorize.ts';
import type { Limits } from './limits.ts';
import { Problem } from './problem.ts';
import { StoreUnreachableError } from './store/database.ts';

/** Dependencies of the app. */
export interface AppOptions {
  readonly routes: readonly Route[];
  /** In development: the origin where /preview is rendered, such as http://127.0.0.1:1. */
  readonly preview?: string | undefined;
  readonly requests: Requests;
  readonly limits: Omit<Limits, 'client'>;
  readonly authenticate: Authenticate;
  /** Called with what a request threw, before it is rendered. */
  readonly onThrown?: (thrown: unknown) => void;
  /** The maximum body lengths, by the rate limit of the endpoint, if not the default. */
  readonly maxBodyBytes: Readonly<Partial<Record<LimitName, number>>>;
}

declare module 'h3' {
  interface H3EventContext {
    request?: RequestContext;
    /** The endpoint of the path, if there is one; for a wrong method, the first one of the path. */
    endpoint?: Endpoint | undefined;
  }
}

/**
 * Creates the app. A request passes in this order: request id, access log, CORS, the limit of the client (429), path (404)
 * and method (405), the limit of the endpoint (429), access (401, 429, 403), and then its route. docs/h3.md says which part
 * of it h3 does, and why not more.
 */
export function createApp(options: AppOptions): H3 {
  const { routes, preview, requests, maxBodyBytes, onThrown } = options;
  const isPreview = preview !== undefined;

  const open = (event: H3Event): RequestContext => {
    const context = (event.context.request ??= begin(event, requests));
    const endpoint = (event.context.endpoint = findEndpoint(event));
    context.route = endpoint?.path;
    append(event, requests.headersOf(context, endpoint?.access !== undefined));
    return context;
  };
  // h3 rejects some URLs before any middleware.
  const contextOf = (event: H3Event): RequestContext => event.context.request ?? open(event);

  const fail = (event: H3Event, error: unknown): string => {
    const context = contextOf(event);
    const { endpoint } = event.context;
    const thrown = HTTPError.isError(error) && error.unhandled ? error.cause : error;
    onThrown?.(thrown);
    const isUnreachable = isStoreUnreachable(thrown);
    const { status, headers, body } = renderError(isUnreachable ? toStoreProblem(thrown, endpoint) : thrown, endpoint);
    // The health of the store logs that it does not answer, once for all requests.
    if (status >= 500 && !isUnreachable) context.failure = thrown;
    setHead(event, status);
    for (const [name, value] of Object.entries(headers)) event.res.headers.set(name, value);
    if (headers['Cache-Control'] === 'no-store') append(event, context.limits);
    else if (isPreview) event.res.headers.set('Cache-Control', 'no-cache');
    return body;
  };
  /** Renders here what a step throws: h3 would first wrap it in an HTTPError, whose stack costs more than the response. */
  const guard = (step: (event: H3Event) => unknown) => (event: H3Event) => {
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
    if (isLimited(endpoint?.path ?? event.url.pathname)) assertAllowed(context, requests.consume(context));
    if (context.request.url === unreadable) throw new Problem('validation_error', badTarget);
    if (!endpoint) throw new Problem('not_found');
  };
  const answer = async (event: H3Event, route: Route): Promise<unknown> => {
    const { endpoint } = route;
    const context = contextOf(event);
    const id = event.context.params?.['id'] ?? '';
    const caller = endpoint.limit || endpoint.access ? await decide(context, endpoint, id, options) : undefined;
    const { request, trace } = context;
    const reply = await route.answer({
      request,
      trace,
      query: event.url.searchParams,
      caller,
      rest: readRest(request.url!, endpoint.path) ?? id,
      maxBodyBytes: endpoint.limit && maxBodyBytes[endpoint.limit],
    });
    return send(event, reply, context, isPreview);
  };
  const refuseMethod = (event: H3Event, methods: string, isKeyed: boolean): string => {
    const context = contextOf(event);
    const preflight = preflightHeaders(context.request, methods, isKeyed);
    if (!preflight) throw new Problem('method_not_allowed', undefined, { headers: { Allow: methods } });
    setHead(event, 204, [...preflight, ...context.limits]);
    return '';
  };

  const app = new H3({ silent: true, onError: (error, event) => fail(event, error) });
  if (isPreview) {
    app.use((event) => {
      const { pathname, search } = event.url;
      return /^\/preview(?:\/|$)/.test(pathname) ? proxyRequest(event, `${preview}${pathname}${search}`) : undefined;
    });
  }
  app.use(guard(enter));
  for (const [path, ofPath] of Map.groupBy(routes, ({ endpoint }) => endpoint.path)) {
    const pattern = path.replace('{path*}', '**:rest').replace(/\{\w+\}/, ':id');
    const methods = ofPath.flatMap((route) => methodsOf(route).map((method) => ({ method, route })));
    for (const { method, route } of methods) {
      app.on(
        method,
        pattern,
        guard((event) => answer(event, route)),
        { meta: { endpoint: route.endpoint } },
      );
    }
    const allowed = methods.map(({ method }) => method).join(', ');
    const { endpoint } = ofPath[0]!;
    const isKeyed = endpoint.access !== undefined;
    app.all(
      pattern,
      guard((event) => refuseMethod(event, allowed, isKeyed)),
      { meta: { endpoint } },
    );
  }
  return app;
}

function begin(event: H3Event, requests: Requests): RequestContext {
  const { req, res } = event.runtime!.node!;
  return requests.begin(req as IncomingMessage, res as ServerResponse);
}

/** With a trailing slash there is none: caches would store the resource twice. People type one behind /docs. */
function findEndpoint({ url, context }: H3Event): Endpoint | undefined {
  if (!/^\/(?:docs\/)?$|[^/]$/.test(url.pathname)) return undefined;
  return context.matchedRoute?.meta?.['endpoint'] as Endpoint | undefined;
}

/** HEAD has routes of its own: the one of all other methods wins over what h3 would do for it. */
function methodsOf({ endpoint: { method } }: Route): readonly HTTPMethod[] {
  return method === 'GET' ? ['GET', 'HEAD'] : [method];
}

/**
 * Decides whether a request may use an endpoint, and returns its API key and server. Throws if the limit of the endpoint or
 * of the key is exceeded (429), the key is not valid (401), or is not for the server or the scope (403).
 */
async function decide(
  context: RequestContext,
  { method, access, limit }: Endpoint,
  id: string,
  { limits, authenticate }: AppOptions,
): Promise<KeyCaller | Caller | undefined> {
  const { id: requestId, client, trace, request } = context;
  if (limit) assertAllowed(context, await limits[limit].consume(client.key));
  if (!access) return undefined;
  const { key, secretHash } = await authenticate(request.headers.authorization);
  assertAllowed(context, await limits[method === 'POST' ? 'actions' : 'reads'].consume(key.id));
  const caller: KeyCaller = { keyId: key.id, secretHash, scopes: key.scopes, requestId, trace, ip: client.address };
  if (access === 'any_key') return caller;
  const server: ServerName = `${access.kind}:${id}`;
  authorize(key, access.scope, server);
  return { ...caller, scope: access.scope, server, id } satisfies Caller;
}

/** Whether a request failed because the store did not answer. */
function isStoreUnreachable(error: unknown): boolean {
  return error instanceof Error && (error instanceof StoreUnreachableError || isStoreUnreachable(error.cause));
}

/** The response of an endpoint while the store does not answer: its own code if that is a 500, and when to retry. */
function toStoreProblem(thrown: unknown, endpoint: Endpoint | undefined): Problem {
  const code = thrown instanceof Problem && problems[thrown.code].status === 500 ? thrown.code : endpoint?.failure;
  return new Problem(code ?? 'internal_error', undefined, { headers: { 'Retry-After': '5' } });
}
