import type { IncomingMessage, ServerResponse } from 'node:http';
import { isLimited } from '#contract/endpoint.ts';
import { logRequest } from '../http/access-log.ts';
import type { Cors } from '../http/cors.ts';
import type { Identify } from '../http/identify.ts';
import { toStoredReply } from '../http/stored.ts';
import type { Logger } from '../log.ts';
import type { LocalBucket } from '../token-bucket.ts';
import type { Releases } from './service.ts';

/** What the fast path answers with, and what every answer needs. */
export interface FastPathOptions {
  readonly releases: Releases;
  readonly identify: Identify;
  readonly cors: Cors;
  /** The limit on each client address. */
  readonly limit: LocalBucket;
  readonly log: Logger;
}

/**
 * Creates the fast path in front of h3: it answers a GET or HEAD for a file of the release whose bytes are in memory, and
 * returns false for everything else, which h3 answers the same at a higher cost. It saves 20 of 50 microseconds.
 */
export function createFastPath(
  options: FastPathOptions,
): (request: IncomingMessage, response: ServerResponse) => boolean {
  const { releases, identify, cors, limit, log } = options;
  return (request, response) => {
    const { method, url: target } = request;
    const file = method === 'GET' || method === 'HEAD' ? releases.current().find(toPlainQuery(target!)) : undefined;
    if (!file) return false;
    const reply = toStoredReply(file, request);
    const bytes = reply.form && file.inMemory(reply.form);
    if (reply.form && !bytes) return false;
    const info = identify(request);
    const headers = ['X-Request-Id', info.id, 'X-Content-Type-Options', 'nosniff'];
    if (isLimited(target!)) {
      const verdict = limit.consume(info.client.key);
      if (!verdict.allowed) return false;
      headers.push(...verdict.headers);
    }
    headers.push(...cors(request.headers.origin, false), ...reply.headers);
    response.on('close', () => logRequest(log, info, request, response));
    response.writeHead(reply.status, headers);
    response.end(bytes);
    return true;
  };
}

/** A target with its query value decoded, where that is encoded as `encodeURIComponent` does; else as it stands. */
function toPlainQuery(target: string): string {
  const at = target.indexOf('=') + 1;
  if (at === 0 || !target.includes('%', at)) return target;
  try {
    const value = decodeURIComponent(target.slice(at));
    return encodeURIComponent(value) === target.slice(at) ? target.slice(0, at) + value : target;
  } catch {
    return target;
  }
}
