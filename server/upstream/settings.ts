import { z } from 'zod';

/** A credential for a header. The runtime's error for an invalid header value would quote the credential. */
export const Secret = z.string().regex(/^[\x21-\x7E]+$/, 'must be visible ASCII characters without spaces');

/** The base URL of an upstream, without a trailing slash: https, or http on loopback. */
export const UpstreamUrl = z.string().transform((text, context) => {
  const url = URL.parse(text);
  const plain = url && !url.username && !url.password && !url.search && !url.hash;
  if (plain && (url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname)))) {
    return (url.origin + url.pathname).replace(/\/+$/, '');
  }
  context.addIssue('must be an https:// URL without user, query and fragment (http:// only on loopback)');
  return z.NEVER;
});

/** Whether the host name of a URL is a loopback name or address. */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(hostname);
}
