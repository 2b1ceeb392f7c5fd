import type { IncomingMessage, ServerResponse } from 'node:http';
import { isLimited } from '#contract/endpoint.ts';
import type { LogRequest } from '../http/access-log.ts';
import type { Cors } from '../http/cors.ts';
import type { Identify } from '../http/identify.ts';
import { toStoredReply } from '../http/stored.ts';
import type { LocalBucket } from '../token-bucket.ts';
import type { Releases } from './service.ts';

/** Dependencies of the fast path. */
export interface FastPathOptions {
  readonly releases: Releases;
  readonly identify: Identify;
  readonly cors: Cors;
  /** The rate limit of each client. */
  readonly limit: LocalBucket;
  readonly logRequest: LogRequest;
  /** In development: where /preview is rendered. */
  readonly preview?: string | undefined;
}

/**
 * Creates the fast path in front of h3. It answers a GET or HEAD for a whole release file in memory, and returns false
 * for all else. h3 gives the same responses in 50 instead of 30 microseconds.
 */
export function createFastPath(
  options: FastPathOptions,
): (request: IncomingMessage, response: ServerResponse) => boolean {
  const { releases, identify, cors, limit, logRequest, preview } = options;
  return (request, response) => {
    const { method, url: target } = request;
    const file = method === 'GET' || method === 'HEAD' ? releases.current().find(toPlainQuery(target!)) : undefined;
    if (!file || (file.hasRanges && request.headers.range !== undefined)) return false;
    const reply = toStoredReply(file, request, preview !== undefined);
    const bytes = reply.variant && file.inMemory(reply.variant);
    if (reply.variant && !bytes) return false;
    const info = identify(request);
    const headers = ['X-Request-Id', info.id, 'X-Content-Type-Options', 'nosniff'];
    if (isLimited(target!) && !limit.consume(info.client.key).allowed) return false;
    headers.push(...cors(request.headers.origin, false), ...reply.headers);
    response.on('close', () => logRequest(info, { request, response }, file));
    response.writeHead(reply.status, headers);
    response.end(bytes);
    return true;
  };
}

/** Decodes the query value of a target, if it is encoded as by `encodeURIComponent`; else returns the target. */
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
