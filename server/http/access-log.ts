import type { Exchange } from './exchange.ts';
import type { Logger } from '../log.ts';

/** The longest part of a URL or name that a client can put into a line of the log. */
const maxText = 256;

/**
 * Where the query is of use and nobody's secret: it names an article there. Elsewhere it may be a name that somebody
 * wants to register, or a key or token that was put where none belongs.
 */
const tellsQuery = /^\/v1\/(?:blog|kb|info|plans)(?:\/[a-z]+)?\?/;

/** Writes the line of an exchange that has ended, with what went wrong in it. */
export function logExchange(log: Logger, exchange: Exchange): void {
  const { id, client, request, response, target, failure } = exchange;
  if (failure === undefined && !log.isLevelEnabled('info')) return;
  const line = {
    id,
    ip: client.address,
    method: request.method,
    url: (tellsQuery.test(target) ? target : target.split('?', 1)[0]!).slice(0, maxText),
    status: response.writableFinished ? response.statusCode : 499,
    ms: Math.round((performance.now() - exchange.began) * 100) / 100,
    agent: request.headers['user-agent']?.slice(0, maxText),
  };
  if (failure === undefined) log.info(line, 'request');
  else log.error({ ...line, err: failure }, 'request failed');
}
