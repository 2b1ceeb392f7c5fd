import { lookup, promises } from 'node:dns';
import type { LookupAddress, LookupOptions } from 'node:dns';
import { isIP } from 'node:net';
import type { LookupFunction } from 'node:net';
import { callbackify } from 'node:util';
import ipaddr from 'ipaddr.js';
import { isLoopback } from './settings.ts';

/** The global unicast addresses of IPv6 (RFC 4291 2.4). */
const globalUnicast = ipaddr.parseCIDR('2000::/3');

/** Whether an address is public: not loopback, private or reserved (RFC 6890). */
export function isPublicAddress(text: string): boolean {
  if (isIP(text) === 0) return false;
  const address = ipaddr.process(text);
  return address.range() === 'unicast' && (address.kind() === 'ipv4' || address.match(globalUnicast));
}

/** Whether requests to a host name are allowed: a public name or loopback, and no other literal address. */
export function isAllowedHost(hostname: string): boolean {
  if (isLoopback(hostname)) return true;
  return hostname.includes('.') && isIP(hostname) === 0 && !hostname.startsWith('[') && !/\.\d+\.?$/.test(hostname);
}

/**
 * Whether requests to an RDAP server are allowed: https on the default port, or loopback. `from` is the URL that refers
 * to it: a remote one must not refer to loopback, and https must not refer to http.
 */
export function isAllowedUrl(url: URL, from?: URL): boolean {
  if (url.username || url.password || !isAllowedHost(url.hostname)) return false;
  if (from?.protocol === 'https:' && url.protocol !== 'https:') return false;
  if (!isLoopback(url.hostname)) return url.protocol === 'https:' && url.port === '';
  return ['http:', 'https:'].includes(url.protocol) && (!from || isLoopback(from.hostname));
}

/**
 * Resolves a host name, and fails if one of its addresses is not public. It uses c-ares, which has a timeout: getaddrinfo
 * blocks threads of the pool that the whole process shares, so a registry with dead name servers would delay every panel
 * and database. Only loopback names use getaddrinfo.
 */
export const lookupPublic: LookupFunction = (hostname, options, callback) => {
  if (isLoopback(hostname)) return lookup(hostname, options, callback);
  resolveThen(hostname, options.family, (error, addresses) => {
    if (error) return callback(error, []);
    const [first] = addresses;
    return options.all ? callback(null, addresses) : callback(null, first!.address, first!.family);
  });
};

const resolveThen = callbackify(async (hostname: string, family: LookupOptions['family']): Promise<LookupAddress[]> => {
  const literal = isIP(hostname);
  const resolver = new promises.Resolver({ timeout: 1000, tries: 2 });
  const [four, six] = await Promise.allSettled([
    literal !== 0 || family === 6 || family === 'IPv6' ? [] : resolver.resolve4(hostname),
    literal !== 0 || family === 4 || family === 'IPv4' ? [] : resolver.resolve6(hostname),
  ]);
  const found = (result: typeof four, version: number): LookupAddress[] =>
    result.status === 'fulfilled' ? result.value.map((address) => ({ address, family: version })) : [];
  const addresses = literal === 0 ? [...found(four, 4), ...found(six, 6)] : [{ address: hostname, family: literal }];
  if (addresses.length === 0) throw new Error(`${hostname} has no address`);
  if (addresses.every(({ address }) => isPublicAddress(address))) return addresses;
  throw new Error(`${hostname} has an address that is not public`);
});
