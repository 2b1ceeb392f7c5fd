import type { LookupFunction } from 'node:net';
import type { Agent, Dispatcher } from 'undici';
import type { z } from 'zod';
import { problems } from '#contract/problem.ts';
import type { ProblemCode } from '#contract/problem.ts';
import { createEvent } from '../events.ts';
import { Problem } from '../problem.ts';
import { toTraceHeaders } from '../trace.ts';
import type { Trace } from '../trace.ts';

/** Options of a client. */
export interface ClientOptions {
  readonly baseUrl: string;
  /** Sent with every request; the value of `authorization` is redacted in replies and errors. */
  readonly headers: Readonly<Record<string, string>>;
  /** Other texts to redact in replies and errors: credentials that are sent in bodies. */
  readonly secrets?: readonly string[];
  /** For the whole exchange, to the last byte of the response. */
  readonly timeoutMs: number;
  /** The trusted CA certificates in PEM, instead of the public ones. */
  readonly ca?: string;
  readonly maxBytes?: number;
  /** How to treat a status from 300 to 399: as a failure (default), or as a reply that the caller handles. */
  readonly redirects?: 'fail' | 'reply';
  readonly lookup?: LookupFunction;
  /** The name under which its calls are published; default they are not. */
  readonly upstream?: string | undefined;
  /** The statuses by which the upstream refuses the credential, if not 401 alone. */
  readonly credentialStatuses?: readonly number[];
}

/** Options of one request; those that a client has too replace its own. */
export interface RequestOptions extends Partial<Pick<ClientOptions, 'maxBytes' | 'timeoutMs' | 'credentialStatuses'>> {
  /** Sent as JSON, or as a form if URLSearchParams. */
  readonly body?: Readonly<Record<string, unknown>> | URLSearchParams;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
  /** Checks that it may still be sent, less than half a second before; rejects if not. */
  readonly confirm?: (() => Promise<void>) | undefined;
  readonly trace?: Trace | undefined;
}

/** A response. Its status is from 300 to 399 only if `redirects` is `reply`. */
export interface Reply {
  readonly status: number;
  readonly statusText: string;
  readonly headers: Headers;
  /** The body as UTF-8, with credentials redacted. */
  readonly text: string;
  /** A line for the log only, with the URL and for an error status an excerpt of the body. */
  describe(): string;
}

/** An HTTP client of one upstream. */
export interface Client {
  /** Sends a request once. Throws a {@link ProviderError}: `refused` if nothing was sent, else `unknown`. */
  request(method: 'GET' | 'POST', path: string, options?: RequestOptions): Promise<Reply>;
  close(): Promise<void>;
}

/** Whether a failed request may have taken effect upstream. */
export type Outcome = 'refused' | 'unknown';

/** A failure of an upstream. The message never holds its texts, addresses or tokens. */
export class ProviderError extends Problem {
  override readonly name = 'ProviderError';
  /** `refused`: it took no effect. `unknown`: it may have taken effect (a timeout, a broken connection). */
  readonly outcome: Outcome;
  constructor(
    message: string,
    { code = 'provider_error', outcome, cause }: ErrorOptions & { readonly code?: ProblemCode; outcome: Outcome },
  ) {
    super(code, message, { cause });
    this.outcome = outcome;
  }
}

/** How long a confirmation counts. A request whose connection comes later is confirmed again. */
const confirmationMs = 500;

