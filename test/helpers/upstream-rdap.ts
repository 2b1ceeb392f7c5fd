import { createUpstream, json } from './upstream.ts';
import type { OnEnd, Upstream } from './upstream.ts';

/** A stand-in for the RDAP server of a registry. */
export interface RdapUpstream extends Upstream {
  /** Its base URL, which ends with a slash. */
  readonly base: string;
  /** The registered names, in addition to the registries' own. */
  readonly taken: Set<string>;
  /** The queried names, in order. */
  queried(): string[];
}

/** Starts the stand-in. */
export async function createRdapUpstream({ onEnd }: { onEnd?: OnEnd } = {}): Promise<RdapUpstream> {
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
