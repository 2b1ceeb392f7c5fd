import { WebSocket } from 'ws';
import { GameConsoleWebsocketResponse } from '#contract/game.ts';
import { fault, ok, skipped } from '../finding.ts';
import type { Outcome } from '../finding.ts';
import type { Check, Site } from './types.ts';
import { pathOf } from './client.ts';

const passOn =
  'pass on the websocket handshake (nginx: proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; ' +
  'proxy_set_header Connection "upgrade"), and let streams be silent for a minute (proxy_read_timeout 90s)';

/** Whether websockets pass. The stream is refused, as the token is wrong; that answer is what counts. */
export const streams: Check = {
  name: 'console streams',
  async run({ base }) {
    const address = new URL(base);
    address.protocol = base.protocol === 'https:' ? 'wss:' : 'ws:';
    address.pathname = pathOf(base, '/v1/hosting/game/console/doctor/stream');
    const first = await openStream(address.href, 'doctor');
    if (first.event === 'jwt error') return ok('a wrong token is refused by the service');
    return fault(`the websocket ${first.failure ?? `answers ${first.event}`}`, passOn);
  },
};

/** Whether the address that the service gives for streams is the one that clients reach. */
export const streamAddress: Check = {
  name: 'address of streams',
  async run({ visit, base, key }) {
    if (key === undefined) return skipped('no --key-file, or no TLS to send it by');
    const headers = { Authorization: `Bearer ${key}` };
    const server = await findConsole({ visit }, headers);
    if (server === undefined) return skipped('the key may read no console');
    const seen = await visit(`/v1/hosting/game/console/${server}/websocket`, { headers });
    if (seen.status !== 200) return fault(`it is answered ${seen.status}`, 'read the log of the service');
    const { data } = GameConsoleWebsocketResponse.safeParse(seen.json());
    if (!data) return fault('the answer has another shape', 'see that the proxy changes no body');
    return tryAddress(data.websocket.socket_url, data.websocket.token, base);
  },
};

async function tryAddress(given: string, token: string, base: URL): Promise<Outcome> {
  const { protocol, host } = new URL(given);
  const expected = base.protocol === 'https:' ? 'wss:' : 'ws:';
  if (protocol !== expected || host !== base.host) {
    return fault(`clients are sent to ${protocol}//${host}`, `set PUBLIC_URL to ${base.href.replace(/\/$/, '')}`);
  }
  const first = await openStream(given, token);
  if (first.event === 'auth success') return ok('a stream opens there');
  return fault(`the websocket ${first.failure ?? `answers ${first.event}`}`, passOn);
}

async function findConsole(
  { visit }: Pick<Site, 'visit'>,
  headers: Record<string, string>,
): Promise<string | undefined> {
  const { servers = [], scopes = [] } = ((await visit('/v1/key', { headers })).json() ?? {}) as {
    servers?: readonly string[];
    scopes?: readonly string[];
  };
  if (!scopes.some((scope) => scope.startsWith('game-console:'))) return undefined;
  return servers.find((server) => server.startsWith('game:'))?.slice('game:'.length);
}

/** Opens a stream and sends a token; resolves with the first event, or with why there is none. */
function openStream(address: string, token: string): Promise<{ event?: string; failure?: string }> {
  return new Promise((resolve) => {
    const socket = new WebSocket(address, { handshakeTimeout: 10_000 });
    const timer = setTimeout(() => end({ failure: 'does not answer within 15 s' }), 15_000);
    const end = (result: { event?: string; failure?: string }): void => {
      clearTimeout(timer);
      socket.terminate();
      resolve(result);
    };
    socket.on('unexpected-response', (_request, { statusCode }) => end({ failure: `is answered ${statusCode}` }));
    socket.on('error', (error: NodeJS.ErrnoException) => end({ failure: `fails: ${error.code ?? error.message}` }));
    socket.on('close', (code) => end({ failure: `is closed with ${code}` }));
    socket.on('open', () => socket.send(JSON.stringify({ event: 'auth', args: [token] })));
    socket.on('message', (data: Buffer) => {
      try {
        end({ event: String((JSON.parse(data.toString()) as { event?: unknown }).event) });
      } catch {
        end({ failure: 'answers something else than JSON' });
      }
    });
  });
}
