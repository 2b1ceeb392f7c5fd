import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Registry } from '@prometheus-io/client';
import { ListenError, describeListenError } from '../http/listen.ts';

/** Where Prometheus reads the metrics. */
export interface ScrapeOptions {
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
}

/**
 * Opens the server of `GET /metrics`. It is a server of its own: its port stays open while the other one drains, and is not
 * reachable where only the other one is published. Throws a {@link ListenError}.
 */
export async function listenForScrapes(registry: Registry, { host, port }: ScrapeOptions) {
  const server = createServer({ headersTimeout: 5000, requestTimeout: 5000 }, (request, response) => {
    const answer = (status: number, body: string, headers: Readonly<Record<string, string>> = {}): void => {
      response.writeHead(status, {
        'Content-Type': 'text/plain; charset=utf-8',
        'Content-Length': Buffer.byteLength(body),
        'Cache-Control': 'no-store',
        'X-Content-Type-Options': 'nosniff',
        ...headers,
      });
      response.end(body);
    };
    if (request.url?.split('?', 1)[0] !== '/metrics') return answer(404, 'not found\n');
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      return answer(405, 'method not allowed\n', { Allow: 'GET, HEAD' });
    }
    registry.metrics().then(
      (text) => answer(200, text, { 'Content-Type': registry.contentType }),
      () => answer(500, 'the metrics could not be read\n'),
    );
  });
  try {
    await once(server.listen({ host, port }), 'listening');
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    throw new ListenError(describeListenError(code, { host, port, setting: 'METRICS_PORT' }), { cause: error });
  }
  const { address, family, port: used } = server.address() as AddressInfo;
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${used}/metrics`,
    close: async (): Promise<void> => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
