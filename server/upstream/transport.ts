import type { LookupFunction } from 'node:net';
import { createFetch } from 'ofetch';
import { Agent, Headers as UpstreamHeaders, fetch as upstreamFetch } from 'undici';

/** The fetch of the undici that the agents are of: Node's own may be of another version. */
export const ofetch = createFetch({
  fetch: upstreamFetch as unknown as typeof globalThis.fetch,
  Headers: UpstreamHeaders as unknown as typeof globalThis.Headers,
});

/** How connections to an upstream are opened. */
export interface AgentOptions {
  readonly timeoutMs: number;
  readonly ca: string | undefined;
  readonly lookup: LookupFunction | undefined;
}

/** Creates connections to one upstream, which are kept alive; requests have timeouts of their own. */
export function createAgent({ timeoutMs, ca, lookup }: AgentOptions): Agent {
  return new Agent({
    connections: 32,
    connect: { timeout: timeoutMs, ...(ca !== undefined && { ca }), ...(lookup && { lookup }) },
    headersTimeout: 0,
    bodyTimeout: 0,
  });
}
