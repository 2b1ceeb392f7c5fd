import type { IncomingMessage, ServerResponse } from 'node:http';
import type { H3 } from 'h3';
import { NodeRequest, sendNodeResponse } from 'srvx/node';
import { isLimited } from '#contract/endpoint.ts';
import type { Logger } from '../log.ts';
import { logExchange } from './access-log.ts';
import type { createClientFinder } from './client-ip.ts';
import type { createCors } from './cors.ts';
import type { RateLimit } from '../token-bucket.ts';
import { toRequestId } from './request-id.ts';
import { Problem } from '../problem.ts';
import type { Serve } from './drain.ts';
import { answer, answerStored, keepExchange } from './exchange.ts';
import type { Exchange } from './exchange.ts';
import { renderError } from './errors.ts';
import type { createStaticTable } from '../releases/serve.ts';

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
export function createListener(options: ListenerOptions): Serve {
  const { app, findFile, findClient, cors, limit, log, draining } = options;
  /** Answers with a file of the release; false where none is meant, or the client has asked for too much. */
  const answerFile = (exchange: Exchange, target: string): boolean => {
    const { request, headers, client } = exchange;
    const stored = request.method === 'GET' || request.method === 'HEAD' ? findFile(target) : undefined;
    if (!stored) return false;
    if (isLimited(target)) {
      exchange.verdict = limit(client.key, exchange.began);
      if (!exchange.verdict.allowed) return false;
      headers.push(...exchange.verdict.headers);
    }
    answerStored(exchange, stored);
    return true;
  };

  const end = (exchange: Exchange): void => {
    if (exchange.loan) exchange.loan.lender.loans -= 1;
    logExchange(log, exchange);
  };

  return (request, response) => {
    const id = toRequestId(request.headers['x-request-id']);
    const client = findClient(request.socket.remoteAddress, request.headers['x-forwarded-for']);
    const headers = ['X-Request-Id', id, 'X-Content-Type-Options', 'nosniff'];
    if (draining()) headers.push('Connection', 'close');
    const exchange: Exchange = {
      id,
      began: performance.now(),
      target: request.url!,
      client,
      request,
      response,
      headers,
      cors: cors(request.headers.origin, false),
    };
    try {
      request.url = toOriginForm(request.url!);
      if (!answerFile(exchange, request.url)) {
        keepExchange(exchange);
        ask(app, request, response).catch((error: unknown) => fail(exchange, error));
      }
    } catch (error) {
      fail(exchange, error);
    }
    return () => end(exchange);
  };
}

/** Answers what the app did not catch, and what is no request for it. */
function fail(exchange: Exchange, error: unknown): void {
  if (!(error instanceof Problem)) exchange.failure = error;
  if (exchange.response.headersSent) {
    exchange.response.destroy();
    return;
  }
  const { status, headers, body } = renderError(error, undefined);
  answer(exchange, status, Object.entries(headers).flat(), body);
}

/** The target of a request as a path (RFC 9112 3.2); whatever host a client names there means nothing here. */
function toOriginForm(target: string): string {
  if (target.startsWith('/') && !target.includes('%')) return target;
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

/** Asks the app, which answers by the exchange; what h3 returns counts only where it has answered by itself. */
async function ask(app: H3, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const returned = await app.fetch(new NodeRequest({ req: request, res: response }));
  if (!response.headersSent) await sendNodeResponse(response, returned);
}
