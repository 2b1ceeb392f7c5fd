import { createUpstream, json } from './upstream.ts';
import type { OnEnd } from './upstream.ts';

/** Creates a domain object in RDAP format (RFC 9083 §5.3). */
export function toDomainObject(name: string, changes: Readonly<Record<string, unknown>> = {}): object {
  return { objectClassName: 'domain', ldhName: name, status: ['active'], ...changes };
}

/**
 * Starts a stand-in for a registry's RDAP server. Returns its base URL, the taken names, and the queried names in
 * order. Without `names`, the names that verify a registry are taken too.
 */
export async function createRdapUpstream({ names, onEnd }: { names?: readonly string[]; onEnd?: OnEnd } = {}) {
  const taken = new Set(names);
  const toName = (path: string) => path.slice(path.lastIndexOf('/') + 1);
  const upstream = await createUpstream(
    ({ path }) => {
      const name = toName(path);
      const isRegistered = taken.has(name) || (!names && /^(?:nic|bbc|nominet)\./.test(name));
      const body = isRegistered ? toDomainObject(name.toUpperCase()) : { errorCode: 404, title: 'Not Found' };
      return json(isRegistered ? 200 : 404, body, 'application/rdap+json');
    },
    { onEnd },
  );
  const queried = () => upstream.seen.map(({ path }) => toName(path));
  return Object.assign(upstream, { base: `${upstream.url}/rdap/`, taken, queried });
}
