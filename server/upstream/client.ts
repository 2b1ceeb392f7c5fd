import type { LookupFunction } from 'node:net';
import { z } from 'zod';
import { problems } from '#contract/problem.ts';
import type { ProblemCode } from '#contract/problem.ts';
import { createEvent } from '../events.ts';
import { Problem } from '../problem.ts';
import type { HeaderFields } from '../problem.ts';
import { toTraceHeaders } from '../trace.ts';
import type { Trace } from '../trace.ts';

/** Options of an upstream with one credential. */
export interface UpstreamOptions {
  /** The name in the metrics. */
  readonly name: string;
  readonly baseUrl: string;
  /** Sent with every request; the value of `authorization` is redacted in replies and errors. */
  readonly headers: Readonly<Record<string, string>>;
  /** Other texts to redact in replies and errors: credentials that are sent in bodies. */
  readonly secrets?: readonly string[];
  /** For the whole request, to the last byte of the response. */
  readonly timeoutMs: number;
  /** The trusted CA certificates in PEM, instead of the public ones. */
  readonly ca?: string | undefined;
  /** Resolves host names; default is the system resolver. */
  readonly lookup?: LookupFunction;
  readonly maxBytes?: number;
  /** How metrics count a status from 300 to 399: as a failure (default), or as a reply that the caller follows. */
  readonly redirects?: 'fail' | 'reply';
  readonly quota?: Quota | undefined;
  /** Statuses that mean a refused credential; default 401. Empty if no credential is sent. */
  readonly credentialStatuses?: readonly number[];
  /** Classifies an error of the upstream itself, by default by its status; undefined for the page of a proxy in front. */
  readonly judgeError?: (error: Omit<Reply, 'sender' | 'describe'>, byStatus: CallOutcome) => CallOutcome | undefined;
}

type Overrides = 'headers' | 'maxBytes' | 'timeoutMs' | 'credentialStatuses';

/** Options of one request, which override those of its upstream. */
export interface RequestOptions extends Partial<Pick<UpstreamOptions, Overrides>> {
  readonly signal?: AbortSignal | undefined;
  readonly trace?: Trace | undefined;
}

/** The request budget of an account. */
export interface Quota {
  /** Counts a request. Call the result with the reply, or with nothing after a failure. */
  begin(): (reply?: Pick<Reply, 'status' | 'headers'>) => void;
  readonly hasRoom: () => boolean;
  /** Throws a {@link ProviderError} unless requests other than actions have room. */
  assertRoom(): void;
  /** Counts the requests for an action of an API key. Throws `rate_limited` if the key has used its share. */
  charge(key: string, requests?: number): void;
}

/** A response. */
export interface Reply {
  readonly status: number;
  readonly statusText: string;
  readonly headers: Headers;
  /** The body as UTF-8, with credentials redacted. */
  readonly text: string;
  /** The sender of an error: the upstream itself, or a proxy or firewall in front. Undefined if unknown. */
  readonly sender: 'upstream' | 'proxy' | undefined;
  /** A line for the log only, with the URL and for an error status an excerpt of the body. */
  describe(): string;
}

/** The effect of a failed request: none, or possibly one. */
export type Outcome = 'refused' | 'unknown';

/** A failure of an upstream. The message never holds the upstream's texts, addresses or tokens. */
export class ProviderError extends Problem {
  override readonly name = 'ProviderError';
  /** `refused`: no effect. `unknown`: possibly an effect, as after a timeout or a broken connection. */
  readonly outcome: Outcome;
  /** The upstream's answer, as by {@link describeAnswer}; undefined without an answer. */
  readonly answered: string | undefined;
  constructor(
    message: string,
    options: ErrorOptions & { code?: ProblemCode; outcome: Outcome; headers?: HeaderFields; answered?: string },
  ) {
    const { code = 'provider_error', outcome, cause, headers = {}, answered } = options;
    super(code, message, { cause, headers });
    this.outcome = outcome;
    this.answered = answered;
  }
}

/** An upstream, for the clients of `actions.ts` and `reads.ts`. */
export type Upstream = ReturnType<typeof openUpstream>;

