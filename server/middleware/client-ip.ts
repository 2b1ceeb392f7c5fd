import { isIP } from 'node:net';
import type { BlockList } from 'node:net';

/** Who sends a request. */
export interface Client {
  readonly address: string;
  /** What rate limits count by: an IPv4 address, or the /64 network of an IPv6 address, which one customer has whole. */
  readonly key: string;
}

/**
 * Finds the client of a request: the address of the socket, or where that is a trusted proxy, the right-most address
 * of X-Forwarded-For that is not one. What stands left of it is the client's own claim and never counts.
 */
export function createClientFinder(
  trusted: BlockList,
): (socketAddress: string | undefined, forwardedFor: string | string[] | undefined) => Client {
  const isTrusted = (address: string) => trusted.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
  return (socketAddress, forwardedFor) => {
    let address = normalize(socketAddress ?? '') ?? '0.0.0.0';
    if (forwardedFor === undefined || !isTrusted(address)) return toClient(address);
    for (const hop of String(forwardedFor).split(',').toReversed()) {
      const next = normalize(hop.trim());
      if (next === undefined) break;
      address = next;
      if (!isTrusted(next)) break;
    }
    return toClient(address);
  };
}

/** A bare address: without brackets, port and zone, and IPv4 out of its IPv6 form. */
function normalize(text: string): string | undefined {
  const bare = text
    .replace(/^\[([^\]]+)\](?::\d+)?$/, '$1')
    .replace(/^([\d.]+):\d+$/, '$1')
    .replace(/%.*$/, '')
    .replace(/^::ffff:(?=[\d.]+$)/i, '');
  return isIP(bare) ? bare : undefined;
}

function toClient(address: string): Client {
  return { address, key: isIP(address) === 6 ? networkOf(address) : address };
}

function networkOf(address: string): string {
  const [head = '', tail] = address.split('::');
  const left = head.split(':').filter(Boolean);
  const right = tail?.split(':').filter(Boolean) ?? [];
  // An IPv4 tail (64:ff9b::192.0.2.1) stands for two groups.
  const groups = left.length + right.length + (address.includes('.') ? 1 : 0);
  const all = [...left, ...Array.from({ length: 8 - groups }, () => '0'), ...right];
  return `${all
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`;
}
