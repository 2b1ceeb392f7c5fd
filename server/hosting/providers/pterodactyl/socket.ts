import { WebSocket } from 'ws';
import { z } from 'zod';
import { parseJson } from '../../../upstream/reply.ts';

/** Why a socket is over: its close code, or the HTTP status that its handshake was answered with. */
export interface SocketEnd {
  readonly code: number;
  readonly status: number | undefined;
}

/** What a socket tells; nothing comes after `closed`. */
export interface SocketEvents {
  opened(): void;
  message(event: string, args: readonly string[]): void;
  closed(end: SocketEnd): void;
}

/** A socket to Wings. */
export interface Socket {
  send(event: 'auth' | 'send logs', args: readonly string[]): void;
  /** Closes it; it tells nothing any more. */
  end(): void;
}

/** A line is cut at 64 KiB (Wings, system/utils.go), and JSON may write a byte as six. */
const maxPayload = 1024 * 1024;

const Message = z.object({ event: z.string(), args: z.array(z.string()).nullish() });

/**
 * Opens a socket to Wings. The Origin is the panel's: Wings compares it as text, and refuses a handshake without one.
 * It pings, as proxies cut a silent connection and an offline server says nothing for hours.
 */
export function openSocket(url: string, origin: string, pingMs: number, events: SocketEvents): Socket {
  const ws = new WebSocket(url, {
    origin,
    maxPayload,
    perMessageDeflate: false,
    handshakeTimeout: 10_000,
    followRedirects: false,
  });
  let over = false;
  let alive = true;
  let status: number | undefined;
  const ping = setInterval(() => {
    if (!alive) ws.terminate();
    else if (ws.readyState === WebSocket.OPEN) {
      alive = false;
      ws.ping();
    }
  }, pingMs);
  const finish = (): boolean => {
    if (over) return false;
    over = true;
    clearInterval(ping);
    return true;
  };
  ws.on('open', () => !over && events.opened());
  ws.on('pong', () => (alive = true));
  ws.on('unexpected-response', (_, response) => {
    status = response.statusCode;
    ws.terminate();
  });
  // Always followed by `close`, which tells what matters.
  ws.on('error', () => undefined);
  ws.on('close', (code) => finish() && events.closed({ code, status }));
  ws.on('message', (data, isBinary) => {
    if (over || isBinary) return;
    const message = parseJson((data as Buffer).toString('utf8'), Message);
    if (message) events.message(message.event, message.args ?? []);
  });
  return {
    send(event, args) {
      if (ws.readyState === WebSocket.OPEN) ws.send(JSON.stringify({ event, args }));
    },
    end() {
      if (!finish()) return;
      ws.close();
      setTimeout(() => ws.terminate(), 1000).unref();
    },
  };
}
