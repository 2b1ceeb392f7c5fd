import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { connect } from 'node:net';

/** The target of a check: a URL or a TCP address. */
export interface ProbeTarget {
  /** An http or https URL to fetch. */
  readonly url?: string | undefined;
  /** `host:port` to connect to. */
  readonly tcp?: string | undefined;
}

/** The limits of a check. */
export interface ProbeOptions {
  /** For the whole check, including DNS and handshakes. */
  readonly timeoutMs: number;
  /** Aborts the check, which then fails. */
  readonly signal: AbortSignal;
}

/**
 * Checks a target once, over a new connection. Resolves to undefined if it is up, else to the reason for the log. Never
 * rejects.
 *
 * A URL is up if its status is below 400. Redirects are not followed, since their target may have its own monitor. The
 * body is not read. Certificates must be publicly trusted.
 */
export async function probe(target: ProbeTarget, { timeoutMs, signal }: ProbeOptions): Promise<string | undefined> {
  const timeout = AbortSignal.timeout(timeoutMs);
  const ended = AbortSignal.any([timeout, signal]);
  try {
    return await (target.url === undefined ? dial(target.tcp ?? '', ended) : fetchStatus(target.url, ended));
  } catch (error) {
    if (timeout.aborted) return `no answer within ${timeoutMs} ms`;
    return error instanceof Error && 'code' in error ? String(error.code) : String(error);
  }
}

/** Does not use the shared client, which rejects redirects, reads bodies and reuses connections. */
function fetchStatus(url: string, signal: AbortSignal): Promise<string | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<string | undefined>();
  const request = url.toLowerCase().startsWith('https:') ? requestHttps : requestHttp;
  const headers = { accept: '*/*', 'user-agent': 'hosting-api' };
  const running = request(url, { agent: false, headers, signal }, (response) => {
    const { statusCode: status = 0 } = response;
    resolve(status < 400 ? undefined : `status ${status}`);
    // The body is not read.
    response.destroy();
  });
  running.on('error', reject);
  // Without a listener, a response of 101 would never settle the promise.
  running.on('upgrade', (_response, socket) => {
    socket.destroy();
    resolve('status 101');
  });
  running.end();
  return promise;
}

function dial(address: string, signal: AbortSignal): Promise<undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<undefined>();
  const colon = address.lastIndexOf(':');
  const socket = connect({ host: address.slice(0, colon), port: Number(address.slice(colon + 1)), signal });
  socket.on('error', reject);
  socket.on('connect', () => {
    resolve(undefined);
    socket.destroy();
  });
  return promise;
}