/** Opens an upstream, which prepares requests, publishes calls and redacts credentials. */
export function openUpstream(upstream: UpstreamOptions) {
  const { name, baseUrl, redirects = 'fail', quota, judgeError } = upstream;
  const publish = announceUpstream(name, upstream.credentialStatuses?.length !== 0);
  const redact = createRedactor(upstream);
  const closing = new AbortController();

  /** Begins a call, which ends by one of the returned functions. */
  const beginCall = (method: 'GET' | 'POST', url: string, credentialStatuses?: readonly number[]) => {
    const startedAt = performance.now();
    const count = quota?.begin();
    const ms = (): number => performance.now() - startedAt;
    const fail = (outcome: CallOutcome, effect: Outcome, detail: string): ProviderError => {
      count?.();
      publish(outcome, ms(), { method });
      // Not the error of the HTTP client, which holds the request with its credential.
      const cause = new Error(redact(`${method} ${url}: ${detail}`));
      return new ProviderError(problems.provider_error.message, { outcome: effect, cause });
    };
    return {
      ms,
      fail,
      cancel: () => count?.(),
      /** Throws a {@link ProviderError} for an upgrade or a body that is too large (undefined). */
      answer(head: Pick<Response, 'status' | 'statusText' | 'headers'>, bytes: Buffer | undefined): Reply {
        const { status, statusText, headers } = head;
        if (!bytes) throw fail('invalid', 'unknown', `${status}, with a body that is too large`);
        if (status < 200) throw fail('invalid', 'unknown', `${status}, an upgrade`);
        count?.({ status, headers });
        const text = redact(bytes.toString('utf8'));
        const received = { status, statusText, headers, text };
        const isRedirect = status >= 300 && status < 400;
        const byStatus = isRedirect && redirects === 'fail' ? 'invalid' : toCallOutcome(status, credentialStatuses);
        const judged = status < 400 || !judgeError ? byStatus : judgeError(received, byStatus);
        const sender = status < 400 || !judgeError ? undefined : judged ? 'upstream' : 'proxy';
        // A proxy's page says nothing about our credential.
        publish(judged ?? (status < 500 && status !== 429 ? 'rejected' : byStatus), ms(), { method, status });
        const excerpt = status >= 400 ? `: ${text.slice(0, 300)}` : '';
        const seen = describeAnswer({ status, headers, sender }, ` ${statusText}`);
        return { ...received, sender, describe: () => redact(`${method} ${url}: ${seen}${excerpt}`) };
      },
    };
  };
  const prepare = (method: 'GET' | 'POST', path: string, options: RequestOptions) => {
    if (closing.signal.aborted) throw toRefusal('the client is closed');
    const { timeoutMs, maxBytes = 1024 * 1024, credentialStatuses, trace, signal } = { ...upstream, ...options };
    const usual = { accept: 'application/json', 'user-agent': 'hosting-api', ...(trace && toTraceHeaders(trace)) };
    const ends = [AbortSignal.timeout(timeoutMs), closing.signal, ...(signal ? [signal] : [])];
    const url = baseUrl + path;
    return {
      url,
      headers: { ...usual, ...upstream.headers, ...options.headers },
      signal: AbortSignal.any(ends),
      maxBytes,
      begin: () => beginCall(method, url, credentialStatuses),
    };
  };
  /** Aborts running requests, and refuses later ones. */
  const close = async (): Promise<void> => closing.abort(new Error('the client is closed'));
  return { ...upstream, prepare, close };
}

/** Formats an error and its causes as one line. */
export function formatError(error: unknown): string {
  const parts: string[] = [];
  for (let at = error; at instanceof Error && parts.length < 5; at = at.cause) {
    const code = 'code' in at && typeof at.code === 'string' ? ` (${at.code})` : '';
    parts.push(`${at.name}: ${at.message}${code}`);
    // Of a host with several addresses: one error for each.
    if (at instanceof AggregateError) parts.push(...at.errors.slice(0, 5).map(formatError));
  }
  return parts.join('; ');
}

/** Creates a function that redacts credentials and their parts. Parts under 6 characters are too common. */
function createRedactor({ headers, secrets = [] }: UpstreamOptions): (text: string) => string {
  const { authorization: value = '' } = headers;
  const credential = value.slice(value.indexOf(' ') + 1);
  const parts = [value, credential, credential.slice(credential.lastIndexOf('=') + 1), ...secrets];
  const hidden = parts.filter((secret) => secret.length >= 6);
  return (text) => hidden.reduce((redacted, secret) => redacted.replaceAll(secret, '[redacted]'), text);
}

/** The message for a command to a server that is not running. */
export const offline = 'The server must be online to receive commands';

/** Describes the status of a reply, the target of a redirect, and a proxy as its sender. */
export function describeAnswer(reply: Pick<Reply, 'status' | 'headers' | 'sender'>, phrase = ''): string {
  const { status, headers, sender } = reply;
  const [target] = (status >= 300 && status < 400 && headers.get('location')?.split('?')) || [];
  if (target !== undefined) return `${status}${phrase}, a redirect to ${target}`;
  const password = headers.has('www-authenticate') ? ', which asks for a password' : '';
  return `${status}${phrase}${sender === 'proxy' ? ` from a proxy or firewall in front of it${password}` : ''}`;
}

/** Converts an error reply to a ProviderError. Only the cause, for the log, quotes the upstream. */
export function toProviderError(
  reply: Reply,
  outcome: Outcome,
  options: { code?: ProblemCode | undefined; message?: string | undefined; detail?: string } = {},
): ProviderError {
  const { code = 'provider_error', message = problems[code].message, detail = '' } = options;
  const wait = reply.status === 429 && reply.sender !== 'proxy' ? reply.headers.get('retry-after') : null;
  const headers: HeaderFields = wait !== null && /^\d{1,5}$/.test(wait) ? { 'Retry-After': wait } : {};
  const cause = new Error(reply.describe() + detail);
  return new ProviderError(message, { code, outcome, cause, headers, answered: describeAnswer(reply) });
}

