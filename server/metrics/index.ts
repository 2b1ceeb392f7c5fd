import type { IncomingMessage, ServerResponse } from 'node:http';
import { z } from 'zod';
import { listenOn } from '../http/listen.ts';
import { createHostCheck } from '../http/request.ts';
import type { Base } from '../lifecycle.ts';
import { integer } from '../settings.ts';
import type { SharedSettings } from '../settings.ts';
import type { MeasuredParts } from './series.ts';

/** The settings of metrics. */
export const MetricsSettings = z.object({
  METRICS_PORT: integer(0, 65_535)
    .optional()
    .describe(
      'The port of `/metrics` for Prometheus; by default, nothing is measured. Do not expose this port to the internet.',
    ),
});
type Settings = z.infer<typeof MetricsSettings> & Pick<SharedSettings, 'HOST' | 'PUBLIC_URL' | 'SERVICE_VERSION'>;

/**
 * Opens `GET /metrics` at METRICS_PORT, which stays open while the other port drains; without METRICS_PORT, nothing is
 * measured. Throws an OperatorError.
 */
export async function openMetrics({ env, log, opened }: Base<Settings>) {
  const { METRICS_PORT: port, HOST: host, SERVICE_VERSION: version } = env;
  if (port === undefined) return undefined;
  // A start without METRICS_PORT does not load the 86 files of the client.
  const [{ Registry }, { countEvents, measureProcess, measureState }] = await Promise.all([
    import('@prometheus-io/client'),
    import('./series.ts'),
  ]);
  const registry = new Registry();
  measureProcess(registry, version);
  const isOwnHost = createHostCheck(env);
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
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
    // Prometheus may scrape a container by any name; a browser of this machine arrives on loopback.
    if (/^(?:::ffff:)?127\.|^::1$/.test(request.socket.localAddress ?? '') && !isOwnHost(request)) {
      return answer(421, 'this host name does not belong to this service\n');
    }
    if (request.url?.split('?', 1)[0] !== '/metrics') return answer(404, 'not found\n');
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      return answer(405, 'method not allowed\n', { Allow: 'GET, HEAD' });
    }
    registry.metrics().then(
      (text) => answer(200, text, { 'Content-Type': registry.contentType }),
      () => answer(500, 'the metrics could not be read\n'),
    );
  };
  const server = await listenOn(listener, { host, port, setting: 'METRICS_PORT', stalledMs: 5000, idleMs: 5000 });
  opened.defer(() => server.drain(0));
  countEvents(registry, opened);
  const url = `${server.url}/metrics`;
  log.info({ url }, 'metrics');
  return {
    url,
    /** Adds the gauges that read the server at each scrape. */
    observe: (parts: MeasuredParts): void => measureState(registry, parts),
  };
}
