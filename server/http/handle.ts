import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { z } from 'zod';
import { collect } from '#common/streams.ts';
import type { Scope, ServerName } from '#contract/api-keys.ts';
import { bodyLimits, describeConfirmation, takesIdempotencyKey } from '#contract/endpoint.ts';
import type { Endpoint, OperatorRight } from '#contract/endpoint.ts';
import { endpoints } from '#contract/endpoints.ts';
import { operatorEndpoints } from '#contract/operators.ts';
import type { ErrorStyle, ProblemCode } from '#contract/problem.ts';
import { Problem } from '../problem.ts';
import { withTimeout } from '../timeout.ts';
import type { Trace } from '../trace.ts';
import type { RequestContext } from './request.ts';
import type { StoredFile } from './stored.ts';

const declared = { ...endpoints, ...operatorEndpoints };
type AnyName = keyof typeof declared;
type Declared<Name extends AnyName> = (typeof declared)[Name];

/** The API key and the client of a request. */
export interface KeyCaller {
  readonly keyId: string;
  /** The hash of the given secret; a key may have two secrets. */
  readonly secretHash: string;
  readonly scopes: readonly Scope[];
  readonly servers: readonly ServerName[];
  readonly requestId: string;
  readonly trace?: Trace | undefined;
  readonly ip: string;
}

/** The caller of an endpoint of a server, with the required scope and the id in the path. */
export interface Caller extends KeyCaller {
  readonly scope: Scope;
  readonly server: ServerName;
  readonly id: string;
}

/** The operator token and the client of a request. */
export interface OperatorCaller extends Pick<KeyCaller, 'requestId' | 'ip'> {
  readonly token: { readonly id: string; readonly label: string; readonly rights: readonly OperatorRight[] };
}

/** A validated request of an endpoint. */
export interface RouteRequest<Name extends AnyName> extends Pick<RawRequest, 'rest'> {
  /** Passed on in upstream calls for this request. */
  readonly trace: Trace | undefined;
  /** The method as sent: HEAD reaches the routes of GET. */
  readonly method: string;
  readonly query: Declared<Name> extends { query: infer Query extends z.ZodType }
    ? z.infer<Query>
    : Record<string, never>;
  /** The JSON body; undefined if optional and missing. */
  readonly body: Declared<Name> extends { body: { schema: infer Body extends z.ZodType; required: infer Required } }
    ? z.infer<Body> | (Required extends true ? never : undefined)
    : undefined;
  readonly text: string;
  readonly headers: IncomingHttpHeaders;
  /** The API key, and the server, if the endpoint needs them; or the operator token. */
  readonly caller: Declared<Name> extends { right: OperatorRight | 'any' }
    ? OperatorCaller
    : Declared<Name> extends { access: infer Access }
      ? Access extends string
        ? KeyCaller
        : Caller
      : undefined;
}

/** The reply of a route: a stored file, JSON, a redirect within this service, or a text of another protocol. */
export type RouteReply = StoredFile | JsonReply | { readonly to: string } | Response;

