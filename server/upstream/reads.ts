import { createFetch, fetch } from 'ofetch';
import type { FetchOptions } from 'ofetch';
import type { Agent as UndiciAgent } from 'undici';
// The agent alone: all of undici would make each start 20 ms slower.
// @ts-expect-error -- undici has no type declarations for this file.
import UntypedAgent from 'undici/lib/dispatcher/agent.js';
// undici would load its parser at the first connection: a deploy may have replaced the files by then.
// oxlint-disable-next-line no-unassigned-import
import 'undici/lib/llhttp/llhttp_simd-wasm.js';
import { collect } from '#common/streams.ts';
import { formatError } from './client.ts';
import type { Reply, RequestOptions, Upstream } from './client.ts';

const Agent = UntypedAgent as typeof UndiciAgent;

export interface ReadOptions extends RequestOptions {
  /** Sent as JSON, or as a form if URLSearchParams. */
  readonly body?: Readonly<Record<string, unknown>> | URLSearchParams;
  /** Retry once after a temporary failure; default true. */
  readonly retry?: boolean;
  /** Keep only about this many bytes of the end of the body. */
  readonly tailBytes?: number;
  /** Part of an action, so the budget that is kept for actions applies. */
  readonly isPartOfAction?: boolean;
}

/** A client for requests that change nothing upstream. */
export type ReadClient = ReturnType<typeof createReadClient>;

/** ofetch treats a failure without a response as a 500. */
const retryStatusCodes = [500, 502, 503, 504];

/** A slower upstream is overloaded: a retry would take a second worker from others. */
const maxRetriedMs = 4000;

/** Names and codes of failures after a request was sent. */
const brokenCauses = new Set(['HTTPParserError', 'UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']);

/** Creates a client for reads, with keep-alive connections. */
export function createReadClient({ timeoutMs, ca, lookup, quota, prepare, close }: Upstream) {
  // Node's fetch takes a CA or a look-up only from an agent of undici.
  const dispatcher =
    ca !== undefined || lookup ? new Agent({ connect: { timeout: timeoutMs, ca, lookup } }) : undefined;
  return {
    /** Sends a request, and retries it once after a lost connection, 500, 502, 503 or 504. Throws a ProviderError. */
    async request(method: 'GET' | 'POST', path: string, options: ReadOptions = {}): Promise<Reply> {
      const { url, headers, signal, maxBytes, begin } = prepare(method, path, options);
      let call: ReturnType<typeof begin>;
      let hasStatus = false;
      let bytes: Buffer | undefined;
      let reply: Reply | undefined;
      const mayRetry = ({ retry }: Pick<FetchOptions, 'retry'>): boolean =>
        Boolean(retry) && !signal.aborted && call.ms() < maxRetriedMs && (quota?.hasRoom() ?? true);
      const ofetch = createFetch({
        async fetch(request, init) {
          hasStatus = false;
          const response = await fetch(request, init);
          hasStatus = true;
          // Here, because ofetch retries no connection that breaks in the body.
          bytes = await collect(response.body ?? [], maxBytes, options.tailBytes);
          return response;
        },
      });
      await ofetch.raw(url, {
        method,
        headers,
        ...(options.body && { body: options.body }),
        ...(dispatcher && { dispatcher }),
        signal,
        redirect: 'manual',
        responseType: 'stream',
        retry: options.retry === false ? false : 1,
        retryStatusCodes,
        onRequest() {
          if (!options.isPartOfAction) quota?.assertRoom();
          call = begin();
        },
        onRequestError({ error, options: attempt }) {
          const isBroken = hasStatus || isBrokenConnection(error);
          const lost = isBroken ? 'broken' : 'unreachable';
          const effect = isBroken || signal.aborted ? 'unknown' : 'refused';
          const failure = call.fail(signal.aborted ? 'timeout' : lost, effect, formatError(error));
          if (!mayRetry(attempt)) throw failure;
        },
        onResponse({ response, options: attempt }) {
          reply = call.answer(response, bytes);
          // Other statuses are replies too, and no errors.
          attempt.ignoreResponseError =
            !mayRetry(attempt) || !retryStatusCodes.includes(reply.status) || reply.sender === 'upstream';
        },
      });
      return reply!;
    },
    close,
  };
}

/** Tests whether an established connection broke. */
function isBrokenConnection({ cause }: Error): boolean {
  if (!(cause instanceof Error)) return false;
  return brokenCauses.has(cause.name) || ('code' in cause && brokenCauses.has(String(cause.code)));
}
