import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isIP, isIPv4 } from 'node:net';
import type { BlockList } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Who sends a request. */
interface Client {
  readonly address: string;
  /** What rate limits count by: an IPv4 address, or the /64 network of an IPv6 address, which one customer has whole. */
  readonly key: string;
}

/** What every part of the server knows of a request from its first moment on. */
export interface RequestInfo {
  readonly id: string;
  readonly client: Client;
  /** When it began, by performance.now(). */
  readonly startedAt: number;
}

/** Names a request and its client. */
export type Identify = (request: IncomingMessage) => RequestInfo;

/**
 * Creates {@link Identify} for a service behind these proxies. The client is the address of the socket, or where that is
 * a trusted proxy, the right-most address of X-Forwarded-For that is not one. What stands left of it is the client's own
 * claim and never counts.
 */
export function createIdentify(trustedProxies: BlockList): Identify {
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
  return ({ headers, socket }) => ({
    id: toRequestId(headers['x-request-id']),
    client: findClient(socket.remoteAddress, headers['x-forwarded-for']),
    startedAt: performance.now(),
  });
}

/** The id of a request: the client's own where it is of 8 to 64 harmless characters, else a new UUID. */
function toRequestId(header: string | string[] | undefined): string {
  return typeof header === 'string' && /^[A-Za-z0-9._-]{8,64}$/.test(header) ? header : randomUUID();
}

/** A bare address: without brackets, port and zone, and IPv4 out of its IPv6 form. */
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
