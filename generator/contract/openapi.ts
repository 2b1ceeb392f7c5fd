import { z } from 'zod';
import { isLimited, messageOf, takesIdempotencyKey } from '#contract/endpoint.ts';
import { endpoints } from '#contract/endpoints.ts';
import type { Endpoint, Reply } from '#contract/endpoint.ts';
import { schemas } from '#contract/primitives.ts';
import { errorMediaTypes, problems, renderProblem } from '#contract/problem.ts';
import type { ProblemCode } from '#contract/problem.ts';

type Json = Record<string, unknown>;

/** The version of the API, which is independent of the version of releases. */
const apiVersion = '1.0.0';

const description = [
  'Blog and knowledge base articles, plans, domains, hosting controls and the state of this service.',
  'Every GET endpoint also supports HEAD. Every response has an X-Request-Id: quote it when you contact support.',
  'A request with an ETag in If-None-Match gets 304 if nothing has changed.',
].join(' ');

const headers = {
  'X-Request-Id': header('The ID of this request in our logs.', { type: 'string' }),
  ETag: header('The version of this response, for If-None-Match.', { type: 'string' }),
  'Cache-Control': header('How long the response may be cached.', { type: 'string' }),
  'RateLimit-Policy': header('The rate limit, as in IETF draft-ietf-httpapi-ratelimit-headers.', { type: 'string' }),
  RateLimit: header('The remaining quota, as in the same draft.', { type: 'string' }),
  'Retry-After': header('Seconds to wait before the next request.', { type: 'integer', minimum: 1 }),
  'WWW-Authenticate': header('The required authentication and scope, as in RFC 6750.', { type: 'string' }, false),
  'Idempotent-Replayed': header(
    'true if this is the stored response of an earlier request.',
    { type: 'string' },
    false,
  ),
  'X-Domain-Unicode': header(
    'An internationalised name as people write it (U-labels), percent-encoded UTF-8; `domain` has its A-labels.',
    { type: 'string' },
    false,
  ),
  Allow: header('The methods that the endpoint supports.', { type: 'string' }),
};

const storeRetryAfter = header(
  'Seconds to wait before the next request, if our store does not answer.',
  { type: 'integer', minimum: 1 },
  false,
);

const idempotencyKey = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description: 'For 24 hours, a request with the same key gets the first response again and does not act again.',
  schema: { type: 'string', minLength: 1, maxLength: 255 },
};

function header(text: string, schema: Json, required = true): Json {
  return { description: text, required, schema };
}

/** Renders the OpenAPI 3.1 document of all endpoints, deterministically. */
export function renderOpenApi(): Json {
  const paths: Record<string, Json> = {};
  for (const [operationId, endpoint] of Object.entries<Endpoint>(endpoints)) {
    const path = (paths[endpoint.path.replace('*}', '}')] ??= {});
    path[endpoint.method.toLowerCase()] = renderOperation(operationId, endpoint);
  }
  return {
    openapi: '3.1.1',
    info: { title: 'Hosting API', version: apiVersion, description, license: { name: 'MIT', identifier: 'MIT' } },
    servers: [{ url: '/' }],
    paths,
    components: {
      schemas: renderSchemas(),
      headers,
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          description: 'An API key; it grants access to its servers with its scopes.',
        },
      },
    },
  };
}

function renderOperation(operationId: string, endpoint: Endpoint): Json {
  const responses: Json = {};
  for (const [status, reply] of Object.entries(endpoint.replies)) {
    responses[status] = renderReply(endpoint, reply, status);
  }
  if (endpoint.stored) responses['304'] = { description: 'Not modified.', headers: refs(['ETag', 'X-Request-Id']) };
  for (const [status, group] of Map.groupBy(codesOf(endpoint), (code) => problems[code].status)) {
    responses[status] = renderProblems(endpoint, group);
  }
  const { summary, access, body } = endpoint;
  return {
    operationId,
    summary,
    ...(access && { description: `Requires the scope ${access.scope} for the server.` }),
    security: access ? [{ apiKey: [] }] : [],
    parameters: renderParameters(endpoint),
    ...(body && { requestBody: renderBody(body) }),
    responses,
  };
}