/** A status and a JSON body. */
export interface JsonReply {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A request that matched an endpoint and passed its limits and access check. */
export interface RawRequest {
  readonly context: RequestContext;
  readonly query: URLSearchParams;
  readonly caller: KeyCaller | OperatorCaller | undefined;
  /** The value of `{path*}` or `{name}` in the path, percent-decoded. */
  readonly rest: string;
  readonly maxBodyBytes: number | undefined;
  /** Applies the limit of an endpoint that counts valid bodies only; throws a Problem. */
  readonly count: (() => Promise<void>) | undefined;
  /** Sends another request of the same client, with its key, to this service. */
  readonly ask: (method: Endpoint['method'], target: string) => Promise<Response>;
}

/** An endpoint with its handler. */
export interface Route {
  readonly endpoint: Endpoint;
  answer(raw: RawRequest): Promise<RouteReply>;
}

/** Binds an endpoint to its handler; validates the body and query before, the JSON reply after. */
export function handle<Name extends AnyName>(
  name: Name,
  answer: (request: RouteRequest<Name>) => RouteReply | Promise<RouteReply>,
): Route {
  const endpoint: Endpoint = declared[name];
  const { body: rules, errorStyle, segment } = endpoint;
  const mayHaveBody = rules !== undefined || takesIdempotencyKey(endpoint);
  return {
    endpoint,
    async answer({ context: { request, trace }, query, maxBodyBytes, count, caller, rest }) {
      const fault = segment?.safeParse(rest).error?.issues[0]?.message;
      if (fault !== undefined) throw new Problem('validation_error', `The name in the path ${fault}`);
      const text = mayHaveBody ? await readBody(request, rules, maxBodyBytes ?? rules?.maxBytes) : '';
      const body = rules && text !== '' ? parseJsonBody(text, rules, errorStyle) : undefined;
      const values = readValues(endpoint, query);
      assertConfirmed(endpoint, values['force'], (body as { readonly force?: boolean } | undefined)?.force);
      if (rules?.required && body === undefined) throw toMissing(endpoint, 'A JSON body is required');
      await count?.();
      const { method, headers } = request;
      const checked = { method, headers, query: parseQuery(endpoint, values), body, text, caller, rest, trace };
      const reply = await answer(checked as RouteRequest<Name>);
      // A replayed reply may be an error, for which `replies` has no schema.
      if (reply instanceof Response || !('body' in reply) || reply.status >= 500) return reply;
      return { ...reply, body: endpoint.replies[reply.status]!.schema!.parse(reply.body) };
    },
  };
}

/** Reads query parameters: empty counts as missing, repeats must be equal. */
function readValues({ query, malformed }: Endpoint, parameters: URLSearchParams): Record<string, string> {
  const values: Record<string, string> = {};
  for (const name of Object.keys(query?.shape ?? {})) {
    const given = new Set(parameters.getAll(name));
    if (given.size > 1) {
      throw new Problem(malformed ?? 'validation_error', `Query parameter ${name} is given more than once`);
    }
    for (const value of given) if (value !== '') values[name] = value;
  }
  return values;
}

/** Throws unless `force` confirms an action that needs confirmation. */
function assertConfirmed({ confirmation }: Endpoint, inQuery: string | undefined, inBody: boolean | undefined): void {
  if (!confirmation) return;
  const given = [inQuery, inBody].filter((force) => force !== undefined);
  if (given.length > Number(confirmation.needs === 'both') && given.every((force) => String(force) === 'true')) return;
  throw new Problem('confirmation_required', describeConfirmation(confirmation));
}

function parseQuery(endpoint: Endpoint, values: Readonly<Record<string, string>>): unknown {
  const { query, malformed = 'validation_error' } = endpoint;
  if (!query) return {};
  const result = query.safeParse(values, { error: toWords });
  if (result.success) return result.data;
  const [{ path, message }] = result.error.issues as [z.core.$ZodIssue];
  const text = `Query parameter ${path.join('.')} ${message}`;
  throw path.join('.') in values ? new Problem(malformed, text) : toMissing(endpoint, text);
}

function toMissing({ missing }: Endpoint, message: string): Problem {
  return missing ? new Problem(missing.code, missing.message) : new Problem('validation_error', message);
}

/** Less than the limit of Node.js, whose 408 is not in the style of the endpoint. */
const bodyTimeoutMs = 30_000;

/**
 * Reads the body of a request as text. Throws a Problem if the body is too long, too slow, compressed or not UTF-8; for
 * strict endpoints also if its type is not JSON. Endpoints with an API key accept any type: foreign pages send no keys.
 */
export async function readBody(
  request: IncomingMessage,
  rules: Endpoint['body'],
  maxBytes: number = bodyLimits.others,
) {
  const { invalid = 'validation_error', strict = false } = rules ?? {};
  const { 'content-encoding': encoding, 'content-length': length, 'content-type': type } = request.headers;
  // RFC 9110 8.3.1: media types are case-insensitive; parameters are ignored.
  const isJson = type === undefined || /^\s*application\/json\s*(?:;|$)/i.test(type);
  if (strict && !isJson) throw toClosing('unsupported_media_type');
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw strict ? toClosing('unsupported_media_type') : toClosing(invalid, 'The body must not be compressed');
  }
  const onTimeout = (): never => {
    throw toClosing('request_timeout');
  };
  const isTooLong = Number(length) > maxBytes;
  const bytes = isTooLong ? undefined : await withTimeout(collect(request, maxBytes), bodyTimeoutMs, onTimeout);
  if (!bytes) throw toClosing(invalid, 'The body is too long');
  try {
    // Removes a byte order mark, which Windows programs write.
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new Problem(invalid, 'The body is not UTF-8');
  }
}

