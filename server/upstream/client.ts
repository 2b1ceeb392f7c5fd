import type { LookupFunction } from 'node:net';
import type { Agent, Dispatcher } from 'undici';
import { problems } from '#contract/problem.ts';
import { toCallOutcome } from './calls.ts';
import type { CallOutcome, OnCall } from './calls.ts';
import { toTraceHeaders } from '../trace.ts';
import type { Trace } from '../trace.ts';
import { ProviderError } from './error.ts';
import type { ofetch as Ofetch } from './transport.ts';

/** Options of a client. */
export interface ClientOptions {
  /** Without a trailing slash. */
  readonly baseUrl: string;
  /** Sent with every request; the value of `authorization` is redacted in replies and errors. */
  readonly headers: Readonly<Record<string, string>>;
  /** Other texts to redact in replies and errors: credentials that are sent in bodies. */
  readonly secrets?: readonly string[];
  /** For the whole exchange, to the last byte of the response. */
  readonly timeoutMs: number;
  /** The trusted CA certificates in PEM, instead of the public ones. */
  readonly ca?: string;
  /** The maximum length of a response body; default 1 MiB. */
  readonly maxBytes?: number;
  /** How to treat a status from 300 to 399: as a failure (default), or as a reply that the caller handles. */
  readonly redirects?: 'fail' | 'reply';
  /** Resolves host names; default getaddrinfo. */
  readonly lookup?: LookupFunction;
  readonly onCall?: OnCall | undefined;
  /** The statuses by which the upstream refuses the credential, if not 401 alone. */
  readonly credentialStatuses?: readonly number[];
}

/** Options of one request. */
export interface RequestOptions {
  /** Sent as JSON, or as a form if URLSearchParams. */
  readonly body?: Readonly<Record<string, unknown>> | URLSearchParams;
  readonly headers?: Readonly<Record<string, string>>;
  readonly maxBytes?: number;
  readonly timeoutMs?: number;
  /** The statuses by which the upstream refuses the credential for this request; default those of the client. */
  readonly credentialStatuses?: readonly number[];
  /** Aborts the request before its own timeout. */
  readonly signal?: AbortSignal | undefined;
  /** Called less than half a second before the request is sent, also if it waits for a connection; may reject. */
  readonly confirm?: Confirm | undefined;
  /** The trace of the one request for which it is sent. */
  readonly trace?: Trace | undefined;
}

/** Checks that a request may still be sent. If it rejects, the request is not sent and rejects in the same way. */
export type Confirm = () => Promise<void>;

/** A response. Its status is from 300 to 399 only if `redirects` is `reply`. */
export interface Reply {
  readonly status: number;
  readonly statusText: string;
  readonly headers: Headers;
  /** The body as UTF-8, with credentials redacted. */
  readonly text: string;
  /** A one-line summary for the log only: it holds the URL, and for an error status an excerpt of the body. */
  describe(): string;
}

/** An HTTP client of one upstream. */
export interface Client {
  /**
   * Sends a request once: no retry, no redirect. Throws a {@link ProviderError}: `refused` if nothing was sent, else
   * `unknown`.
   */
  request(method: 'GET' | 'POST', path: string, options?: RequestOptions): Promise<Reply>;
  /** Closes the connections, and aborts running requests. */
  close(): Promise<void>;
}

const defaultMaxBytes = 1024 * 1024;

/** How long a confirmation counts. A request whose connection comes later is confirmed again. */
const confirmationMs = 500;

/** The maximum length of an upstream's text in a log line. */
const excerptLength = 300;

