import type { z } from 'zod';
import type { Scope, ServerAction, ServerKind } from '#contract/api-keys.ts';
import { schemas } from '#contract/primitives.ts';
import { keyProblems, problems } from '#contract/problem.ts';
import type { ErrorStyle, ProblemCode } from '#contract/problem.ts';

/** The rate limits of single endpoints. */
export type LimitName = 'domains' | 'feedback';

/** The groups of operations, as the description shows them: the servers of customers first. */
export const tags = {
  Keys: 'What an API key may do.',
  VPS: 'Power and state of virtual servers, with an API key.',
  'Game servers': 'Power, state, console and log of game servers, with an API key.',
  Activity: 'What became of the actions of an API key.',
  Service: 'The running instance: its health, its version and this description.',
  Status: 'The state of the platform, and the script that shows it on a website.',
  Blog: 'The articles of the blog.',
  'Knowledge base': 'The articles of the knowledge base, and what readers think of them.',
  Website: 'What a website needs of all articles: a sitemap, redirects.',
  Media: 'The images and other files of articles.',
  Plans: 'The plans that can be ordered.',
  Domains: 'The TLDs for sale with their prices, and the search for free domains.',
} as const;

/** An operation of the API. */
export interface Endpoint {
  readonly method: 'GET' | 'POST';
  /** The path; `{name}` is a segment, `{name*}` the rest of the path. */
  readonly path: string;
  readonly tag: keyof typeof tags;
  readonly summary: string;
  /** What a client should know beyond the summary. */
  readonly description: string;
  /** Whether it is for people with a browser; the OpenAPI document, which is for programs, leaves it out. */
  readonly isPage?: boolean;
  /** Whether the response is stored and has an ETag: in a {@link FileEndpoint} or in memory. */
  readonly stored: 'file' | 'memory' | false;
  readonly errorStyle: ErrorStyle;
  /** Whether it also answers to former paths of articles. */
  readonly hasFormerPaths?: boolean;
  /** Whether a successful response for an internationalised name has its Unicode form in a header. */
  readonly hasUnicodeName?: boolean;
  /** The query parameters; an empty value counts as missing. */
  readonly query?: z.ZodObject;
  /** The JSON body. */
  readonly body?: {
    readonly schema: z.ZodType;
    readonly required: boolean;
    /** The error for an invalid body; `validation_error` if left out. */
    readonly invalid?: ProblemCode;
    /** Whether another media type or a compressed body is an error (415). */
    readonly strict?: boolean;
  };
  /** The action that needs `force` to be true: in the query and in the body, or in one of them and not false in the other. */
  readonly confirmation?: { readonly action: string; readonly needs: 'both' | 'one' };
  /** The error for a missing required parameter or body; `validation_error` if left out. */
  readonly missing?: { readonly code: ProblemCode; readonly message?: string };
  /** The error for an invalid or repeated query parameter; `validation_error` if left out. */
  readonly malformed?: ProblemCode;
  /** An additional rate limit by client address. */
  readonly limit?: LimitName;
  /** What needs an API key: an action on a server, by the kind of server in the path and a scope of the key, or any valid key. */
  readonly access?: 'any_key' | { readonly kind: ServerKind; readonly scope: Scope; readonly action: ServerAction };
  /** Successful responses by status. */
  readonly replies: Readonly<Record<number, EndpointResponse>>;
  /** Errors in addition to 405, the 429 of {@link isLimited}, the 401 and 403 of {@link access}, and {@link failure}. */
  readonly problems: readonly ProblemCode[];
  /** The messages of errors that are not the defaults of their codes: those of errors that are thrown without one. */
  readonly messages?: Readonly<Partial<Record<ProblemCode, string>>>;
  /** The message of a 502 if the action may have been done, with `{request_id}` for the ID of its request. */
  readonly unknownOutcome?: string;
  /** The error for an unexpected failure. */
  readonly failure: ProblemCode;
}

/** Whether the rate limit by client address applies to a path; it covers every path below /v1, also unknown ones. */
export function isLimited(path: string): boolean {
  return path.startsWith('/v1/');
}

/** Whether an endpoint supports Idempotency-Key; those that act on a customer's server do. */
export function takesIdempotencyKey({ method, access }: Endpoint): boolean {
  return method === 'POST' && access !== undefined;
}

/** The message of an endpoint's error that is thrown without one. */
export function messageOf(endpoint: Endpoint | undefined, code: ProblemCode): string {
  const { message } = problems[code];
  const own = endpoint?.messages?.[code];
  if (own !== undefined || endpoint?.errorStyle !== 'json') return own ?? message;
  if (code === 'method_not_allowed') return `${message}; use ${endpoint.method === 'GET' ? 'GET or HEAD' : 'POST'}`;
  return code === 'not_found' ? describeNearest(endpoint) : message;
}

/** The message for a path that is no endpoint, but nearly the one of an endpoint. */
export function describeNearest({ method, path }: Pick<Endpoint, 'method' | 'path'>): string {
  return `${problems.not_found.message}; the nearest is ${method} ${path.replace('*}', '}')}`;
}

