import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from '../log.ts';
import type { RequestInfo } from './identify.ts';

/** The longest part of a URL or name that a client can put into a line of the log. */
const maxText = 256;

/**
 * Where the query is logged: it names an article there. Elsewhere it may be a name that somebody wants to register, or a
 * key or token that was put where none belongs.
 */
const logsQuery = /^\/v1\/(?:blog|kb|info|plans)(?:\/[a-z]+)?\?/;

/** Writes the line of a request whose answer has ended, and with it what went wrong on our side. */
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
