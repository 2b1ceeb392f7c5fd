import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isIP, isIPv4 } from 'node:net';
import type { BlockList } from 'node:net';
import ipaddr from 'ipaddr.js';
import { readTrace } from '../trace.ts';
import type { Trace } from '../trace.ts';

interface Client {
  readonly address: string;
  /** The key of rate limits: an IPv4 address, or the /64 network of an IPv6 address, which belongs to one customer. */
  readonly key: string;
}

/** The id, client and start time of a request. */
export interface RequestInfo {
  readonly id: string;
  readonly client: Client;
  readonly trace?: Trace | undefined;
  /** The start time, by performance.now(). */
  readonly startedAt: number;
}

/** Determines the id and client of a request. */
export type Identify = (request: IncomingMessage) => RequestInfo;

/** Called once, with the address of a socket that is not a trusted proxy but forwards for others. */
export type OnUntrusted = (address: string) => void;

/**
 * Creates {@link Identify} for a service behind these proxies. The client is the socket address. If that is a trusted
 * proxy, the client is the right-most address of X-Forwarded-For that is not a trusted proxy. Addresses left of it can be
 * forged, and are ignored.
 */
export function createIdentify(trustedProxies: BlockList, onUntrusted?: OnUntrusted): Identify {
  let isReported = false;
  const isTrusted = (address: string) => trustedProxies.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
  const findClient = (socketAddress = '', forwardedFor?: string | string[]): Client => {
    if (forwardedFor === undefined && isIPv4(socketAddress)) return { address: socketAddress, key: socketAddress };
    let address = normalize(socketAddress) ?? '0.0.0.0';
    if (forwardedFor === undefined || !isTrusted(address)) return toClient(address);
    for (const hop of String(forwardedFor).split(',').toReversed()) {
      const next = normalize(hop.trim());
      if (next === undefined) break;
      address = next;
      if (!isTrusted(next)) break;
    }
    return toClient(address);
  };
  const reportUntrusted = ({ headers, socket }: IncomingMessage): void => {
    if (isReported || (headers['x-forwarded-for'] ?? headers.forwarded) === undefined) return;
    const address = normalize(socket.remoteAddress ?? '');
    if (address === undefined || isTrusted(address)) return;
    isReported = true;
    onUntrusted?.(address);
  };
  return (request) => {
    const { headers, socket } = request;
    reportUntrusted(request);
    return {
      id: toRequestId(headers['x-request-id']),
      client: findClient(socket.remoteAddress, headers['x-forwarded-for']),
      trace: headers.traceparent === undefined ? undefined : readTrace(headers),
      startedAt: performance.now(),
    };
  };
}

/** The request id: the client's if it has 8 to 64 safe characters, else a new UUID. */
function toRequestId(header: string | string[] | undefined): string {
  return typeof header === 'string' && /^[A-Za-z0-9._-]{8,64}$/.test(header) ? header : randomUUID();
}

/** An address without brackets, port and zone; IPv4-mapped IPv6 becomes IPv4. */
function normalize(text: string): string | undefined {
  const bare = text
    .replace(/^\[([^\]]+)\](?::\d+)?$/, '$1')
    .replace(/^([\d.]+):\d+$/, '$1')
    .replace(/%.*$/, '');
  if (isIP(bare) !== 6) return isIP(bare) ? bare : undefined;
  const address = ipaddr.process(bare);
  return address.kind() === 'ipv4' ? address.toString() : bare;
}

function toClient(address: string): Client {
  if (isIP(address) !== 6) return { address, key: address };
  const network = ipaddr.IPv6.parse(address).parts.slice(0, 4);
  return { address, key: `${network.map((part) => part.toString(16)).join(':')}::/64` };
}