/** Creates the error for a request that was not sent. Only the log shows the detail. */
export function toRefusal(detail: string, message: string = problems.provider_error.message, waitMs?: number) {
  const headers = waitMs === undefined ? {} : toRetryAfter(waitMs);
  return new ProviderError(message, { outcome: 'refused', cause: new Error(detail), headers });
}

/** Renders Retry-After, of at least a second. */
export const toRetryAfter = (ms: number): HeaderFields => ({
  'Retry-After': String(Math.max(1, Math.ceil(ms / 1000))),
});

/** Parses JSON with a schema; undefined if the text is no JSON or does not match. */
export function parseJson<Schema extends z.ZodType>(text: string, schema: Schema): z.infer<Schema> | undefined {
  try {
    return schema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** A number that an upstream may send as a text. */
export const ForeignNumber = z.union([
  z.number(),
  z
    .string()
    .regex(/^-?\d+(?:\.\d+)?$/)
    .pipe(z.coerce.number()),
]);

/** An integer that an upstream may send as a text. */
export const ForeignInt = ForeignNumber.pipe(z.int());

/** Creates a reader of lists. Unreadable entries are left out, and each change of their number is logged. */
export function createListReader<Schema extends z.ZodType>(schema: Schema, warn: (message: string) => void) {
  let known = 0;
  return (entries: readonly unknown[]): z.infer<Schema>[] => {
    const read = entries.map((entry) => schema.safeParse(entry));
    const faults = read.flatMap(({ error }) => error?.issues.slice(0, 1) ?? []);
    const [first] = faults;
    const at = first && `${first.path.join('.')}: ${first.message}`;
    if (first && faults.length !== known)
      warn(`${faults.length} entries of a list cannot be read (first fault: ${at})`);
    known = faults.length;
    return read.flatMap((result) => (result.success ? [result.data] : []));
  };
}

/** Parses the JSON of a reply to a read; throws a ProviderError unless the status is 200 and the JSON matches. */
export function parseReply<Schema extends z.ZodType>(
  reply: Reply,
  schema: Schema,
  options?: Parameters<typeof toProviderError>[2],
): z.infer<Schema> {
  const found = reply.status === 200 ? parseJson(reply.text, schema) : undefined;
  if (found === undefined) throw toProviderError(reply, 'refused', options);
  return found;
}

/** How a call of an upstream ended: by a class of statuses, or by a failure without a usable response. */
export type CallOutcome =
  | ('ok' | 'not_found' | 'credential_refused' | 'forbidden' | 'rate_limited' | 'conflict' | 'rejected')
  | ('server_error' | 'invalid' | 'timeout' | 'unreachable' | 'broken');

/** A finished call of an upstream. */
interface UpstreamCall {
  /** The name of the upstream, from PROVIDERS_FILE or the program. */
  readonly upstream: string;
  /** The same for all calls with one credential. */
  readonly credential: symbol;
  readonly outcome: CallOutcome;
  readonly ms: number;
  /** Undefined for other protocols; without a status if there was no response. */
  readonly http: { readonly method: 'GET' | 'POST'; readonly status?: number } | undefined;
}

/** Publishes the name of an upstream, once for each credential, before the first call. */
export const openedUpstreams = createEvent<string>('upstream-opened');

/** Publishes each finished call of an upstream. */
export const endedCalls = createEvent<UpstreamCall>('upstream-called');

/** Announces an upstream. Returns a function that publishes the calls with one credential, or without any. */
export function announceUpstream(upstream: string, hasCredential = true) {
  const credential = Symbol(upstream);
  if (hasCredential) openedUpstreams.publish(upstream);
  return (outcome: CallOutcome, ms: number, http?: UpstreamCall['http']): void =>
    endedCalls.publish({ upstream, credential, outcome, ms, http });
}

/** The upstreams whose names come from the program. */
const ownName = /^(?:rdap|rdap-bootstrap|whois|das|dns|uptime-kuma|chat|whmcs|fossbilling)$/;

/** Returns the name of a provider in the metrics. No name in PROVIDERS_FILE has a colon. */
export const nameProvider = (name: string): string => (ownName.test(name) ? `provider:${name}` : name);

const outcomes = { 401: 'forbidden', 403: 'forbidden', 404: 'not_found', 429: 'rate_limited' } as const;

/** Classifies a call by the status of its response. */
function toCallOutcome(status: number, credentialStatuses: readonly number[] = [401]): CallOutcome {
  if (credentialStatuses.includes(status)) return 'credential_refused';
  if (status < 400) return 'ok';
  return outcomes[status as 404] ?? (status < 500 ? 'rejected' : 'server_error');
}
