import { createUpstream, json } from './upstream.ts';
import type { Answer, OnEnd, Seen } from './upstream.ts';

/** The accepted token. */
export const hetznerToken = 'hcloud-token-0123456789abcdef';

/** Each action's command and resulting status. */
const commands: Partial<Record<string, readonly [command: string, status: string]>> = {
  poweron: ['start_server', 'running'],
  poweroff: ['stop_server', 'off'],
  shutdown: ['shutdown_server', 'off'],
  reset: ['reset_server', 'running'],
};

/** Starts a stand-in for the Hetzner Cloud API with the server 42, and returns the provider's settings too. */
export async function createHetznerUpstream({ onEnd }: { onEnd?: OnEnd } = {}) {
  const own = {
    /** Server status by server number. */
    servers: new Map([[42, 'running']]),
    /** Rate limit headers of the answers. */
    budget: undefined as { readonly limit: number; readonly remaining: number } | undefined,
  };
  const serve = ({ method, path, headers, body }: Seen): Answer => {
    if (headers.authorization !== `Bearer ${hetznerToken}`) return failure(401, 'unauthorized');
    const { pathname, searchParams } = new URL(path, 'http://localhost');
    if (method === 'GET' && pathname === '/v1/servers') return list(own.servers, searchParams);
    const [, id, verb = ''] = /^\/v1\/servers\/(\d+)\/actions\/([a-z]+)$/.exec(path) ?? [];
    const [command, status] = commands[verb] ?? [];
    if (method !== 'POST' || status === undefined || !own.servers.has(Number(id))) return failure(404, 'not_found');
    if (body !== '') return failure(422, 'invalid_input');
    own.servers.set(Number(id), status);
    // Hetzner's documented samples fill `error` even on success.
    const error = { code: 'action_failed', message: 'Action failed' };
    return json(201, { action: { id: 13, command, status: 'running', progress: 0, finished: null, error } });
  };
  const upstream = await createUpstream(
    (request) => {
      const served = serve(request);
      if (!own.budget) return served;
      const { limit, remaining } = own.budget;
      const headers = { 'ratelimit-limit': String(limit), 'ratelimit-remaining': String(remaining) };
      return { ...served, headers: { ...served.headers, ...headers } };
    },
    { onEnd },
  );
  const settings = { type: 'hetzner', url: `${upstream.url}/v1`, token: hetznerToken, stop: 'shutdown' } as const;
  return Object.assign(own, upstream, { settings });
}

/** A page of servers; Hetzner returns at most 50. */
function list(servers: ReadonlyMap<number, string>, parameters: URLSearchParams): Answer {
  const [page, size] = [Number(parameters.get('page') ?? 1), Math.min(Number(parameters.get('per_page') ?? 25), 50)];
  const all = [...servers].map(([id, status]) => ({ id, name: `vps-${id}`, status }));
  const last = Math.max(1, Math.ceil(all.length / size));
  const pagination = { page, per_page: size, next_page: page < last ? page + 1 : null, last_page: last };
  return json(200, { servers: all.slice((page - 1) * size, page * size), meta: { pagination } });
}

/** Creates an error in Hetzner Cloud's format. */
export function failure(status: number, code: string): Answer {
  return json(status, { error: { code, message: `secret words about ${code}`, details: null } });
}
