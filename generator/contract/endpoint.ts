import type { z } from 'zod';
import type { Scope, ServerAction, ServerKind } from '#contract/api-keys.ts';
import { schemas } from '#contract/primitives.ts';
import { keyProblems, problems } from '#contract/problem.ts';
import type { ErrorStyle, ProblemCode } from '#contract/problem.ts';

export type LimitName = 'domains' | 'feedback';

/** The groups of operations, in the order of the OpenAPI document: servers of customers first. */
export const tags = {
  Keys: 'Permissions, servers and limits of an API key.',
  VPS: 'Power actions and state of virtual servers. An API key is required.',
  'Game servers': 'Power actions, state, console and log of game servers. An API key is required.',
  Activity: 'Status and history of the actions of an API key.',
  Service: 'Health and version of the running instance, and the OpenAPI document.',
  Status: 'Platform status, and a script that shows it on any website.',
  Blog: 'Blog articles, categories and authors.',
  'Knowledge base': 'Knowledge base articles, categories and search, and feedback from readers.',
  Website: 'Sitemap and redirects for the website.',
  Media: 'Images and other files of articles.',
  Plans: 'Plans for web hosting and games.',
  Domains: 'TLDs for sale with their prices, and the domain search.',
} as const;

/** Speaks of operator tokens instead of API keys. */
export const toTokens = (message: string): string => message.replace('API key', 'operator token');

/** The rights of operator tokens. */
export const operatorRights = ['servers', 'keys'] as const;
export type OperatorRight = (typeof operatorRights)[number];

/** The keys that endpoints of no server take. */
export const keyAccess = {
  any_key: 'any valid key',
  current_key: 'the current secret of a key',
  managing_key: 'the current secret of a key that manages keys',
} as const;
export type KeyAccess = keyof typeof keyAccess;

export interface Endpoint {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** The path template: `{name}` is one segment, `{name*}` the rest of the path. */
  readonly path: string;
  readonly tag: keyof typeof tags | 'Operators';
  readonly summary: string;
  readonly description: string;
  /** Human-facing page; excluded from the OpenAPI document. */
  readonly isPage?: boolean;
  /** Where the response is stored; a stored response has an ETag. */
  readonly stored: 'file' | 'memory' | false;
  readonly errorStyle: ErrorStyle;
  /** Former paths of articles work, too. */
  readonly hasFormerPaths?: boolean;
  /** A header of the response has the Unicode form of an internationalised name. */
  readonly hasUnicodeName?: boolean;
  /** Query parameters; an empty value counts as missing. */
  readonly query?: z.ZodObject;
  /** The JSON body. */
  readonly body?: {
    readonly schema: z.ZodType;
    readonly required: boolean;
    /** The error for an invalid body; default: `validation_error`. */
    readonly invalid?: ProblemCode;
    /** Refuses other media types and compressed bodies (415). */
    readonly strict?: boolean;
    /** The maximum length in bytes; default: {@link bodyLimits}. */
    readonly maxBytes?: number;
  };
  /** The action that requires `force=true` in query and body (`both`), the `query`, or `one` and not false in the other. */
  readonly confirmation?: { readonly action: string; readonly needs: 'both' | 'one' | 'query' };
  /** The error for a missing required parameter or body; default: `validation_error`. */
  readonly missing?: { readonly code: ProblemCode; readonly message?: string };
  /** The error for an invalid or repeated query parameter; default: `validation_error`. */
  readonly malformed?: ProblemCode;
  /** An additional rate limit by client address. */
  readonly limit?: LimitName;
  /** The required API key: one of {@link keyAccess}, or a key with a scope for the server in the path. */
  readonly access?: KeyAccess | { readonly kind: ServerKind; readonly scope: Scope; readonly action: ServerAction };
  /** Works without an API key too, and refuses foreign origins (403), as the Model Context Protocol requires. */
  readonly hasOptionalKey?: boolean;
  /** The required right of an operator token, at the operators' port only. */
  readonly right?: OperatorRight | 'any';
  /** The form of the name in the path, if a wrong one is 400; by default, any name is valid. */
  readonly segment?: z.ZodType;
  /** Successful responses by status. */
  readonly replies: Readonly<Record<number, ApiReply>>;
  /** Errors beyond 405, the 429 of {@link isLimited}, the 401 and 403 of {@link access}, and {@link failure}. */
  readonly problems: readonly ProblemCode[];
  /** Messages that replace the default message of a code. */
  readonly messages?: Readonly<Partial<Record<ProblemCode, string>>>;
  /** The message of a 502 if the action may have been done; `{request_id}` stands for the ID of the request. */
  readonly unknownOutcome?: string;
  /** The error for an unexpected failure. */
  readonly failure: ProblemCode;
}

/** Checks whether a limit per client address counts a path: `content` if the response is stored, else `client`. */
export function isLimited(path: string): boolean {
  return path.startsWith('/v1/');
}

/** Checks whether an endpoint supports Idempotency-Key, as every action on a server does. */
export function takesIdempotencyKey({ method, access }: Endpoint): boolean {
  return method === 'POST' && typeof access === 'object';
}

