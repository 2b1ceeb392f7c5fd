import { createUpstream } from './upstream.ts';
import type { Answer, OnEnd, Upstream } from './upstream.ts';

/** The token that the stand-in accepts. */
export const hetznerToken = 'hcloud-token-0123456789abcdef';

const commands: Partial<Record<string, string>> = {
  poweron: 'start_server',
  poweroff: 'stop_server',
  shutdown: 'shutdown_server',
  reset: 'reset_server',
};

/** Starts a stand-in for the API of Hetzner Cloud, with the server 42. */
export function createHetznerUpstream({ onEnd }: { onEnd?: OnEnd } = {}): Promise<Upstream> {
  return createUpstream(({ method, path, headers, body }) => {
    if (headers.authorization !== `Bearer ${hetznerToken}`) return failure(401, 'unauthorized');
    if (method === 'GET' && path === '/v1/servers?per_page=1') return answer(200, { servers: [{ id: 42 }] });
    const [, id, verb = ''] = /^\/v1\/servers\/(\d+)\/actions\/([a-z]+)$/.exec(path) ?? [];
    const command = commands[verb];
    if (method !== 'POST' || command === undefined || id !== '42') return failure(404, 'not_found');
    if (body !== '') return failure(422, 'invalid_input');
    // Hetzner's documented samples fill `error` although nothing failed.
    const error = { code: 'action_failed', message: 'Action failed' };
    return answer(201, { action: { id: 13, command, status: 'running', progress: 0, finished: null, error } });
  }, onEnd && { onEnd });
}

/** An error in Hetzner Cloud's format. */
export function failure(status: number, code: string): Answer {
  return answer(status, { error: { code, message: `secret words about ${code}`, details: null } });
}

function answer(status: number, body: unknown): Answer {
  return { status, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
}