/** Creates a client with its own pool of keep-alive connections. */
export function createClient(client: ClientOptions): Client {
  const { baseUrl, headers, redirects = 'fail' } = client;
  const publish = client.upstream === undefined ? undefined : announceUpstream(client.upstream);
  const redact = createRedactor(client);
  let opening: ReturnType<typeof openConnections> | undefined;
  let isClosed = false;

  return {
    async request(method, path, options = {}) {
      const { body, trace, confirm, maxBytes = 1024 * 1024, timeoutMs, credentialStatuses } = { ...client, ...options };
      const url = baseUrl + path;
      const usual = { accept: 'application/json', 'user-agent': 'hosting-api', ...(trace && toTraceHeaders(trace)) };
      const { agent, ofetch } = await (opening ??= openConnections(client));
      if (isClosed) throw toRefusal('the client is closed');
      // The timeout of ofetch covers the headers only; a signal covers the body too.
      const timeout = AbortSignal.timeout(timeoutMs);
      const signal = options.signal ? AbortSignal.any([timeout, options.signal]) : timeout;
      for (;;) {
        await confirm?.();
        const { dispatcher, state } = trackSent(agent, confirm ? confirmationMs : Infinity);
        const startedAt = performance.now();
        const report = (outcome: CallOutcome, answered?: number): void =>
          publish?.(outcome, performance.now() - startedAt, { method, ...(answered && { status: answered }) });
        const fail = (outcome: CallOutcome, detail: string): ProviderError => {
          report(outcome);
          return new ProviderError(problems.provider_error.message, {
            outcome: state() === 'sent' ? 'unknown' : 'refused',
            // Not the error of ofetch: that one holds the request with its credential.
            cause: new Error(redact(`${method} ${url}: ${detail}`)),
          });
        };
        let response: Response;
        let text: string | undefined;
        try {
          response = await ofetch.raw<unknown, 'stream'>(url, {
            method,
            headers: { ...usual, ...headers, ...options.headers },
            ...(body && { body }),
            retry: false,
            redirect: 'manual',
            ignoreResponseError: true,
            responseType: 'stream',
            signal,
            dispatcher,
          });
          text = response.body ? (await collect(response.body, maxBytes))?.toString('utf8') : '';
        } catch (error) {
          if (state() === 'late' && !signal.aborted) continue;
          const lost = state() === 'sent' ? 'broken' : 'unreachable';
          throw fail(signal.aborted ? 'timeout' : lost, formatError(error));
        }
        const { status, statusText } = response;
        if (text === undefined) throw fail('invalid', `${status}, with more bytes than are read`);
        if (redirects === 'fail' && status >= 300 && status < 400) throw fail('invalid', `${status}, a redirect`);
        report(toCallOutcome(status, credentialStatuses), status);
        const redacted = redact(text);
        const excerpt = status >= 400 ? `: ${redacted.slice(0, 300)}` : '';
        const describe = (): string => redact(`${method} ${url}: ${status} ${statusText}${excerpt}`);
        return { status, statusText, headers: response.headers, text: redacted, describe };
      }
    },
    async close() {
      isClosed = true;
      await (await opening)?.agent.destroy();
    },
  };
}

/** Loads undici, which takes a third of the start time: at the first request, or in the background. */
export async function loadFetch() {
  // @ts-expect-error -- undici loads its parser at its first connection; it has no types
  const modules = [import('undici'), import('ofetch'), import('undici/lib/llhttp/llhttp_simd-wasm.js')] as const;
  return await Promise.all(modules);
}

