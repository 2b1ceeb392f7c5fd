import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { z } from 'zod';
import type { Scope, ServerName } from '#contract/api-keys.ts';
import { takesIdempotencyKey } from '#contract/endpoint.ts';
import type { Endpoint } from '#contract/endpoint.ts';
import { endpoints } from '#contract/endpoints.ts';
import type { EndpointName } from '#contract/endpoints.ts';
import { Problem } from '../problem.ts';
import type { Trace } from '../trace.ts';
import { parseJsonBody, readBody, toWords } from './body.ts';
import type { StoredFile } from './stored.ts';

type Declared<Name extends EndpointName> = (typeof endpoints)[Name];

/** The API key and client of a request. */
export interface KeyCaller {
  readonly keyId: string;
  /** The hash of the secret that was given, since a key may have two. */
  readonly secretHash: string;
  /** All scopes of the key. */
  readonly scopes: readonly Scope[];
  readonly requestId: string;
  readonly trace?: Trace | undefined;
  readonly ip: string;
}

/** The API key, server and client of an authorized request. */
export interface Caller extends KeyCaller {
  /** The scope that the endpoint needs. */
  readonly scope: Scope;
  readonly server: ServerName;
  /** The id of the server in the path. */
  readonly id: string;
}

/** A validated request of an endpoint. */
export interface RouteRequest<Name extends EndpointName> {
  /** The method as sent: HEAD reaches the routes of GET. */
  readonly method: string;
  /** The validated query parameters. */
  readonly query: Declared<Name> extends { query: infer Query extends z.ZodType }
    ? z.infer<Query>
    : Record<string, never>;
  /** The validated JSON body; undefined if it is optional and missing. */
  readonly body: Declared<Name> extends { body: { schema: infer Body extends z.ZodType; required: infer Required } }
    ? z.infer<Body> | (Required extends true ? never : undefined)
    : undefined;
  /** The raw body. */
  readonly text: string;
  readonly headers: IncomingHttpHeaders;
  /** For calls of others that are made for this request alone. */
  readonly trace: Trace | undefined;
  /** The API key, if the endpoint needs one, with the server, if it is for one. */
  readonly caller: Declared<Name> extends { access: infer Access }
    ? Access extends 'any_key'
      ? KeyCaller
      : Caller
    : undefined;
  /** The value of `{path*}` or `{name}` in the path, percent-decoded. */
  readonly rest: string;
}

/** The reply of a route. */
export type RouteReply = StoredFile | JsonReply | Redirect;

/** A redirect to another path of this service. */
export interface Redirect {
  readonly to: string;
}

/** A status and a JSON body. */
export interface JsonReply {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A request that matched an endpoint and passed its limits and access check. */
export interface RawRequest {
  readonly request: IncomingMessage;
  readonly trace: Trace | undefined;
  readonly query: URLSearchParams;
  readonly caller: KeyCaller | undefined;
  readonly rest: string;
  /** The maximum body length, if not the default. */
  readonly maxBodyBytes: number | undefined;
}

/** An endpoint with the function that answers it. */
export interface Route {
  readonly endpoint: Endpoint;
  /** Throws a Problem if the request is invalid. */
  answer(raw: RawRequest): Promise<RouteReply>;
}

/** Binds an endpoint to its handler. Body and query are validated before the call, the JSON reply after it. */
export function handle<Name extends EndpointName>(
  name: Name,
  answer: (request: RouteRequest<Name>) => RouteReply | Promise<RouteReply>,
): Route {
  const endpoint: Endpoint = endpoints[name];
  return {
    endpoint,
    async answer({ request, trace, query, caller, rest, maxBodyBytes }) {
      const rules = endpoint.body;
      const text = rules || takesIdempotencyKey(endpoint) ? await readBody(request, rules, maxBodyBytes) : '';
      const body = rules && text !== '' ? parseJsonBody(text, rules, endpoint.errorStyle) : undefined;
      if (rules?.required && body === undefined) throw toMissing(endpoint, 'A JSON body is required');
      const { method, headers } = request;
      const checked = { method, query: readQuery(endpoint, query), body, text, headers, trace, caller, rest };
      const reply = await answer(checked as RouteRequest<Name>);
      // A replayed reply may be an error, which `replies` does not declare.
      if (!('body' in reply) || reply.status >= 500) return reply;
      return { ...reply, body: endpoint.replies[reply.status]!.schema!.parse(reply.body) };
    },
  };
}

/** Reads the declared parameters. An empty one counts as missing; a repeated one must have one value. */
function readQuery(endpoint: Endpoint, parameters: URLSearchParams): unknown {
  const { query, malformed = 'validation_error' } = endpoint;
  if (!query) return {};
  const values: Record<string, string> = {};
  for (const name of Object.keys(query.shape)) {
    const given = new Set(parameters.getAll(name));
    if (given.size > 1) throw new Problem(malformed, `Query parameter ${name} is given more than once`);
    for (const value of given) if (value !== '') values[name] = value;
  }
  const result = query.safeParse(values, { error: toWords });
  if (result.success) return result.data;
  const [{ path, message }] = result.error.issues as [z.core.$ZodIssue];
  const text = `Query parameter ${path.join('.')} ${message}`;
  throw path.join('.') in values ? new Problem(malformed, text) : toMissing(endpoint, text);
}

function toMissing(endpoint: Endpoint, message: string): Problem {
  const { missing } = endpoint;
  return missing ? new Problem(missing.code, missing.message) : new Problem('validation_error', message);
}
