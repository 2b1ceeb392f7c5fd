import type { LookupFunction } from 'node:net';
import type { Agent, Dispatcher } from 'undici';
import { problems } from '#contract/problem.ts';
import { ProviderError } from './error.ts';
import type { ofetch as Ofetch } from './transport.ts';

/** Whom a client speaks to, and how. */
export interface ClientOptions {
  /** Without a slash at its end. */
  readonly baseUrl: string;
  /** Sent with every request; the value of `authorization` is kept out of all that comes back. */
  readonly headers: Readonly<Record<string, string>>;
  /** What else is kept out of all that comes back: credentials that are sent in bodies. */
  readonly secrets?: readonly string[];
  /** For the whole exchange, to the last byte of the answer. */
  readonly timeoutMs: number;
  /** The certificates in PEM that alone are trusted, instead of the public ones. */
  readonly ca?: string;
  /** The longest body that is read, 1 MiB if left out. */
  readonly maxBytes?: number;
  /** What an answer from 300 to 399 is: a failure if left out, or a reply, where the caller decides what follows. */
  readonly redirects?: 'fail' | 'reply';
  /** Finds the addresses of a host name, the system's way if left out. */
  readonly lookup?: LookupFunction;
}

/** What one request may add. */
export interface RequestOptions {
  /** Sent as JSON; URLSearchParams as a form. */
  readonly body?: Readonly<Record<string, unknown>> | URLSearchParams;
  readonly headers?: Readonly<Record<string, string>>;
  readonly maxBytes?: number;
  readonly timeoutMs?: number;
  /** Ends the request before its own time is up: what is not sent by then is not sent. */
  readonly signal?: AbortSignal | undefined;
}

/** An answer with a status below 300 or above 399, or with any where redirects are replies. */
export interface Reply {
  readonly status: number;
  readonly statusText: string;
  readonly headers: Headers;
  /** The body as UTF-8; our credential is replaced where the upstream echoes it. */
  readonly text: string;
  /** The exchange in a line, for the log alone: it holds the upstream's address, and its words where the status is an error. */
  describe(): string;
}

/** The way to one upstream. */
export interface Client {
  /**
   * Sends a request once, and never again: no retry, no redirect. Throws a {@link ProviderError}: `refused` where
   * nothing was sent, else `unknown`.
   */
  request(method: 'GET' | 'POST', path: string, options?: RequestOptions): Promise<Reply>;
  /** Closes the connections; requests that are running are cut. */
  close(): Promise<void>;
}

const defaultMaxBytes = 1024 * 1024;

/** The words of an upstream that go into a log line at most. */
const excerptLength = 300;

