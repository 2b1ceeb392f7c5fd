import { WebSocket } from 'ws';
import { z } from 'zod';
import { notAvailable, parseJson } from '../../../upstream/reply.ts';
import type { GameState } from '../types.ts';
import type { SessionEvent, WingsRequest } from './session-types.ts';

/** A socket to Wings. */
export interface Socket {
  send(event: WingsRequest, args: readonly string[]): void;
  /** Closes the socket; no events follow. */
  end(): void;
}

/** Wings truncates lines at 64 KiB (system/utils.go), and JSON may encode a byte as six. */
const maxPayload = 1024 * 1024;

/** Options of a socket. */
export interface SocketOptions {
  readonly origin: string;
  readonly pingMs: number;
  readonly report: (event: SessionEvent) => void;
  /** Called with each sign of life of Wings, after the event of a message. */
  readonly onHeard: () => void;
}

const Message = z.object({ event: z.string(), args: z.array(z.string()).nullish() });

/**
 * Opens a socket to Wings, and reports its messages as session events; the last event is `lost` or `refused`. The Origin
 * is the panel's: Wings compares it as text, and rejects a handshake without it. The socket sends pings, since proxies
 * close idle connections and an offline server sends nothing for hours.
 */
export function openSocket(url: string, { origin, pingMs, report, onHeard }: SocketOptions): Socket {
  const ws = new WebSocket(url, {
    origin,
    maxPayload,
    perMessageDeflate: false,
    handshakeTimeout: 10_000,
    followRedirects: false,
  });
  let alive = true;
  let status: number | undefined;
  const ping = setInterval(() => {
    if (!alive) ws.terminate();
    else if (ws.readyState === WebSocket.OPEN) {
      alive = false;
      ws.ping();
    }
  }, pingMs);
  ws.on('open', () => report({ type: 'opened' }));
  ws.on('pong', () => {
    alive = true;
    onHeard();
  });
  ws.on('unexpected-response', (_, response) => {
    status = response.statusCode;
    ws.terminate();
  });
  ws.on('close', (code) => {
    clearInterval(ping);
    report(toEnd(code, status));
  });
  ws.on('message', (data, isBinary) => {
    const message = isBinary ? undefined : parseJson((data as Buffer).toString('utf8'), Message);
    const event = message && toEvent(message.event, message.args?.[0] ?? '');
    if (event) report(event);
    onHeard();
  });
  // Always followed by `close`, which is handled above.
  ws.on('error', () => undefined);
  return {
    send(event, args) {
      if (ws.readyState === WebSocket.OPEN) ws.send(JSON.stringify({ event, args }));
    },
    end() {
      clearInterval(ping);
      ws.removeAllListeners().on('error', () => undefined);
      ws.close();
      setTimeout(() => ws.terminate(), 1000).unref();
    },
  };
}

const bytes = z.int().min(0).nullable().catch(null);
const Stats = z.object({
  cpu_absolute: z.number().min(0).nullable().catch(null),
  memory_bytes: bytes,
  disk_bytes: bytes,
  network: z.object({ rx_bytes: bytes, tx_bytes: bytes }).catch({ rx_bytes: null, tx_bytes: null }),
  state: z.string().optional().catch(undefined),
});

/** Converts the statistics of Wings; a value that is missing or of another type is null. */
function toStats(text: string): SessionEvent | undefined {
  const read = parseJson(text, Stats);
  if (!read) return undefined;
  const { cpu_absolute: cpu, memory_bytes, disk_bytes, network, state } = read;
  const stats = {
    cpu,
    memory_bytes,
    disk_bytes,
    network_rx_bytes: network.rx_bytes,
    network_tx_bytes: network.tx_bytes,
  };
  return { type: 'stats', stats, isOffline: state === 'offline' };
}

const states = new Set<string>(['running', 'starting', 'stopping', 'offline'] satisfies GameState[]);

/** Converts a message of Wings to a session event; undefined if it is irrelevant. */
function toEvent(event: string, text: string): SessionEvent | undefined {
  switch (event) {
    case 'auth success':
      return { type: 'accepted' };
    case 'console output':
    case 'daemon message':
      return { type: 'line', text };
    case 'status':
      return states.has(text) ? { type: 'status', status: text as GameState } : undefined;
    case 'stats':
      return toStats(text);
    case 'token expiring':
      return { type: 'expiring' };
    case 'token expired':
      return { type: 'expired', detail: event };
    case 'jwt error':
      return toTokenEvent(text);
    case 'daemon error':
      // Also sent for a token with a bad signature, instead of a jwt error.
      return { type: 'nodeFailed', detail: event };
    case 'deleted':
      return { type: 'refused', reason: 'the server was deleted', detail: event };
    case 'throttled':
      return text === 'auth' ? { type: 'throttled' } : undefined;
  }
  return undefined;
}

/** Converts a jwt error, which Wings sends after `auth`, or instead of each line after the token has expired. */
function toTokenEvent(detail: string): SessionEvent {
  if (detail.includes('connect permission')) return { type: 'denied', detail };
  return { type: !detail.includes('Error Event') && /exp|^$/.test(detail) ? 'expired' : 'rejected', detail };
}

/** Wings closes with 4409 or 4400 if the server is suspended (pterodactyl/panel#5464). */
function toEnd(code: number, status: number | undefined): SessionEvent {
  const detail = status === undefined ? `closed with ${code}` : `the handshake was answered with ${status}`;
  if (code === 4409 || code === 4400) return { type: 'refused', reason: 'the server is suspended', detail };
  if (status === 409) return { type: 'refused', reason: 'the server is not available', detail };
  // The Origin is not allowed.
  if (status === 403) return { type: 'refused', reason: notAvailable, detail };
  return { type: 'lost', detail };
}
