import type { LookupFunction } from 'node:net';
import { createFetch } from 'ofetch';
import { Agent, Headers as UpstreamHeaders, fetch as upstreamFetch } from 'undici';

/** ofetch over the undici package of the agents: the undici in Node may have another version. */
export const ofetch = createFetch({
  fetch: upstreamFetch as unknown as typeof globalThis.fetch,
  Headers: UpstreamHeaders as unknown as typeof globalThis.Headers,
});

/** Options of the connections to an upstream. */
export interface AgentOptions {
  readonly timeoutMs: number;
  readonly ca: string | undefined;
  readonly lookup: LookupFunction | undefined;
}

/** Creates a pool of keep-alive connections to one upstream. It sets no request timeouts: each request has its own. */
export function createAgent({ timeoutMs, ca, lookup }: AgentOptions): Agent {
  return new Agent({
    connections: 32,
    connect: { timeout: timeoutMs, ...(ca !== undefined && { ca }), ...(lookup && { lookup }) },
    headersTimeout: 0,
    bodyTimeout: 0,
  });
}
