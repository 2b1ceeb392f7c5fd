import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { H3 } from 'h3';
import { toNodeHandler } from 'srvx/node';
import { isLimited } from '#contract/endpoint.ts';
import type { Logger } from '../log.ts';
import { logExchange } from '../middleware/access-log.ts';
import type { createClientFinder } from '../middleware/client-ip.ts';
import type { createCors } from '../middleware/cors.ts';
import type { RateLimit } from '../middleware/rate-limit.ts';
import { toRequestId } from '../middleware/request-id.ts';
import { Problem } from '../problem.ts';
import { borrow, keepExchange } from './exchange.ts';
import type { Exchange } from './exchange.ts';
import { renderError } from './render.ts';
import type { createStaticTable } from './static-table.ts';
import { toStoredReply } from './stored.ts';
import type { Stored } from './stored.ts';

/** What stands in front of the app. */
export interface ListenerOptions {
  readonly app: H3;
  readonly findFile: ReturnType<typeof createStaticTable>;
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
 * which answers the same at a higher cost.
 */
export function createListener(options: ListenerOptions): RequestListener {
  const { app, findFile, findClient, cors, limit, log, draining } = options;
  const handle = toNodeHandler((request) => app.fetch(request)) as unknown as (
    request: IncomingMessage,
    response: ServerResponse,
  ) => unknown;

  const serve = async (exchange: Exchange): Promise<void> => {
    const { request, response, headers, client } = exchange;
    try {
      request.url = toOriginForm(request.url!);
      const readable = request.method === 'GET' || request.method === 'HEAD';
      const file = readable ? findFile(request.url) : undefined;
      if (file && isLimited(request.url)) {
        exchange.verdict = limit(client.key);
        if (exchange.verdict.allowed) headers.push(...exchange.verdict.headers);
      }
      if (file && exchange.verdict?.allowed !== false) answerStored(exchange, file);
      else await handle(request, response);
    } catch (error) {
      if (!(error instanceof Problem)) exchange.failure = error;
      if (response.headersSent) {
        response.destroy();
        return;
      }
      const problem = renderError(error, undefined);
      response
        .writeHead(problem.status, [...headers, ...exchange.cors, ...Object.entries(problem.headers).flat()])
        .end(problem.body);
    }
  };

  return (request, response) => {
    const id = toRequestId(request.headers['x-request-id']);
    const client = findClient(request.socket.remoteAddress, request.headers['x-forwarded-for']);
    const headers = ['X-Request-Id', id, 'X-Content-Type-Options', 'nosniff'];
    if (draining()) headers.push('Connection', 'close');
    const exchange: Exchange = { id, client, request, response, headers, cors: cors(request.headers.origin, false) };
    keepExchange(exchange);
    logExchange(log, exchange);
    response.once('close', () => {
      if (exchange.loan) exchange.loan.lender.loans -= 1;
    });
    void serve(exchange);
  };
}

/** The target of a request as a path (RFC 9112 3.2); whatever host a client names there means nothing here. */
function toOriginForm(target: string): string {
  const [, rest] = target.startsWith('/') ? [target, target] : (/^https?:\/\/[^/?#]*(.*)$/i.exec(target) ?? []);
  if (rest === undefined) throw new Problem('validation_error');
  const end = rest.includes('?') ? rest.indexOf('?') : rest.length;
  const path = rest.startsWith('/') ? rest.slice(0, end) : `/${rest.slice(0, end)}`;
  return (isDecodable(path) ? path : path.replaceAll('%', '%25')) + rest.slice(end);
}

/** A path whose percent signs are no encoding means them as they are: it names nothing, and is answered as such. */
function isDecodable(path: string): boolean {
  if (!path.includes('%')) return true;
  try {
    return decodeURI(path) !== '';
  } catch {
    return false;
  }
}

function answerStored(exchange: Exchange, file: Stored): void {
  const { request, response, headers, cors } = exchange;
  const reply = toStoredReply(file, request.headers);
  response.writeHead(reply.status, [...headers, ...cors, ...reply.headers]);
  response.end(borrow(exchange, reply) ?? undefined);
}
