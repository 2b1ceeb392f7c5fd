import type { Exchange } from '../http/exchange.ts';
import type { Logger } from '../log.ts';

/** The longest part of a URL or name that a client can put into a line of the log. */
const maxText = 256;

/**
 * Where the query is of use and nobody's secret: it names an article there. Elsewhere it may be a name that somebody
 * wants to register, or a key or token that was put where none belongs.
 */
const tellsQuery = /^\/v1\/(?:blog|kb|info|plans)(?:\/[a-z]+)?\?/;

/** Writes one line when an exchange ends, with what went wrong in it. */
export function logExchange(log: Logger, exchange: Exchange): void {
  const { id, client, request, response } = exchange;
  const started = performance.now();
  const method = request.method;
  const target = tellsQuery.test(request.url!) ? request.url! : request.url!.split('?', 1)[0]!;
  const url = target.slice(0, maxText);
  response.once('close', () => {
    if (exchange.failure === undefined && !log.isLevelEnabled('info')) return;
    const status = response.writableFinished ? response.statusCode : 499;
    const line = {
      id,
      ip: client.address,
      method,
      url,
      status,
      ms: Math.round((performance.now() - started) * 100) / 100,
      agent: request.headers['user-agent']?.slice(0, maxText),
    };
    if (exchange.failure === undefined) log.info(line, 'request');
    else log.error({ ...line, err: exchange.failure }, 'request failed');
  });
}