/** Creates the way to an upstream, with connections of its own that are kept alive. */
export function createClient(clientOptions: ClientOptions): Client {
  const { baseUrl, headers, secrets = [], timeoutMs, ca, lookup } = clientOptions;
  const { maxBytes = defaultMaxBytes, redirects = 'fail' } = clientOptions;
  const scrub = createScrubber(headers, secrets);
  let agent: Agent | undefined;
  let closed: Promise<void> | undefined;
  // Loaded for the first request only: it takes as long as a third of the server's start.
  const open = async () => {
    const { createAgent, ofetch } = await import('./transport.ts');
    agent ??= createAgent({ timeoutMs, ca, lookup });
    if (closed) await agent.destroy();
    return { agent, ofetch };
  };
  /** One exchange with its body; the body is undefined where it is longer than allowed. */
  const send = async (url: string, method: string, options: RequestOptions, exchange: Exchange) => {
    const { signal, body } = options;
    // ofetch's own timeout ends with the headers; a signal covers the body too.
    const timeout = AbortSignal.timeout(options.timeoutMs ?? timeoutMs);
    const response = await exchange.ofetch.raw<unknown, 'stream'>(url, {
      method,
      headers: { accept: 'application/json', 'user-agent': 'hosting-api', ...headers, ...options.headers },
      ...(body && { body }),
      retry: false,
      redirect: 'manual',
      ignoreResponseError: true,
      responseType: 'stream',
      signal: signal ? AbortSignal.any([timeout, signal]) : timeout,
      dispatcher: exchange.dispatcher,
    });
    return { response, text: await readText(response, options.maxBytes ?? maxBytes) };
  };
  return {
    async request(method, path, options = {}) {
      const url = baseUrl + path;
      const { agent: connections, ofetch } = await open();
      const { dispatcher, sent } = watch(connections);
      const fail = (detail: string): ProviderError =>
        new ProviderError(problems.provider_error.message, {
          outcome: sent() ? 'unknown' : 'refused',
          // A new error rather than ofetch's: that one carries the request with its credential.
          cause: new Error(scrub(`${method} ${url}: ${detail}`)),
        });
      const { response, text } = await send(url, method, options, { ofetch, dispatcher }).catch((error: unknown) => {
        throw fail(explain(error));
      });
      const { status, statusText } = response;
      if (text === undefined) throw fail(`${status}, with more bytes than are read`);
      if (redirects === 'fail' && status >= 300 && status < 400) throw fail(`${status}, a redirect`);
      const scrubbed = scrub(text);
      const words = status >= 400 ? `: ${scrubbed.slice(0, excerptLength)}` : '';
      const describe = (): string => scrub(`${method} ${url}: ${status} ${statusText}${words}`);
      return { status, statusText, headers: response.headers, text: scrubbed, describe };
    },
    close: () => (closed ??= agent?.destroy() ?? Promise.resolve()),
  };
}

/** What one exchange goes over. */
interface Exchange {
  readonly ofetch: typeof Ofetch;
  readonly dispatcher: Dispatcher;
}

/**
 * A way to the agent for one request, which tells whether it was begun to be written. A second one is refused: after
 * a 421, fetch sends a request again by itself, also a POST (fetch standard, "HTTP-network-or-cache fetch", step 16).
 */
function watch(agent: Agent): { dispatcher: Dispatcher; sent: () => boolean } {
  let used = false;
  let sent = false;
  const dispatcher = agent.compose((dispatch) => (options, handler) => {
    if (used) throw new Error('a request is not sent twice');
    used = true;
    return dispatch(options, {
      onRequestStart(controller, context) {
        sent = true;
        handler.onRequestStart?.(controller, context);
      },
      onResponseStart: (...args) => handler.onResponseStart?.(...args),
      onResponseData: (...args) => handler.onResponseData?.(...args),
      onResponseEnd: (...args) => handler.onResponseEnd?.(...args),
      onResponseError: (...args) => handler.onResponseError?.(...args),
    });
  });
  return { dispatcher, sent: () => sent };
}

/** The body, or undefined where it is longer than allowed; the rest of it is not read then. */
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

/** An error and its causes, in a line. */
function explain(error: unknown): string {
  const parts: string[] = [];
  for (let at = error; at instanceof Error && parts.length < 5; at = at.cause) {
    const code = 'code' in at && typeof at.code === 'string' ? ` (${at.code})` : '';
    parts.push(`${at.name}: ${at.message}${code}`);
  }
  return parts.join('; ');
}

/** Removes the credentials, whole and in their parts, from a text; what is shorter than any credential is left. */
function createScrubber(
  headers: Readonly<Record<string, string>>,
  secrets: readonly string[],
): (text: string) => string {
  const credentials = Object.entries(headers).flatMap(([name, value]) => {
    if (name.toLowerCase() !== 'authorization') return [];
    const credential = value.slice(value.indexOf(' ') + 1);
    return [value, credential, credential.slice(credential.lastIndexOf('=') + 1)];
  });
  const hidden = [...credentials, ...secrets].filter((secret) => secret.length >= 6);
  return (text) => hidden.reduce((scrubbed, secret) => scrubbed.replaceAll(secret, '[redacted]'), text);
}
