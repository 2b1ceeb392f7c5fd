import { lookup } from 'node:dns';
import { BlockList, isIP } from 'node:net';
import type { LookupFunction } from 'node:net';
import { isLoopback } from './settings.ts';

/** Addresses that no registry has: this machine, private networks, and what is reserved (RFC 6890). */
const notPublic = new BlockList();
for (const [network, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
] as const) {
  notPublic.addSubnet(network, prefix, 'ipv4');
}
// Addresses of IPv4 within IPv6 (::ffff:0:0/96) are found by the list above; a rule for them would meet all of IPv4.
for (const [network, prefix] of [
  ['::', 96],
  ['2001:db8::', 32],
  ['fc00::', 7],
  ['fe80::', 10],
  ['ff00::', 8],
] as const) {
  notPublic.addSubnet(network, prefix, 'ipv6');
}

/** Whether an address can be that of a registry. */
export function isPublicAddress(address: string): boolean {
  const version = isIP(address);
  return version !== 0 && !notPublic.check(address, version === 6 ? 'ipv6' : 'ipv4');
}

/** Whether a host of an upstream may be called by its name: a public name or loopback, and never another address. */
export function isAllowedHost(hostname: string): boolean {
  if (isLoopback(hostname)) return true;
  return hostname.includes('.') && isIP(hostname) === 0 && !hostname.startsWith('[') && !/\.\d+\.?$/.test(hostname);
}

/**
 * Whether an RDAP server may be called: https at its own port, or loopback. `from` is the URL that leads there; one
 * that is not on this machine never leads to this machine, and https never leads to http.
 */
export function isAllowedUrl(url: URL, from?: URL): boolean {
  if (url.username || url.password || !isAllowedHost(url.hostname)) return false;
  if (from?.protocol === 'https:' && url.protocol !== 'https:') return false;
  if (!isLoopback(url.hostname)) return url.protocol === 'https:' && url.port === '';
  return ['http:', 'https:'].includes(url.protocol) && (!from || isLoopback(from.hostname));
}

/** Looks a host name up as the system does, and fails where one of its addresses is not public (but for localhost). */
export const lookupPublic: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, addresses) => {
    if (error) return callback(error, []);
    if (!isLoopback(hostname) && !addresses.every(({ address }) => isPublicAddress(address))) {
      return callback(new Error(`${hostname} has an address that is not public`), []);
    }
    const [first] = addresses;
    return options.all ? callback(null, addresses) : callback(null, first?.address ?? '', first?.family);
  });
};