async function openConnections({ timeoutMs, ca, lookup }: ClientOptions) {
  const [undici, { createFetch }] = await loadFetch();
  const agent = new undici.Agent({
    connections: 32,
    connect: { timeout: timeoutMs, ...(ca !== undefined && { ca }), ...(lookup && { lookup }) },
    // Each request has a timeout of its own.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  // The fetch of the package that has the agent: the undici in Node may have another version.
  const ofetch = createFetch({
    fetch: undici.fetch as unknown as typeof globalThis.fetch,
    Headers: undici.Headers as unknown as typeof globalThis.Headers,
  });
  return { agent, ofetch };
}

/**
 * Creates a dispatcher for one request, which says whether it was sent; not if its connection came too late. It rejects
 * a second request: after a 421, fetch repeats even a POST (fetch standard, "HTTP-network-or-cache fetch", step 16).
 */
function trackSent(agent: Agent, maxWaitMs: number): { dispatcher: Dispatcher; state: () => string } {
  const since = performance.now();
  let used = false;
  let state: 'waiting' | 'sent' | 'late' = 'waiting';
  const dispatcher = agent.compose((dispatch) => (options, handler) => {
    if (used) throw new Error('a request is not sent twice');
    used = true;
    return dispatch(options, {
      onRequestStart(controller, context) {
        // Called before the first byte is written.
        state = performance.now() - since > maxWaitMs ? 'late' : 'sent';
        handler.onRequestStart?.(controller, context);
        if (state === 'late') controller.abort(new Error('the connection came too late'));
      },
      onResponseStart: (...args) => handler.onResponseStart?.(...args),
      onResponseData: (...args) => handler.onResponseData?.(...args),
      onResponseEnd: (...args) => handler.onResponseEnd?.(...args),
      onResponseError: (...args) => handler.onResponseError?.(...args),
    });
  });
  return { dispatcher, state: () => state };
}

/** Collects the bytes of an answer; undefined if there are more, whose rest is not read. */
export async function collect(stream: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of stream) {
    length += chunk.length;
    if (length > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Formats an error and its causes as one line. */
function formatError(error: unknown): string {
  const parts: string[] = [];
  for (let at = error; at instanceof Error && parts.length < 5; at = at.cause) {
    const code = 'code' in at && typeof at.code === 'string' ? ` (${at.code})` : '';
    parts.push(`${at.name}: ${at.message}${code}`);
  }
  return parts.join('; ');
}

/** Creates a function that redacts credentials and their parts. Parts under 6 characters are too common to redact. */
function createRedactor({ headers, secrets = [] }: ClientOptions): (text: string) => string {
  const { authorization: value = '' } = headers;
  const credential = value.slice(value.indexOf(' ') + 1);
  const parts = [value, credential, credential.slice(credential.lastIndexOf('=') + 1), ...secrets];
  const hidden = parts.filter((secret) => secret.length >= 6);
  return (text) => hidden.reduce((redacted, secret) => redacted.replaceAll(secret, '[redacted]'), text);
}

/** The message for a command to a server that is not running. */
export const offline = 'The server must be online to receive commands';

/** Turns an error reply of an upstream into a ProviderError. Only its cause, for the log, quotes the upstream. */
export function toProviderError(
  reply: Reply,
  outcome: Outcome,
  { code = 'provider_error', message = problems[code].message }: { code?: ProblemCode; message?: string } = {},
): ProviderError {
  return new ProviderError(message, { code, outcome, cause: new Error(reply.describe()) });
}

/** Creates the error for a request that was not sent; the detail is for the log. */
export function toRefusal(detail: string, message: string = problems.provider_error.message): ProviderError {
  return new ProviderError(message, { outcome: 'refused', cause: new Error(detail) });
}

/** Parses JSON with a schema; undefined if the text is not JSON or does not match. */
export function parseJson<Schema extends z.ZodType>(text: string, schema: Schema): z.infer<Schema> | undefined {
  try {
    return schema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** Parses the JSON of a reply to a read; throws a ProviderError if its status is not 200, or the JSON does not match. */
export function parseReply<Schema extends z.ZodType>(reply: Reply, schema: Schema): z.infer<Schema> {
  const found = reply.status === 200 ? parseJson(reply.text, schema) : undefined;
  if (found === undefined) throw toProviderError(reply, 'refused');
  return found;
}

/** How a call of an upstream ended: by an answer, or by a failure to get one. */
export type CallOutcome =
  | ('ok' | 'not_found' | 'credential_refused' | 'forbidden' | 'rate_limited' | 'rejected' | 'server_error')
  | ('invalid' | 'timeout' | 'unreachable' | 'broken');

/** A call of an upstream that has ended. */
interface UpstreamCall {
  /** The name of the upstream: one of the settings or of the program. */
  readonly upstream: string;
  /** The same for all calls with one credential. */
  readonly credential: symbol;
  readonly outcome: CallOutcome;
  readonly ms: number;
  /** Undefined if it was no call of HTTP; without a status if there was no answer. */
  readonly http: { readonly method: 'GET' | 'POST'; readonly status?: number } | undefined;
}

/** The names of upstreams, once for each credential, before its first call. */
export const openedUpstreams = createEvent<string>('upstream-opened');

/** The calls of upstreams. */
export const endedCalls = createEvent<UpstreamCall>('upstream-called');

/** Announces an upstream. Returns what publishes the calls with one of its credentials. */
export function announceUpstream(upstream: string) {
  const credential = Symbol(upstream);
  openedUpstreams.publish(upstream);
  return (outcome: CallOutcome, ms: number, http?: UpstreamCall['http']): void =>
    endedCalls.publish({ upstream, credential, outcome, ms, http });
}

/** The upstreams that the program names. */
const ownNames = new Set([
  'rdap',
  'rdap-bootstrap',
  'whois',
  'das',
  'dns',
  'uptime-kuma',
  'chat',
  'whmcs',
  'fossbilling',
]);

/** The name under which the calls of a provider are counted; no provider may have a colon. */
export const nameProvider = (name: string): string => (ownNames.has(name) ? `provider:${name}` : name);

const outcomes: Readonly<Record<number, CallOutcome>> = { 403: 'forbidden', 404: 'not_found', 429: 'rate_limited' };

/** The outcome of a call that got an answer. */
function toCallOutcome(status: number, credentialStatuses: readonly number[] = [401]): CallOutcome {
  if (credentialStatuses.includes(status)) return 'credential_refused';
  if (status < 400) return 'ok';
  return outcomes[status] ?? (status < 500 ? 'rejected' : 'server_error');
}
