import { createUpstream, json } from './upstream.ts';
import type { OnEnd } from './upstream.ts';

/** A stand-in for the RDAP server of a registry. */
export type RdapUpstream = Awaited<ReturnType<typeof createRdapUpstream>>;

/** Starts the stand-in, with its base URL, the names taken besides the registries' own, and those queried in order. */
export async function createRdapUpstream({ onEnd }: { onEnd?: OnEnd } = {}) {
  const taken = new Set<string>();
  const upstream = await createUpstream(
    ({ path }) => {
      const [, name = ''] = /^\/rdap\/domain\/([a-z0-9.-]+)$/.exec(path) ?? [];
      const isRegistered = taken.has(name) || /^(?:nic|bbc|nominet)\./.test(name);
      const found = { objectClassName: 'domain', ldhName: name.toUpperCase(), status: ['active'] };
      const body = isRegistered ? found : { errorCode: 404, title: 'Not Found' };
      return json(isRegistered ? 200 : 404, body, 'application/rdap+json');
    },
    { onEnd },
  );
  const queried = () => upstream.seen.map(({ path }) => path.slice(path.lastIndexOf('/') + 1));
  return Object.assign(upstream, { base: `${upstream.url}/rdap/`, taken, queried });
}
