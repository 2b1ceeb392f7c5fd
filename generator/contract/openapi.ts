import { z } from 'zod';
import { isLimited, takesIdempotencyKey } from '#contract/endpoint.ts';
import { endpoints } from '#contract/endpoints.ts';
import type { Endpoint, Reply } from '#contract/endpoint.ts';
import { schemas } from '#contract/primitives.ts';
import { errorMediaTypes, problems, renderProblem } from '#contract/problem.ts';
import type { ProblemCode } from '#contract/problem.ts';

type Json = Record<string, unknown>;

/** The version of the API that the document describes; releases have a version of their own. */
const apiVersion = '1.0.0';

const description = [
  'Blog and knowledge base articles, plans, and the state of this service, for websites and programs.',
  'Every GET endpoint also answers HEAD. Every answer carries X-Request-Id: name it when you ask us for help.',
  'Answers made from files carry an ETag, and 304 answers a request that names it in If-None-Match.',
].join(' ');

const headers = {
  'X-Request-Id': header('The id of this request in our logs.', { type: 'string' }),
  ETag: header('The version of this answer.', { type: 'string' }),
  'Cache-Control': header('How long the answer may be kept.', { type: 'string' }),
  'RateLimit-Policy': header('The limit, by IETF draft-ietf-httpapi-ratelimit-headers.', { type: 'string' }),
  RateLimit: header('What is left of the limit, by the same draft.', { type: 'string' }),
  'Retry-After': header('Seconds to wait before the next request.', { type: 'integer', minimum: 1 }),
  'WWW-Authenticate': header('What is missing, by RFC 6750.', { type: 'string' }, false),
  'Idempotent-Replayed': header('true where an earlier request is answered again.', { type: 'string' }, false),
  Allow: header('The methods that the endpoint answers.', { type: 'string' }),
};

const idempotencyKey = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description: 'Makes a repeated request answer what the first did, for 24 hours, without acting again.',
  schema: { type: 'string', minLength: 1, maxLength: 255 },
};

function header(text: string, schema: Json, required = true): Json {
  return { description: text, required, schema };
}

/** The OpenAPI 3.1 document of every endpoint in `endpoints.ts`; the same call gives the same document. */
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
        apiKey: { type: 'http', scheme: 'bearer', description: 'An API key, limited to its servers and scopes.' },
      },
    },
  };
}

function renderOperation(operationId: string, endpoint: Endpoint): Json {
  const responses: Json = {};
  for (const [status, reply] of Object.entries(endpoint.replies)) {
    responses[status] = renderReply(endpoint, reply, endpoint.stored !== false && status === '200');
  }
  if (endpoint.stored) responses['304'] = { description: 'Not modified.', headers: refs(['ETag', 'X-Request-Id']) };
  for (const [status, group] of Map.groupBy(codesOf(endpoint), (code) => problems[code].status)) {
    responses[status] = renderProblems(endpoint, group);
  }
  const { summary, access, body } = endpoint;
  return {
    operationId,
    summary,
    ...(access && { description: `Needs the scope ${access.scope} for the server.` }),
    security: access ? [{ apiKey: [] }] : [],
    parameters: renderParameters(endpoint),
    ...(body && { requestBody: renderBody(body) }),
    responses,
  };
}

/** Every error that an endpoint may answer with. */
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
    description: several ? 'Path of the file; it may hold slashes.' : 'Id of the server.',
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

function renderReply(endpoint: Endpoint, reply: Reply, isStored: boolean): Json {
  const schema = reply.schema ? { schema: toRef(reply.schema), example: reply.example } : {};
  const names = ['X-Request-Id', 'Cache-Control'];
  if (isStored) names.push('ETag');
  if (takesIdempotencyKey(endpoint)) names.push('Idempotent-Replayed');
  if (isLimited(endpoint.path)) names.push('RateLimit-Policy', 'RateLimit');
  return { description: reply.description, headers: refs(names), content: { [reply.mediaType]: schema } };
}

function renderProblems(endpoint: Endpoint, codes: ProblemCode[]): Json {
  const names = ['X-Request-Id'];
  if (codes.includes('method_not_allowed')) names.push('Allow');
  if (codes.includes('unauthorized') || codes.includes('forbidden')) names.push('WWW-Authenticate');
  if (codes.includes('in_progress')) names.push('Retry-After');
  if (codes.includes('rate_limited')) names.push('Retry-After', 'RateLimit-Policy', 'RateLimit');
  const schema = endpoint.errorStyle === 'json' ? { $ref: '#/components/schemas/ErrorResponse' } : { type: 'string' };
  const examples = codes.map((code) => {
    const body = renderProblem(endpoint.errorStyle, code);
    return [code, { value: endpoint.errorStyle === 'json' ? JSON.parse(body) : body }];
  });
  return {
    description: codes.map((code) => `${problems[code].message}.`).join(' '),
    headers: refs(names),
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

/** Every named shape: one that no path uses fails a test. */
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
