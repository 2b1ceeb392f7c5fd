import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from '../log.ts';
import type { RequestInfo } from './identify.ts';

/** The maximum length of a client's text in a log line. */
const maxText = 256;

/**
 * The targets whose query is logged: there it names an article. Elsewhere it may hold a domain that a visitor wants to
 * register, or a misplaced key or token.
 */
const logsQuery = /^\/v1\/(?:blog|kb|info|plans)(?:\/[a-z]+)?\?/;

/** Logs a request whose response has ended, as an error if it failed on our side. */
export function logRequest(
  log: Logger,
  { id, client, startedAt }: RequestInfo,
  request: IncomingMessage,
  response: ServerResponse,
  failure?: unknown,
): void {
  if (failure === undefined && !log.isLevelEnabled('info')) return;
  const target = request.url!;
  const line = {
    id,
    ip: client.address,
    method: request.method,
    url: (logsQuery.test(target) ? target : target.split('?', 1)[0]!).slice(0, maxText),
    status: response.writableFinished ? response.statusCode : 499,
    ms: Math.round((performance.now() - startedAt) * 100) / 100,
    agent: request.headers['user-agent']?.slice(0, maxText),
  };
  if (failure === undefined) log.info(line, 'request');
  else log.error({ ...line, err: failure }, 'request failed');
}
