/** What stands for a target that is neither a path nor an http URL. */
export const unreadable = '*';

/**
 * The target of a request as a path and query (RFC 9112 3.2): the host of an absolute target means nothing here. A path
 * whose percent signs are no valid encoding means them as they are, so that it names nothing. Returns
 * {@link unreadable} for what is neither a path nor an http URL.
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
