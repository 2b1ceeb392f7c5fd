import type { IncomingMessage, ServerResponse } from 'node:http';
import { isLimited } from '#contract/endpoint.ts';
import type { Requests } from '../http/request.ts';
import { toStoredReply } from '../http/stored.ts';
import type { Releases } from './service.ts';

/**
 * Creates the fast path in front of h3. It answers a GET or HEAD for a whole release file in memory, and returns false
 * for all else. h3 gives the same responses in 50 instead of 30 microseconds. A preview changes at each save.
 */
export function createFastPath(
  releases: Releases,
  requests: Requests,
  isPreview: boolean,
): (request: IncomingMessage, response: ServerResponse) => boolean {
  return (request, response) => {
    const context = requests.begin(request, response);
    const { method, url: target } = request;
    const file = method === 'GET' || method === 'HEAD' ? releases.current().find(toPlainQuery(target!)) : undefined;
    if (!file || (file.hasRanges && request.headers.range !== undefined)) return false;
    const reply = toStoredReply(file, request, isPreview);
    const bytes = reply.variant && file.inMemory(reply.variant);
    if (reply.variant && !bytes) return false;
    if (isLimited(target!) && !requests.consume(context).allowed) return false;
    context.route = file.route;
    const headers = requests.headersOf(context, false);
    headers.push(...reply.headers);
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
