import { lookup, promises } from 'node:dns';
import type { LookupAddress } from 'node:dns';
import { isIP } from 'node:net';
import type { LookupFunction } from 'node:net';
import { callbackify } from 'node:util';
import ipaddr from 'ipaddr.js';
import { z } from 'zod';

/** A credential for a header. Checked here: the runtime's error for an invalid header quotes the value. */
export const Secret = z.string().regex(/^[\x21-\x7E]+$/, 'must be visible ASCII characters without spaces');

/** Tests for https, or http to an allowed host, by default loopback, without a user. */
function isSafe(url: URL, isHttpHost = isLoopback): boolean {
  if (url.username || url.password) return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && isHttpHost(url.hostname));
}

/** The URL of a webhook. The query may be a credential. */
export const WebhookUrl = z.string().refine((text) => {
  const url = URL.parse(text);
  return url !== null && isSafe(url);
}, 'must be an https:// URL without a user (http:// only on loopback)');

const createUrlSchema = (httpHosts: string, isHttpHost?: (hostname: string) => boolean) =>
  z.string().transform((text, context) => {
    const url = URL.parse(text);
    const isAllowed = url && isSafe(url, isHttpHost) && !url.search && !url.hash;
    if (isAllowed) return (url.origin + url.pathname).replace(/\/+$/, '');
    context.addIssue(`must be an https:// URL without user, query and fragment (http:// only ${httpHosts})`);
    return z.NEVER;
  });

/** The base URL of an upstream, without a trailing slash. */
export const UpstreamUrl = createUrlSchema('on loopback');

/** As {@link UpstreamUrl}, for an upstream that gets no credential. */
export const OpenUpstreamUrl = createUrlSchema(
  'to a name or a private address',
  (hostname) => !isPublicAddress(hostname.replaceAll(/[[\]]/g, '')),
);

/** Tests whether an address, or the host name of a URL, is loopback. */
export function isLoopback(hostname: string): boolean {
  return /^(?:localhost|::1|\[::1\]|127(?:\.\d{1,3}){3})$/.test(hostname);
}

/** The global unicast addresses of IPv6 (RFC 4291 2.4). */
const globalUnicast = ipaddr.parseCIDR('2000::/3');
/** IPv4 addresses behind NAT64 (RFC 6052). */
const nat64 = ipaddr.parseCIDR('64:ff9b::/96');

/** Tests whether an address is public: not loopback, private or reserved (RFC 6890). NAT64 counts as its IPv4 address. */
export function isPublicAddress(text: string): boolean {
  if (isIP(text) === 0) return false;
  const parsed = ipaddr.process(text);
  const isNat64 = parsed.kind() === 'ipv6' && parsed.match(nat64);
  const address = isNat64 ? new ipaddr.IPv4(parsed.toByteArray().slice(12)) : parsed;
  return address.range() === 'unicast' && (address.kind() === 'ipv4' || address.match(globalUnicast));
}

/** Tests whether a host may be queried: a public name or loopback, but no other literal address. */
export function isAllowedHost(hostname: string): boolean {
  if (isLoopback(hostname)) return true;
  return hostname.includes('.') && isIP(hostname) === 0 && !hostname.startsWith('[') && !/\.\d+\.?$/.test(hostname);
}

/**
 * Tests whether an RDAP server may be queried: https on the default port, or loopback. `from` is the referring URL: a
 * remote server must not refer to loopback, nor https to http.
 */
export function isAllowedUrl(url: URL, from?: URL): boolean {
  if (url.username || url.password || !isAllowedHost(url.hostname)) return false;
  if (from?.protocol === 'https:' && url.protocol !== 'https:') return false;
  if (!isLoopback(url.hostname)) return url.protocol === 'https:' && url.port === '';
  return ['http:', 'https:'].includes(url.protocol) && (!from || isLoopback(from.hostname));
}

/**
 * Resolves a host name; fails if any address is not public. Uses c-ares, which has a timeout: getaddrinfo blocks threads
 * of the whole process, so a registry with dead name servers would delay every panel and database.
 */
export const lookupPublic: LookupFunction = (hostname, options, callback) => {
  if (isLoopback(hostname)) return lookup(hostname, options, callback);
  resolvePublic(hostname, (error, addresses) => {
    if (error) return callback(error, []);
    const [first] = addresses;
    return options.all ? callback(null, addresses) : callback(null, first!.address, first!.family);
  });
};

const resolvePublic = callbackify(async (hostname: string): Promise<LookupAddress[]> => {
  const literal = isIP(hostname);
  const addresses = literal === 0 ? await resolve(hostname) : [{ address: hostname, family: literal }];
  if (addresses.length === 0) throw new Error(`${hostname} has no address`);
  if (addresses.every(({ address }) => isPublicAddress(address))) return addresses;
  throw new Error(`${hostname} has an address that is not public`);
});

async function resolve(hostname: string): Promise<LookupAddress[]> {
  const resolver = new promises.Resolver({ timeout: 1000, tries: 2 });
  const found = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
  const texts = found.flatMap((result) => (result.status === 'fulfilled' ? result.value : []));
  return texts.map((address) => ({ address, family: isIP(address) }));
}
