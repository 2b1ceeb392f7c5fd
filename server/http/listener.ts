import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { H3 } from 'h3';
import { toNodeHandler } from 'srvx/node';
import { isLimited } from '#contract/endpoints.ts';
import type { Logger } from '../log.ts';
import { logExchange } from '../middleware/access-log.ts';
import type { createClientFinder } from '../middleware/client-ip.ts';
import type { createCors } from '../middleware/cors.ts';
import type { RateLimit } from '../middleware/rate-limit.ts';
import { toRequestId } from '../middleware/request-id.ts';
import { Problem } from '../problem.ts';
import type { Releases } from '../services/releases.ts';
import { keepExchange } from './exchange.ts';
import type { Exchange } from './exchange.ts';
import { renderError } from './render.ts';
import { toStoredReply } from './stored.ts';

/** What stands in front of the app. */
export interface ListenerOptions {
  readonly app: H3;
  readonly releases: Releases;
  readonly findClient: ReturnType<typeof createClientFinder>;
  readonly cors: ReturnType<typeof createCors>;
  readonly limit: RateLimit;
  readonly log: Logger;
  /** Whether the server is about to stop: connections are not kept then. */
  readonly draining: () => boolean;
}

/**
 * Creates the door to the service. Every answer gets its request id, its CORS headers and its line in the log here.
 * A request for a file of the release in its usual spelling is answered at once; all others go through the app,
 * which would answer the same, at four times the cost.
 */
export function createListener(options: ListenerOptions): RequestListener {
  const { app, releases, findClient, cors, limit, log, draining } = options;
  const handle = toNodeHandler((request) => app.fetch(request)) as unknown as (
    request: IncomingMessage,
    response: ServerResponse,
  ) => unknown;

  const answerStored = async (exchange: Exchange, common: readonly string[]): Promise<boolean> => {
    const { request, response, client } = exchange;
    const file = (request.method === 'GET' || request.method === 'HEAD') && releases.current().files.get(request.url!);
    if (!file) return false;
    const limited = isLimited(request.url!) ? (exchange.verdict = await limit(client.key)) : undefined;
    if (limited?.allowed === false) return false;
    const reply = toStoredReply(file, request.headers);
    response.writeHead(reply.status, [...common, ...(limited?.headers ?? []), ...reply.headers]);
    response.end(request.method === 'HEAD' ? undefined : reply.body);
    return true;
  };

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const id = toRequestId(request.headers['x-request-id']);
    const client = findClient(request.socket.remoteAddress, request.headers['x-forwarded-for']);
    const exchange: Exchange = { id, client, request, response };
    const common = ['X-Request-Id', id, 'X-Content-Type-Options', 'nosniff', ...cors(request.headers.origin)];
    if (draining()) common.push('Connection', 'close');
    keepExchange(exchange);
    logExchange(log, exchange);
    try {
      request.url = toOriginForm(request.url!);
      if (await answerStored(exchange, common)) return;
      for (let at = 0; at < common.length; at += 2) response.appendHeader(common[at]!, common[at + 1]!);
      await handle(request, response);
    } catch (error) {
      if (!(error instanceof Problem)) exchange.failure = error;
      if (response.headersSent) {
        response.destroy();
        return;
      }
      const { status, headers, body } = renderError(error, undefined);
      response.writeHead(status, headers).end(body);
    }
  };
  return (request, response) => void serve(request, response);
}

/** The target of a request as a path (RFC 9112 3.2); whatever host a client names there means nothing here. */
function toOriginForm(target: string): string {
  if (target.startsWith('/')) return target;
  const [, rest] = /^https?:\/\/[^/?#]*(.*)$/i.exec(target) ?? [];
  if (rest === undefined) throw new Problem('validation_error');
  return rest.startsWith('/') ? rest : `/${rest}`;
}
