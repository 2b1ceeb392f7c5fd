import type { IncomingMessage } from 'node:http';

/** Replaces the target of a request that no route may see: see {@link readTarget}. */
export const unreadable = '*';

/** The target of a request in origin form, or {@link unreadable}: HTTP/1.1 requires Host (RFC 9112 3.2). */
export function readTarget({ url, headers, httpVersion }: IncomingMessage): string {
  return headers.host === undefined && httpVersion === '1.1' ? unreadable : toOriginForm(url!);
}

/**
 * Converts a request target to a path and query (RFC 9112 3.2); the host of an absolute target is ignored. In a path with
 * invalid percent-encoding, the percent signs are escaped, so that it matches no route. Returns {@link unreadable} if the
 * target is neither a path nor an http URL.
 */
function toOriginForm(target: string): string {
  if (target.startsWith('/') && !target.includes('%')) return target;
  const [, rest] = target.startsWith('/') ? [target, target] : (/^https?:\/\/[^/?#]*(.*)$/i.exec(target) ?? []);
  if (rest === undefined) return unreadable;
  const end = rest.includes('?') ? rest.indexOf('?') : rest.length;
  const path = rest.startsWith('/') ? rest.slice(0, end) : `/${rest.slice(0, end)}`;
  return (isDecodable(path) ? path : path.replaceAll('%', '%25')) + rest.slice(end);
}

function isDecodable(path: string): boolean {
  try {
    return decodeURI(path) !== '';
  } catch {
    return false;
  }
}

/**
 * The rest of a target's path, for a pattern such as `/media/{path*}`; undefined for others. It is decoded once: generated
 * clients write its slashes as %2F. The parameter of h3 keeps %2F and %252F, so that decoding it would decode other
 * characters twice.
 */
export function readRest(target: string, pattern: string): string | undefined {
  if (!pattern.endsWith('*}')) return undefined;
  const { pathname } = new URL(target, 'http://localhost');
  return decodeURIComponent(pathname).slice(pattern.indexOf('{'));
}
