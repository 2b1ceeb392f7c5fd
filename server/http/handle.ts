import type { z } from 'zod';
import { endpoints } from '#contract/endpoints.ts';
import type { Endpoint } from '#contract/endpoint.ts';
import type { EndpointName } from '#contract/endpoints.ts';
import { Problem } from '../problem.ts';
import type { Caller } from '../keys/access.ts';
import type { Stored } from './stored.ts';

type Declared<Name extends EndpointName> = (typeof endpoints)[Name];

/** What a route is asked. */
export interface RouteRequest<Name extends EndpointName> {
  /** The checked query parameters. */
  readonly query: Declared<Name> extends { query: infer Query extends z.ZodType }
    ? z.infer<Query>
    : Record<string, never>;
  /** The checked JSON body; undefined where it may be left out and is. */
  readonly body: Declared<Name> extends { body: { schema: infer Body extends z.ZodType; required: infer Required } }
    ? z.infer<Body> | (Required extends true ? never : undefined)
    : undefined;
  /** Who asks, and for which server. */
  readonly caller: Declared<Name> extends { access: unknown } ? Caller : undefined;
  /** What the endpoint's `{path*}` or `{name}` stands for, percent-decoded. */
  readonly rest: string;
}

/** What a route answers: bytes that are kept, or a status of its endpoint and its JSON. */
export type RouteReply = Stored | JsonReply;

/** A status of an endpoint and its JSON. */
export interface JsonReply {
  readonly status: number;
  readonly body: unknown;
}

/** A request as it comes in. */
export interface RawRequest {
  readonly query: URLSearchParams;
  readonly body: unknown;
  readonly caller: Caller | undefined;
  readonly rest: string;
}

/** An endpoint with the function that answers it. */
export interface Route {
  readonly endpoint: Endpoint;
  /** Throws a Problem where the request is not what the endpoint takes, before anything else is done. */
  readonly check: (request: RawRequest) => () => RouteReply | Promise<RouteReply>;
}

/** Binds an endpoint to its function: the request is checked before it is called, and its reply after it. */
export function handle<Name extends EndpointName>(
  name: Name,
  answer: (request: RouteRequest<Name>) => RouteReply | Promise<RouteReply>,
): Route {
  const endpoint: Endpoint = endpoints[name];
  const check = (reply: RouteReply): RouteReply => {
    if ('replies' in reply) return reply;
    return { status: reply.status, body: endpoint.replies[reply.status]!.schema!.parse(reply.body) };
  };
  return {
    endpoint,
    check({ query, body, ...rest }) {
      if (endpoint.body?.required && body === undefined) throw toMissing(endpoint, 'A JSON body is required');
      const request = { query: readQuery(endpoint, query), body, ...rest } as RouteRequest<Name>;
      return () => {
        const reply = answer(request);
        return reply instanceof Promise ? reply.then(check) : check(reply);
      };
    },
  };
}

/** Reads the declared parameters; an empty one counts as missing, and one given twice must say the same. */
function readQuery(endpoint: Endpoint, parameters: URLSearchParams): unknown {
  const { query, malformed = 'validation_error' } = endpoint;
  if (!query) return {};
  const values: Record<string, string> = {};
  for (const name of Object.keys(query.shape)) {
    const given = new Set(parameters.getAll(name));
    if (given.size > 1) throw new Problem(malformed, `Query parameter ${name} is given more than once`);
    for (const value of given) if (value !== '') values[name] = value;
  }
  const result = query.safeParse(values);
  if (result.success) return result.data;
  const absent = result.error.issues.find(({ path: [name] }) => !(String(name) in values));
  throw absent ? toMissing(endpoint, `Query parameter ${String(absent.path[0])} is required`) : new Problem(malformed);
}

function toMissing(endpoint: Endpoint, message: string): Problem {
  const { missing } = endpoint;
  return missing ? new Problem(missing.code, missing.message) : new Problem('validation_error', message);
}
