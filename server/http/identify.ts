import type { IncomingMessage } from 'node:http';
import type { BlockList } from 'node:net';
import { createClientFinder } from './client-ip.ts';
import type { Client } from './client-ip.ts';
import { toRequestId } from './request-id.ts';

/** What every part of the server knows of a request from its first moment on. */
export interface RequestInfo {
  readonly id: string;
  readonly client: Client;
  /** When it began, by performance.now(). */
  readonly startedAt: number;
}

/** Names a request and its client. */
export type Identify = (request: IncomingMessage) => RequestInfo;

/** Creates {@link Identify} for a service behind these proxies. */
export function createIdentify(trustedProxies: BlockList): Identify {
  const findClient = createClientFinder(trustedProxies);
  return (request) => ({
    id: toRequestId(request.headers['x-request-id']),
    client: findClient(request.socket.remoteAddress, request.headers['x-forwarded-for']),
    startedAt: performance.now(),
  });
}
