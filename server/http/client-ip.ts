import { isIP, isIPv4 } from 'node:net';
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
  return (socketAddress = '', forwardedFor) => {
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
}

/** A bare address: without brackets, port and zone, and IPv4 out of its IPv6 form. */
function normalize(text: string): string | undefined {
  const bare = text
    .replace(/^\[([^\]]+)\](?::\d+)?$/, '$1')
    .replace(/^([\d.]+):\d+$/, '$1')
    .replace(/%.*$/, '');
  if (isIP(bare) !== 6) return isIP(bare) ? bare : undefined;
  const groups = toGroups(bare);
  if (groups.slice(0, 5).some((group) => group !== 0) || groups[5] !== 0xffff) return bare;
  return groups
    .slice(6)
    .map((group) => `${group >> 8}.${group & 255}`)
    .join('.');
}

function toClient(address: string): Client {
  if (isIP(address) !== 6) return { address, key: address };
  const network = toGroups(address)
    .slice(0, 4)
    .map((group) => group.toString(16));
  return { address, key: `${network.join(':')}::/64` };
}

/** The eight numbers of an IPv6 address. */
function toGroups(address: string): number[] {
  const [head = [], tail = []] = address
    .replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, a, b, c, d) => {
      return [Number(a) * 256 + Number(b), Number(c) * 256 + Number(d)].map((group) => group.toString(16)).join(':');
    })
    .split('::')
    .map((part) => part.split(':').filter(Boolean));
  const gap = Array.from({ length: 8 - head.length - tail.length }, () => '0');
  return [...head, ...gap, ...tail].map((group) => Number.parseInt(group, 16));
}
