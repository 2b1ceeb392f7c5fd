import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FileEndpoint } from '#contract/endpoint.ts';
import { staticFiles } from '#contract/endpoints.ts';
import type { ServedFileName } from '#contract/endpoints.ts';
import { handle } from '../http/handle.ts';
import type { Route } from '../http/handle.ts';
import type { Requests } from '../http/request.ts';
import { toStoredJson, toStoredReply } from '../http/stored.ts';
import type { StoredFile } from '../http/stored.ts';
import { Problem } from '../problem.ts';
import type { Releases } from './service.ts';

/** Creates the fast path for whole files in memory, in 30 instead of 50 µs of h3; returns false for all else. */
export function createFastPath(releases: Releases, requests: Requests, isPreview: boolean) {
  return (request: IncomingMessage, response: ServerResponse): boolean => {
    const context = requests.begin(request, response);
    const { method, url: target } = request;
    const file = method === 'GET' || method === 'HEAD' ? releases.current().find(toPlainQuery(target!)) : undefined;
    if (!file || (file.hasRanges && request.headers.range !== undefined)) return false;
    const reply = toStoredReply(file, request, isPreview);
    const bytes = reply.variant && file.inMemory(reply.variant);
    if (reply.variant && !bytes) return false;
    if (file.isLimited && !requests.consume(context).allowed) return false;
    context.route = file.route;
    const headers = requests.headersOf(context, false);
    headers.push(...reply.headers);
    response.writeHead(reply.status, headers);
    response.end(bytes);
    return true;
  };
}

/** Decodes the query value of a target, if it is encoded as by `encodeURIComponent`. */
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

const emptyList = toStoredJson([]);

/** A 404 of content. Caches keep it for a moment: a dead link on a busy page would send every visitor here. */
export const cached = { headers: { 'Cache-Control': 'public, max-age=10' } };

/** The routes that serve files of the release. */
export function contentRoutes(releases: Releases) {
  const toRoute = (name: ServedFileName): Route => {
    const { path, absent, isImmutable = false }: FileEndpoint = staticFiles[name];
    return handle(name, ({ query, rest }) => {
      const [parameter] = Object.entries<string>(query);
      // The first page of /docs is at /docs/ too.
      const address = rest === '' ? path.replace(/\/\{\w+\*\}$/, '') : path.replace(/\{\w+\*?\}/, () => rest);
      const target = address + (parameter ? `?${parameter.join('=')}` : '');
      const file: StoredFile | undefined = releases.current().find(target);
      if (file) return file;
      // Every release has the list of all.
      if (absent === undefined || (absent === 'empty_list' && !parameter))
        throw new Error(`${target} is not in the release`);
      if (absent === 'empty_list') return emptyList;
      throw new Problem(absent, undefined, isImmutable ? {} : cached);
    });
  };
  const names = Object.entries(staticFiles).flatMap(([name, file]) => ('path' in file ? [name as ServedFileName] : []));
  return {
    ...(Object.fromEntries(names.map((name) => [name, toRoute(name)])) as Record<ServedFileName, Route>),
    getRoot: handle('getRoot', () => ({ to: '/docs' })),
  };
}
