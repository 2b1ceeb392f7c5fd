import { once } from 'node:events';
import pLimit from 'p-limit';
import { WebSocket } from 'ws';
import type { Logger } from '../../../log.ts';
import { createLru } from '../../../lru.ts';
import { formatError } from '../../../upstream/client.ts';

/** Wings truncates lines at 64 KiB (system/utils.go); in JSON, a byte takes at most six. */
const maxPayload = 1024 * 1024;
const limits = { maxPayload, perMessageDeflate: false, handshakeTimeout: 10_000, closeTimeout: 1000 };
/** The handshakes with one node at a time. */
const maxHandshakes = 5;
const logEveryMs = 60_000;
/** Failed handshakes need a new token after this time, and then less often: the server may have moved. */
const tokenAfterMs = 60_000;
const tokenEveryMs = 300_000;

/** A handshake that a node did not accept; without a status, the node did not answer. */
export type HandshakeError = Error & { readonly status: number | undefined };
const toHandshakeError = (message: string, status?: number): HandshakeError =>
  Object.assign(new Error(message), { status });

/** The websockets of a panel's nodes. */
export type NodeSockets = ReturnType<typeof createNodeSockets>;

/** Creates {@link NodeSockets} of a panel, with the addresses of servers and the Origins that nodes accept. */
export function createNodeSockets(panelUrl: string, log: Pick<Logger, 'warn'>, now: () => number) {
  /** The addresses of servers, and when the next handshake needs a new token first. */
  const addresses = createLru<string, { readonly url: string; readonly tokenAt: number }>(10_000);
  const nodes = createLru<string, ReturnType<typeof createNode>>(1000, { memoMethod: createNode });
  /** The address of the panel in its tokens, which nodes compare with the Origin. */
  let issuer = panelUrl;

  const findNode = (url: string): ReturnType<typeof createNode> => nodes.memo(new URL(url).host);
  const tryOrigins = async (url: string, signal: AbortSignal): Promise<WebSocket> => {
    const node = findNode(url);
    const slash = issuer.endsWith('/') ? issuer.slice(0, -1) : `${issuer}/`;
    const origins = [...new Set([node.origin ?? issuer, issuer, slash, panelUrl])];
    for (const origin of origins) {
      try {
        const websocket = await shakeHands(url, origin, signal);
        node.origin = origin;
        return websocket;
      } catch (error) {
        if ((error as HandshakeError).status !== 403) throw error;
      }
    }
    throw toHandshakeError(`403 for the Origin ${origins.join(', ')}`, 403);
  };
  /** Logs why a node accepts no sockets, once a minute, with the number of consoles that wait for the node. */
  const report = (ref: string, url: string, { message }: Error): void => {
    const node = findNode(url);
    node.waiting.add(ref);
    if (now() - node.loggedAt < logEveryMs) return;
    const { host } = new URL(url);
    log.warn({ node: host, detail: message, consoles: node.waiting.size }, 'the console of a node cannot be opened');
    node.loggedAt = now();
    node.waiting.clear();
  };
  return {
    /** Finds the address of a server; undefined if a new token is needed first. */
    find(ref: string): string | undefined {
      const { url, tokenAt = -Infinity } = addresses.get(ref) ?? {};
      return now() < tokenAt ? url : undefined;
    },
    /** Remembers the address of a server, and the panel's own address, from a new token. */
    remember(ref: string, url: string, iss: string | undefined): void {
      const { tokenAt = Infinity } = addresses.get(ref) ?? {};
      addresses.set(ref, { url, tokenAt: tokenAt === Infinity ? Infinity : now() + tokenEveryMs });
      issuer = iss ?? issuer;
    },
    /** Opens a websocket, at most 5 of a node at a time. Throws a {@link HandshakeError}. */
    async open(ref: string, url: string, signal: AbortSignal): Promise<WebSocket> {
      try {
        const websocket = await findNode(url).limit(() => tryOrigins(url, signal));
        addresses.set(ref, { url, tokenAt: Infinity });
        return websocket;
      } catch (thrown) {
        const error = thrown as HandshakeError;
        if (signal.aborted) throw error;
        const { tokenAt = Infinity } = addresses.get(ref) ?? {};
        const next = tokenAt === Infinity ? now() + tokenAfterMs : tokenAt;
        // 404: the server is not on this node.
        addresses.set(ref, { url, tokenAt: error.status === 404 ? -Infinity : next });
        report(ref, url, error);
        throw error;
      }
    },
  };
}

const createNode = () => ({
  limit: pLimit(maxHandshakes),
  /** The last accepted Origin. */
  origin: undefined as string | undefined,
  /** Servers whose handshakes failed since the last log line. */
  waiting: new Set<string>(),
  loggedAt: -Infinity,
});

/** Opens a websocket. Throws a {@link HandshakeError}. */
async function shakeHands(url: string, origin: string, signal: AbortSignal): Promise<WebSocket> {
  signal.throwIfAborted();
  const websocket = new WebSocket(url, { origin, ...limits });
  let status: number | undefined;
  websocket.on('unexpected-response', (_, response) => {
    status = response.statusCode;
    websocket.terminate();
  });
  // Stays, as an error without a listener would end the process.
  websocket.on('error', () => undefined);
  try {
    await once(websocket, 'open', { signal });
    return websocket;
  } catch (error) {
    websocket.terminate();
    throw toHandshakeError(status ? `the handshake was answered with ${status}` : formatError(error), status);
  }
}
