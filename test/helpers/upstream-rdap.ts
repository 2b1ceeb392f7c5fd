import { createUpstream } from './upstream.ts';
import type { Answer, OnEnd, Upstream } from './upstream.ts';

/** A stand-in for the RDAP server of a registry. */
export interface RdapUpstream extends Upstream {
  /** The base of its addresses, with a slash at its end. */
  readonly base: string;
  /** The names that exist there, beside those that registries keep for themselves. */
  readonly taken: Set<string>;
  /** The names that were asked for, in order. */
  asked(): string[];
}

/** Starts the stand-in. */
export async function createRdapUpstream({ onEnd }: { onEnd?: OnEnd } = {}): Promise<RdapUpstream> {
  const taken = new Set<string>();
  const upstream = await createUpstream(({ path }) => {
    const [, name = ''] = /^\/rdap\/domain\/([a-z0-9.-]+)$/.exec(path) ?? [];
    if (taken.has(name) || /^(?:nic|bbc|nominet)\./.test(name)) return domain(name);
    return answer(404, { errorCode: 404, title: 'Not Found' });
  }, onEnd && { onEnd });
  const asked = () => upstream.seen.map(({ path }) => path.slice(path.lastIndexOf('/') + 1));
  return Object.assign(upstream, { base: `${upstream.url}/rdap/`, taken, asked });
}

function domain(name: string): Answer {
  return answer(200, { objectClassName: 'domain', ldhName: name.toUpperCase(), status: ['active'] });
}

function answer(status: number, body: unknown): Answer {
  return { status, headers: { 'content-type': 'application/rdap+json' }, body: JSON.stringify(body) };
}
