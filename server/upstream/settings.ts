import { z } from 'zod';

/** A credential as it goes into a header; anything else would make the runtime quote it in its error. */
export const Secret = z.string().regex(/^[\x21-\x7E]+$/, 'must be visible ASCII characters without spaces');

/** The base of an upstream, without a slash at its end: https, and http on this machine alone. */
export const UpstreamUrl = z.string().transform((text, context) => {
  const url = URL.parse(text);
  const plain = url && !url.username && !url.password && !url.search && !url.hash;
  if (plain && (url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname)))) {
    return (url.origin + url.pathname).replace(/\/+$/, '');
  }
  context.addIssue('must be an https:// URL without user, query and fragment (http:// only on loopback)');
  return z.NEVER;
});

/** Whether a host name of a URL is this machine. */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(hostname);
}