/** Returns the default message of an endpoint for an error code. */
export function messageOf(endpoint: Endpoint | undefined, code: ProblemCode): string {
  const { message } = problems[code];
  const own = endpoint?.messages?.[code];
  if (own !== undefined || endpoint?.errorStyle !== 'json') return own ?? message;
  if (code === 'forbidden' && typeof endpoint.access === 'string') return `This needs ${keyAccess[endpoint.access]}`;
  if (code === 'method_not_allowed') return `${message}; use ${endpoint.method.replace('GET', 'GET or HEAD')}`;
  return code === 'not_found' ? describeNearest(endpoint) : message;
}

/** Describes the nearest endpoint to an unknown path. */
export function describeNearest({ method, path }: Pick<Endpoint, 'method' | 'path'>): string {
  return `${problems.not_found.message}; the nearest is ${method} ${path.replace('*}', '}')}`;
}

/** Describes the confirmation that an action requires. */
export function describeConfirmation({ action, needs }: NonNullable<Endpoint['confirmation']>): string {
  const places = { both: 'query and in the body', one: 'query or in the body', query: 'query' };
  return `${action} requires force=true in the ${places[needs]}`;
}

/** Lists the messages of an endpoint for an error code, the default first. */
export function messagesOf(endpoint: Endpoint, code: ProblemCode): readonly string[] {
  const { access, right } = endpoint;
  if (code === 'unauthorized') return Object.values(keyProblems).map((text) => (right ? toTokens(text) : text));
  if (code === 'forbidden' && (access ?? right)) {
    const own = access && access !== 'any_key' ? [messageOf(endpoint, code)] : [];
    return [...own, `This ${right ? 'operator token' : 'API key'} may not be used from 192.0.2.1`];
  }
  const isAction = code === 'provider_error' && endpoint.unknownOutcome !== undefined;
  return [messageOf(endpoint, code), ...(isAction ? [messageOfUnknown(endpoint, 'restart-4711')] : [])];
}

/** Returns the message of a 502 after which the action may have been done. */
export function messageOfUnknown(endpoint: Endpoint, requestId: string): string {
  return endpoint.unknownOutcome?.replace('{request_id}', requestId) ?? messageOf(endpoint, 'provider_error');
}

export interface ApiReply {
  readonly description: string;
  /** The schema of a JSON body. */
  readonly schema?: z.ZodType;
  readonly mediaType: string;
  /** The example; scripts and style sheets get theirs from the release. */
  readonly example?: unknown;
}

/** Creates a JSON response, by default with the example of the schema. */
export const json = (description: string, schema: z.ZodType, example = schemas.get(schema)?.example): ApiReply => ({
  description,
  schema,
  mediaType: 'application/json',
  example,
});

/** Defaults that most operations share. */
export const endpointDefaults = {
  method: 'GET',
  stored: false,
  errorStyle: 'text',
  problems: [],
  failure: 'internal_error',
} as const satisfies Partial<Endpoint>;

/** A kind of file in a release. In paths, `{name}` is one segment and `{name*}` several. */
export interface StaticFile {
  /** The path in the release. */
  readonly file: string;
  /** The request target that serves the file, with the same names; default: the path of the {@link FileEndpoint}. */
  readonly target?: string;
  /** The schema of a JSON file. */
  readonly schema?: z.ZodType;
  /** The media type of any other file, or media types by file extension. */
  readonly mediaType?: string | Readonly<Record<string, string>>;
  /** The bytes never change: another version has another name. */
  readonly isImmutable?: boolean;
  /** The response if a release lacks the file: an error or an empty list. Left out if every release has the file. */
  readonly absent?: ProblemCode | 'empty_list';
}

/** A static file, and the operation that serves it. */
export interface FileEndpoint
  extends
    StaticFile,
    Pick<Endpoint, 'path' | 'tag' | 'summary' | 'description'>,
    Partial<Pick<Endpoint, 'isPage' | 'hasFormerPaths' | 'query' | 'missing' | 'problems' | 'messages' | 'failure'>> {
  /** The description of the response. */
  readonly reply: string;
  /** The description of the response to Range. */
  readonly partReply?: string;
  /** The example of a file without a schema; scripts and style sheets get theirs from the release. */
  readonly example?: string;
}

/** Converts a static file to the operation that serves it. */
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

/** Default rate limits: a burst of requests, then `refill` more every `seconds`. An IPv6 client is its /64 network. */
export const rateLimits = {
  content: { ...byClient, burst: 20_000, refill: 200, requests: 'Articles, lists, plans, TLD prices and the status' },
  client: { ...byClient, burst: 100, refill: 50, requests: 'All other requests below /v1, including refused requests' },
  domains: { ...byClient, burst: 10, refill: 2, requests: 'Domain searches' },
  feedback: { ...byClient, burst: 1, refill: 1, seconds: 30, requests: 'Votes on articles' },
  actions: { ...byKey, burst: 5, refill: 1, requests: 'Power actions, console commands, and changes of keys' },
  reads: { ...byKey, burst: 20, refill: 2, requests: 'Other requests with a key, such as reading a log' },
} as const;

/** The size limits of request bodies, in bytes. */
export const bodyLimits = { feedback: 32_768, others: 16_384 } as const;
