import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { connect } from 'node:net';

/** What is checked: one of the two. */
export interface ProbeTarget {
  /** An http or https URL to fetch. */
  readonly url?: string | undefined;
  /** `host:port` to connect to. */
  readonly tcp?: string | undefined;
}

/** The bounds of a check. */
export interface ProbeOptions {
  /** For the whole check, name look-up and handshakes included. */
  readonly timeoutMs: number;
  /** Ends the check early; it has failed then. */
  readonly signal: AbortSignal;
}

/**
 * Checks once, over a connection of its own, whether a part of the platform answers. Resolves to the reason where it does
 * not, which is for the log, and to undefined where it does. Never rejects.
 *
 * A URL answers where its status is below 400: a redirect is an answer too, and is not followed, since what it leads to
 * may be a monitor of its own. The body is not read. An https certificate must be one that browsers accept.
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

/** The shared client refuses redirects and reads bodies; here the status alone counts, and the connection must be new. */
function fetchStatus(url: string, signal: AbortSignal): Promise<string | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<string | undefined>();
  const request = url.toLowerCase().startsWith('https:') ? requestHttps : requestHttp;
  const headers = { accept: '*/*', 'user-agent': 'hosting-api' };
  const running = request(url, { agent: false, headers, signal }, (response) => {
    const { statusCode: status = 0 } = response;
    resolve(status < 400 ? undefined : `status ${status}`);
    // A body of any size is left where it is.
    response.destroy();
  });
  running.on('error', reject);
  // Without a listener, an answer of 101 would end neither way.
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
