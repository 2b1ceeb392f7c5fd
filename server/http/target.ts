/** Replaces a target that is neither a path nor an http URL. */
export const unreadable = '*';

/**
 * Converts a request target to a path and query (RFC 9112 3.2); the host of an absolute target is ignored. In a path with
 * invalid percent-encoding, the percent signs are escaped, so that it matches no route. Returns {@link unreadable} if the
 * target is neither a path nor an http URL.
 */
export function toOriginForm(target: string): string {
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
