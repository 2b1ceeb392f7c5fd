import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from '../log.ts';
import type { RequestInfo } from './identify.ts';

/** An answered request, for those who count. */
export interface AnsweredRequest {
  /** The path of its endpoint, with the names of parameters; undefined without an endpoint. */
  readonly route: string | undefined;
  /** As sent; a client may make it up. */
  readonly method: string | undefined;
  readonly status: number;
  /** Until the end of the response; undefined for a stream, which lasts as long as its client wants. */
  readonly ms?: number;
}

/** Called for each answered request. */
export type OnAnswered = (answered: AnsweredRequest) => void;

/** Logs a request whose response has ended, as an error if it failed on our side. */
export type LogRequest = (
  info: RequestInfo,
  exchange: { readonly request: IncomingMessage; readonly response: ServerResponse },
  outcome: { readonly route: string | undefined; readonly failure?: unknown },
) => void;

/** The maximum length of a client's text in a log line. */
const maxText = 256;

/**
 * The targets whose query is logged: there it names an article. Elsewhere it may hold a domain that a visitor wants to
 * register, or a misplaced key or token.
 */
const logsQuery = /^\/v1\/(?:blog|kb|info|plans)(?:\/[a-z]+)?\?/;

/** Creates the access log. */
export function createAccessLog(log: Logger, onAnswered?: OnAnswered): LogRequest {
  return ({ id, client, trace, startedAt }, { request, response }, { route, failure }) => {
    const { method } = request;
    const status = response.writableFinished ? response.statusCode : 499;
    const ms = performance.now() - startedAt;
    onAnswered?.({ route, method, status, ms });
    if (failure === undefined && !log.isLevelEnabled('info')) return;
    const target = request.url!;
    const line = {
      id,
      trace_id: trace?.id,
      ip: client.address,
      method,
      url: (logsQuery.test(target) ? target : target.split('?', 1)[0]!).slice(0, maxText),
      status,
      ms: Math.round(ms * 100) / 100,
      agent: request.headers['user-agent']?.slice(0, maxText),
    };
    if (failure === undefined) log.info(line, 'request');
    else log.error({ ...line, err: failure }, 'request failed');
  };
}