/** Creates a Problem that closes the connection, or the unread body would be parsed as the next request. */
function toClosing(code: ProblemCode, message?: string): Problem {
  return new Problem(code, message, { headers: { Connection: 'close' } });
}

/** Parses a JSON body; undefined for a null that means no body. Throws a Problem in the style of the endpoint. */
export function parseJsonBody(text: string, rules: NonNullable<Endpoint['body']>, style: ErrorStyle): unknown {
  const { schema, invalid = 'validation_error' } = rules;
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new Problem(invalid, 'The body is not valid JSON');
  }
  // Generated clients send null for an optional body that was not given.
  if (json === null && !rules.required) return undefined;
  const duplicate = findDuplicateKey(text);
  if (duplicate !== undefined) {
    const named = `The field ${quote(duplicate)} is given twice`;
    throw new Problem(invalid, style === 'json' ? named : 'The body has a field twice');
  }
  const result = schema.safeParse(json, { error: toWords });
  if (result.success) return result.data;
  // A plain-text error must not repeat input.
  const clauses = result.error.issues.map((issue) => {
    if (issue.code === 'unrecognized_keys') {
      return style === 'text' ? 'the body has an unknown field' : `the field ${quote(issue.keys[0]!)} is unknown`;
    }
    const field = issue.path.join('.');
    return field === '' ? 'the body must be a JSON object' : `the field ${field} ${issue.message}`;
  });
  throw new Problem(invalid, clauses.join('; ').replace(/^t/, 'T'));
}

/** Matches strings, with the colon after a key, and the braces of objects. */
const tokens = /("[^"\\]*(?:\\.[^"\\]*)*")([ \t\n\r]*:)?|[{}]/g;

/**
 * Finds a duplicate key of an object: JSON.parse uses the last value, and `{"force":false,"force":true}` would confirm.
 * Expects a text that JSON.parse accepts.
 */
function findDuplicateKey(json: string): string | undefined {
  const objects: Set<string>[] = [];
  for (const [token, string, colon] of json.matchAll(tokens)) {
    if (token === '{') objects.push(new Set());
    else if (token === '}') objects.pop();
    else if (colon !== undefined) {
      const key = JSON.parse(string!) as string;
      const keys = objects.at(-1)!;
      if (keys.has(key)) return key;
      keys.add(key);
    }
  }
  return undefined;
}

/** Replaces the error texts of zod, unless the contract has a message. */
const toWords: z.core.$ZodErrorMap = ({ code, input, expected }) => {
  if (code !== 'invalid_type') return 'is not valid';
  if (input === undefined) return 'is required';
  return expected === 'boolean' ? 'must be true or false' : expected === 'string' ? 'must be a string' : 'is not valid';
};

const maxNameLength = 40;

/** Quotes the first 40 characters of a client's text; replaces control, format and combining characters. */
function quote(name: string): string {
  const characters = Array.from(name.slice(0, 2 * maxNameLength + 1));
  const shown = characters.slice(0, maxNameLength).join('');
  const more = characters.length > maxNameLength ? '…' : '';
  return `"${shown.replace(/[^\p{L}\p{N}\p{P}\p{S} ]/gu, '?')}${more}"`;
}