/** The message for an action without its confirmation: what it needs, and then what is wrong. */
export function describeConfirmation({ action, needs }: NonNullable<Endpoint['confirmation']>, wrong: string): string {
  return `${action} requires force=true in the query ${needs === 'both' ? 'and' : 'or'} in the body; ${wrong}`;
}

/** All messages of an endpoint's error that do not depend on the request, the default first. */
export function messagesOf(endpoint: Endpoint, code: ProblemCode): readonly string[] {
  if (code === 'unauthorized') return Object.values(keyProblems);
  const isAction = code === 'provider_error' && endpoint.unknownOutcome !== undefined;
  return [messageOf(endpoint, code), ...(isAction ? [messageOfUnknown(endpoint, 'restart-4711')] : [])];
}

/** The message of a 502 if the action of a request may have been done. */
export function messageOfUnknown(endpoint: Endpoint, requestId: string): string {
  return endpoint.unknownOutcome?.replace('{request_id}', requestId) ?? messageOf(endpoint, 'provider_error');
}

/** A successful response of an endpoint. */
export interface EndpointResponse {
  readonly description: string;
  /** The schema of a JSON body; other bodies have a `mediaType` only. */
  readonly schema?: z.ZodType;
  readonly mediaType: string;
  /** The example of a script or style sheet comes from the release. */
  readonly example?: unknown;
}

/** Creates a JSON response, by default with the example of its schema. */
export const json = (
  description: string,
  schema: z.ZodType,
  example = schemas.get(schema)?.example,
): EndpointResponse => ({
  description,
  schema,
  mediaType: 'application/json',
  example,
});

/** What most operations have in common. */
export const endpointDefaults = {
  method: 'GET',
  stored: false,
  errorStyle: 'text',
  problems: [],
  failure: 'internal_error',
} as const satisfies Partial<Endpoint>;

/** A kind of file in a release. In its path, `{name}` is one segment and `{name*}` several. */
export interface StaticFile {
  /** Its path in the release. */
  readonly file: string;
  /** The request target that answers with it, with the same names; that of a {@link FileEndpoint} is its path if left out. */
  readonly target?: string;
  /** The schema of a JSON file. */
  readonly schema?: z.ZodType;
  /** The media type of another file, or the types by the extension of its name. */
  readonly mediaType?: string | Readonly<Record<string, string>>;
  /** Whether its bytes never change: its name changes with them. */
  readonly isImmutable?: boolean;
  /**
   * The answer where a release has no such file: an error, or an empty list for a query without a file. Left out if each
   * release has it.
   */
  readonly absent?: ProblemCode | 'empty_list';
}

/** A static file and the operation that answers with it. */
export interface FileEndpoint
  extends
    StaticFile,
    Pick<Endpoint, 'path' | 'tag' | 'summary' | 'description'>,
    Partial<Pick<Endpoint, 'isPage' | 'hasFormerPaths' | 'query' | 'missing' | 'problems' | 'messages' | 'failure'>> {
  /** What the response holds, for the OpenAPI document. */
  readonly reply: string;
  /** The same of the response to Range. */
  readonly partReply?: string;
  /** The example, if not that of its schema. The one of a script or style sheet comes from the release. */
  readonly example?: string;
}

/** The operation that answers with a static file. */
export function toEndpoint({ reply, partReply, example, schema, mediaType, absent, ...file }: FileEndpoint): Endpoint {
  const type = typeof mediaType === 'string' ? mediaType.split(';')[0]! : '*/*';
  const whole = schema ? json(reply, schema) : { description: reply, mediaType: type, example };
  const part = partReply && { description: partReply, mediaType: type, example: example?.slice(0, 100) };
  return {
    ...endpointDefaults,
    stored: 'file',
    failure: 'content_unavailable',
    ...file,
    replies: { 200: whole, ...(part && { 206: part }) },
    problems: [...(file.problems ?? []), ...(absent === undefined || absent === 'empty_list' ? [] : [absent])],
  };
}

const byClient = { seconds: 1, countedFor: 'each client address' };
const byKey = { seconds: 1, countedFor: 'each API key' };

/**
 * The rate limits of a service whose operator has set no others: a burst of requests, and then `refill` more in `seconds`.
 * An IPv6 client is counted by its /64 network. What counts, and for whom, is in words for people.
 */
export const rateLimits = {
  client: { ...byClient, burst: 100, refill: 50, requests: 'All requests below /v1, refused ones too' },
  domains: { ...byClient, burst: 10, refill: 2, requests: 'Domain searches' },
  feedback: { ...byClient, burst: 1, refill: 1, seconds: 30, requests: 'Votes on articles' },
  actions: { ...byKey, burst: 5, refill: 1, requests: 'Power actions and console commands' },
  reads: { ...byKey, burst: 20, refill: 2, requests: 'Other requests with a key, such as for a log' },
} as const;

/** The largest bodies of requests, in bytes. */
export const bodyLimits = { feedback: 32_768, others: 16_384 } as const;
