import { request as requestHttp } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { RequestOptions } from 'node:https';

interface ExchangeOptions extends RequestOptions {
  readonly body?: string | undefined;
  /** Called once the connection stands. A rejection fails the exchange, and nothing is sent. */
  readonly confirm?: () => Promise<void>;
}

/**
 * Sends a request once, over a new connection. Redirects and upgrades are responses, and bodies are not decoded. Rejects
 * with the error of `confirm` or of the connection.
 */
export async function exchange(url: string | URL, options: ExchangeOptions): Promise<IncomingMessage> {
  const { body, confirm, ...given } = options;
  const { signal } = given;
  signal?.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const isSecure = new URL(url).protocol === 'https:';
  const request = (isSecure ? requestHttps : requestHttp)(url, { agent: false, ...given });
  const send = async (): Promise<void> => {
    try {
      await confirm?.();
      request.end(body);
    } catch (error) {
      request.destroy(error as Error);
    }
  };
  request.on('socket', (socket) => socket.once(isSecure ? 'secureConnect' : 'connect', () => void send()));
  request.on('upgrade', (response) => resolve(response.destroy()));
  request.on('response', resolve).on('error', reject);
  // A request that waits for a connection emits no error when aborted.
  signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
  return await promise;
}