/** Creates a client with its own pool of keep-alive connections. */
export function createClient(clientOptions: ClientOptions): Client {
  const { baseUrl, headers, secrets = [], timeoutMs, ca, lookup } = clientOptions;
  const { maxBytes = defaultMaxBytes, redirects = 'fail', onCall, credentialStatuses } = clientOptions;
  const redact = createRedactor(headers, secrets);
  let agent: Agent | undefined;
  let closed: Promise<void> | undefined;
  // Loaded at the first request: undici takes a third of the server's start time.
  const open = async () => {
    const { createAgent, ofetch } = await import('./transport.ts');
    agent ??= createAgent({ timeoutMs, ca, lookup });
    if (closed) await agent.destroy();
    return { agent, ofetch };
  };
  /** Sends a request and reads the body; the text is undefined if the body is too long. */
  const send = async (url: string, method: string, options: RequestOptions, exchange: Exchange) => {
    const { body, trace } = options;
    const usual = { accept: 'application/json', 'user-agent': 'hosting-api', ...(trace && toTraceHeaders(trace)) };
    const response = await exchange.ofetch.raw<unknown, 'stream'>(url, {
      method,
      headers: { ...usual, ...headers, ...options.headers },
      ...(body && { body }),
      retry: false,
      redirect: 'manual',
      ignoreResponseError: true,
      responseType: 'stream',
      signal: exchange.signal,
      dispatcher: exchange.dispatcher,
    });
    return { response, text: await readText(response, options.maxBytes ?? maxBytes) };
  };
  return {
    async request(method, path, options = {}) {
      const url = baseUrl + path;
      const { agent: connections, ofetch } = await open();
      // The timeout of ofetch covers the headers only; a signal covers the body too.
      const timeout = AbortSignal.timeout(options.timeoutMs ?? timeoutMs);
      const signal = options.signal ? AbortSignal.any([timeout, options.signal]) : timeout;
      const attempt = async () => {
        await options.confirm?.();
        const { dispatcher, state } = trackSent(connections, options.confirm ? confirmationMs : Infinity);
        const startedAt = performance.now();
        const report = (outcome: CallOutcome, answered?: number): void =>
          onCall?.(outcome, performance.now() - startedAt, { method, ...(answered && { status: answered }) });
        const fail = (outcome: CallOutcome, detail: string): ProviderError => {
          report(outcome);
          return new ProviderError(problems.provider_error.message, {
            outcome: state() === 'sent' ? 'unknown' : 'refused',
            // Not the error of ofetch: that one holds the request with its credential.
            cause: new Error(redact(`${method} ${url}: ${detail}`)),
          });
        };
        try {
          return { ...(await send(url, method, options, { ofetch, dispatcher, signal })), fail, report };
        } catch (error) {
          if (state() === 'late' && !signal.aborted) return undefined;
          throw fail(toFailure(signal, state()), formatError(error));
        }
      };
      let exchanged = await attempt();
      while (!exchanged) exchanged = await attempt();
      const { response, text, fail, report } = exchanged;
      const { status, statusText } = response;
      if (text === undefined) throw fail('invalid', `${status}, with more bytes than are read`);
      if (redirects === 'fail' && status >= 300 && status < 400) throw fail('invalid', `${status}, a redirect`);
      report(toCallOutcome(status, options.credentialStatuses ?? credentialStatuses), status);
      const redacted = redact(text);
      const excerpt = status >= 400 ? `: ${redacted.slice(0, excerptLength)}` : '';
      const describe = (): string => redact(`${method} ${url}: ${status} ${statusText}${excerpt}`);
      return { status, statusText, headers: response.headers, text: redacted, describe };
    },
    close: () => (closed ??= agent?.destroy() ?? Promise.resolve()),
  };
}

interface Exchange {
  readonly ofetch: typeof Ofetch;
  readonly dispatcher: Dispatcher;
  readonly signal: AbortSignal;
}

/** Whether a request waits for a connection, is sent, or got its connection too late to be sent. */
type SendState = 'waiting' | 'sent' | 'late';

/**
 * Creates a dispatcher for one request, and reports whether the request was sent. If it gets its connection too late, it is
 * not sent. The dispatcher rejects a second request: after a 421, fetch repeats even a POST (fetch standard,
 * "HTTP-network-or-cache fetch", step 16).
 */
function trackSent(agent: Agent, maxWaitMs: number): { dispatcher: Dispatcher; state: () => SendState } {
  const since = performance.now();
  let used = false;
  let state: SendState = 'waiting';
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

/** The outcome of a call that got no answer. */
function toFailure(signal: AbortSignal, state: SendState): CallOutcome {
  if (signal.aborted) return 'timeout';
  return state === 'sent' ? 'broken' : 'unreachable';
}

/** Reads the body; undefined if it is too long. The rest is not read then. */
async function readText(response: Response, maxBytes: number): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body ?? []) {
    length += chunk.length;
    if (length > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
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
function createRedactor(
  headers: Readonly<Record<string, string>>,
  secrets: readonly string[],
): (text: string) => string {
  const credentials = Object.entries(headers).flatMap(([name, value]) => {
    if (name.toLowerCase() !== 'authorization') return [];
    const credential = value.slice(value.indexOf(' ') + 1);
    return [value, credential, credential.slice(credential.lastIndexOf('=') + 1)];
  });
  const hidden = [...credentials, ...secrets].filter((secret) => secret.length >= 6);
  return (text) => hidden.reduce((redacted, secret) => redacted.replaceAll(secret, '[redacted]'), text);
}