/** All errors of an endpoint. */
function codesOf(endpoint: Endpoint): Set<ProblemCode> {
  const codes = new Set<ProblemCode>([...endpoint.problems, 'method_not_allowed']);
  if (endpoint.access) codes.add('unauthorized').add('forbidden').add('insufficient_scope');
  if (takesIdempotencyKey(endpoint)) codes.add('validation_error').add('in_progress').add('idempotency_mismatch');
  if (isLimited(endpoint.path)) codes.add('rate_limited');
  return codes.add(endpoint.failure);
}

function renderBody({ schema, required }: NonNullable<Endpoint['body']>): Json {
  return {
    required,
    content: { 'application/json': { schema: toRef(schema), example: schemas.get(schema)?.example } },
  };
}

function renderParameters(endpoint: Endpoint): Json[] {
  const { path, query } = endpoint;
  const inPath = [...path.matchAll(/\{(\w+)(\*?)\}/g)].map(([, name, several]) => ({
    name,
    in: 'path',
    required: true,
    description: several ? 'Path of the file; it may contain slashes.' : 'ID of the server.',
    schema: { type: 'string' },
  }));
  const inQuery = Object.entries(query?.shape ?? {}).map(([name, schema]) => {
    const { $schema: _, description: text, ...shape } = z.toJSONSchema(schema as z.ZodType);
    return {
      name,
      in: 'query',
      required: !z.safeParse(schema as z.ZodType, undefined).success,
      description: text,
      schema: shape,
    };
  });
  return [...inPath, ...inQuery, ...(takesIdempotencyKey(endpoint) ? [idempotencyKey] : [])];
}

function renderReply(endpoint: Endpoint, reply: Reply, status: string): Json {
  const schema = reply.schema ? { schema: toRef(reply.schema), example: reply.example } : {};
  const names = ['X-Request-Id', 'Cache-Control'];
  if (endpoint.stored && status === '200') names.push('ETag');
  if (endpoint.stored && status === '503') names.push('Retry-After');
  if (takesIdempotencyKey(endpoint)) names.push('Idempotent-Replayed');
  if (isLimited(endpoint.path)) names.push('RateLimit-Policy', 'RateLimit');
  names.push(...(reply.headers ?? []));
  return { description: reply.description, headers: refs(names), content: { [reply.mediaType]: schema } };
}

function renderProblems(endpoint: Endpoint, codes: ProblemCode[]): Json {
  const names = ['X-Request-Id'];
  if (codes.includes('method_not_allowed')) names.push('Allow');
  if (codes.includes('unauthorized') || codes.includes('forbidden')) names.push('WWW-Authenticate');
  if (codes.includes('in_progress')) names.push('Retry-After');
  if (codes.includes('rate_limited')) names.push('Retry-After', 'RateLimit-Policy', 'RateLimit');
  const mayBeStoreFailure = endpoint.access !== undefined && codes.some((code) => problems[code].status === 500);
  const schema = endpoint.errorStyle === 'json' ? { $ref: '#/components/schemas/ErrorResponse' } : { type: 'string' };
  const examples = codes.map((code) => {
    const body = renderProblem(endpoint.errorStyle, code, messageOf(endpoint, code));
    return [code, { value: endpoint.errorStyle === 'json' ? JSON.parse(body) : body }];
  });
  return {
    description: codes.map((code) => `${messageOf(endpoint, code)}.`).join(' '),
    headers: { ...refs(names), ...(mayBeStoreFailure && { 'Retry-After': storeRetryAfter }) },
    content: {
      [errorMediaTypes[endpoint.errorStyle].split(';')[0]!]: { schema, examples: Object.fromEntries(examples) },
    },
  };
}

function refs(names: string[]): Json {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

function toRef(schema: z.ZodType): Json {
  const id = schemas.get(schema)?.id;
  return id ? { $ref: `#/components/schemas/${id}` } : { type: 'object' };
}

/** Renders all named schemas. A test fails if no path uses one of them. */
function renderSchemas(): Json {
  const { schemas: shapes } = z.toJSONSchema(schemas, {
    uri: (id) => `#/components/schemas/${id}`,
    override: ({ zodSchema, jsonSchema }) => {
      const meta = schemas.get(zodSchema);
      if (meta) jsonSchema.description = meta.description;
    },
  });
  const named = Object.entries(shapes).map(([id, { $schema: _schema, $id: _id, ...shape }]) => [id, shape] as const);
  return Object.fromEntries(named.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
