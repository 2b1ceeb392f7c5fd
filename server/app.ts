import type { IncomingMessage } from 'node:http';
import { H3 } from 'h3';
import type { H3Event } from 'h3';
import { FastResponse } from 'srvx';
import { isLimited, takesIdempotencyKey } from '#contract/endpoint.ts';
import type { Endpoint, LimitName } from '#contract/endpoint.ts';
import { parseJsonBody, readBody } from './http/body.ts';
import { answer, answerStored, exchangeOf } from './http/exchange.ts';
import type { Exchange } from './http/exchange.ts';
import type { JsonReply, Route, RouteReply } from './http/handle.ts';
import { renderError, toThrown } from './http/errors.ts';
import type { Authorize } from './keys/authorize.ts';
import { preflightHeaders } from './http/cors.ts';
import type { createCors } from './http/cors.ts';
import type { RateLimit, Verdict } from './token-bucket.ts';
import { Problem } from './problem.ts';
import { createRoutes } from './routes.ts';
import type { Services } from './routes.ts';
import type { Idempotency } from './hosting/idempotency.ts';

/** What every request is held against. */
export interface Rules {
  readonly limit: RateLimit;
  /** Those of single endpoints. */
  readonly limits: Readonly<Record<LimitName, RateLimit>>;
  /** The largest bodies of such endpoints, where they differ from the usual. */
  readonly maxBodyBytes: Readonly<Partial<Record<LimitName, number>>>;
  readonly cors: ReturnType<typeof createCors>;
  readonly authorize: Authorize;
  readonly idempotency: Idempotency;
}

/**
 * Creates the app: every endpoint of the contract at its path, in this order: route, method, rate limit, access, query
 * and body, the route itself. Whatever goes wrong is answered in the endpoint's style.
 */
export function createApp(services: Services, rules: Rules): H3 {
  const app = new H3({ silent: true, onError: (error, event) => fail(error, event, undefined) });
  const routes = Object.values(createRoutes(services));
  for (const [path, own] of Map.groupBy(routes, ({ endpoint }) => endpoint.path)) {
    app.all(path.replace('{path*}', '**:rest').replace(/\{\w+\}/, ':id'), (event) => {
      // A trailing slash is another URL, and a second address for one resource would be cached twice.
      if (event.url.pathname.endsWith('/')) return fail(new Problem('not_found'), event, undefined);
      return serve(event, own, services, rules);
    });
  }
  app.all('/**', (event) => fail(new Problem('not_found'), event, undefined));
  return app;
}

const noQuery = new URLSearchParams();

/** Answers with what was thrown, in the style of the endpoint where there is one. */
function fail(error: unknown, event: H3Event, endpoint: Endpoint | undefined): Response {
  const exchange = exchangeOf(event.runtime?.node?.req as IncomingMessage);
  const { status, headers, body } = renderError(error, endpoint);
  if (status >= 500) exchange.failure = toThrown(error);
  return respond(exchange, status, Object.entries(headers).flat(), body);
}

async function serve(
  event: H3Event,
  routes: readonly Route[],
  { lifecycle }: Services,
  rules: Rules,
): Promise<Response> {
  // Caught here and not by h3, which would wrap it; nor by whoever awaits it, which costs a rejection more.
  try {
    const exchange = exchangeOf(event.runtime?.node?.req as IncomingMessage);
    const { request, headers, client } = exchange;
    const { rest = '', id = '' } = event.context.params ?? {};
    const isKeyed = routes.some(({ endpoint }) => endpoint.access);
    if (isKeyed) exchange.cors = rules.cors(request.headers.origin, isKeyed);

    const route = routes.find(
      ({ endpoint }) => endpoint.method === (request.method === 'HEAD' ? 'GET' : request.method),
    );
    if (!route) return refuseMethod(exchange, routes, isKeyed);
    const { endpoint } = route;

    if (isLimited(endpoint.path)) {
      draw(exchange, (exchange.verdict ??= rules.limit(client.key)));
    }

    if (endpoint.limit) draw(exchange, rules.limits[endpoint.limit](client.key));

    const caller = endpoint.access && (await rules.authorize(exchange, endpoint, id));
    const { body: asked, limit } = endpoint;
    const maxBytes = limit && rules.maxBodyBytes[limit];
    const text = asked || takesIdempotencyKey(endpoint) ? await readBody(request, { ...asked, maxBytes }) : '';
    const body = asked && text !== '' ? await parseJsonBody(text, asked.schema, asked.invalid) : undefined;
    const run = route.check({
      query: endpoint.query ? event.url.searchParams : noQuery,
      body,
      caller,
      rest: rest || id,
    });
    if (!caller || !takesIdempotencyKey(endpoint)) return toResponse(exchange, await run());

    // An action goes on where the client goes away: its outcome is noted all the same.
    const { replayed, ...outcome } = await lifecycle.finish(() =>
      rules.idempotency(
        {
          apiKeyId: caller.key.id,
          key: request.headers['idempotency-key'],
          parts: [endpoint.method, endpoint.path, caller.server, text],
        },
        async () => toText((await run()) as JsonReply),
      ),
    );
    if (replayed) headers.push('Idempotent-Replayed', 'true');
    return respondJson(exchange, outcome);
  } catch (error) {
    return fail(error, event, routes[0]!.endpoint);
  }
}

/** Says what is left of a limit, and throws where nothing is. */
function draw({ headers }: Exchange, verdict: Verdict): void {
  headers.push(...verdict.headers);
  if (verdict.allowed) return;
  throw new Problem('rate_limited', undefined, { headers: { 'Retry-After': String(verdict.retryAfter) } });
}

/** A CORS preflight is answered; any other method that the endpoint does not have is refused, and told which it has. */
function refuseMethod(exchange: Exchange, routes: readonly Route[], isKeyed: boolean): Response {
  const methods = routes.flatMap(({ endpoint: { method } }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
  const { origin, 'access-control-request-method': asked } = exchange.request.headers;
  if (exchange.request.method === 'OPTIONS' && origin !== undefined && asked !== undefined) {
    return respond(exchange, 204, Object.entries(preflightHeaders(methods, isKeyed)).flat(), null);
  }
  throw new Problem('method_not_allowed', undefined, { headers: { Allow: methods.join(', ') } });
}

function toResponse(exchange: Exchange, reply: RouteReply): Response {
  if (!('replies' in reply)) return respondJson(exchange, toText(reply));
  answerStored(exchange, reply);
  return answered;
}

function toText({ status, body }: JsonReply): { status: number; body: string } {
  return { status, body: `${JSON.stringify(body)}\n` };
}

function respondJson(exchange: Exchange, { status, body }: { status: number; body: string }): Response {
  const length = String(Buffer.byteLength(body));
  const headers = ['Content-Type', 'application/json', 'Content-Length', length, 'Cache-Control', 'no-store'];
  return respond(exchange, status, headers, body);
}

/** What h3 is given for an answer: all are written at once, in the form that costs Node.js least. */
const answered = new FastResponse(null);

function respond(exchange: Exchange, status: number, own: readonly string[], body: string | null): Response {
  answer(exchange, status, own, body);
  return answered;
}
