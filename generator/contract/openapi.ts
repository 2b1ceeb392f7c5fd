import { z } from 'zod';
import { endpoints, isLimited } from '#contract/endpoints.ts';
import type { Endpoint, Reply } from '#contract/endpoints.ts';
import { schemas } from '#contract/primitives.ts';
import { errorMediaTypes, problems, renderProblem } from '#contract/problem.ts';
import type { ProblemCode } from '#contract/problem.ts';
import { contractVersion } from '#contract/release.ts';

type Json = Record<string, unknown>;

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
  Allow: header('The methods that the endpoint answers.', { type: 'string' }),
};

function header(text: string, schema: Json): Json {
  return { description: text, schema };
}

/** The OpenAPI 3.1 document of every endpoint in `endpoints.ts`; the same call gives the same document. */
export function renderOpenApi(): Json {
  const paths: Json = {};
  for (const [operationId, endpoint] of Object.entries<Endpoint>(endpoints)) {
    paths[endpoint.path.replace('*}', '}')] = { get: renderOperation(operationId, endpoint) };
  }
  return {
    openapi: '3.1.1',
    info: { title: 'Hosting API', version: contractVersion, description, license: { name: 'MIT', identifier: 'MIT' } },
    servers: [{ url: '/' }],
    paths,
    components: { schemas: componentsOf(paths), headers },
  };
}

function renderOperation(operationId: string, endpoint: Endpoint): Json {
  const responses: Json = {};
  for (const [status, reply] of Object.entries(endpoint.replies)) responses[status] = renderReply(endpoint, reply);
  if (endpoint.stored) responses['304'] = { description: 'Not modified.', headers: refs(['ETag', 'X-Request-Id']) };
  const codes = new Set<ProblemCode>([...endpoint.problems, 'method_not_allowed']);
  if (isLimited(endpoint.path)) codes.add('rate_limited');
  codes.add(endpoint.failure);
  for (const [status, group] of Map.groupBy(codes, (code) => problems[code].status)) {
    responses[status] = renderProblems(endpoint, group);
  }
  return { operationId, summary: endpoint.summary, security: [], parameters: renderParameters(endpoint), responses };
}

function renderParameters({ path, query }: Endpoint): Json[] {
  const inPath = [...path.matchAll(/\{(\w+)\*?\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    description: 'Path of the file; it may hold slashes.',
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
  return [...inPath, ...inQuery];
}

function renderReply(endpoint: Endpoint, reply: Reply): Json {
  const schema = reply.schema ? { schema: toRef(reply.schema), example: reply.example } : {};
  const names = ['X-Request-Id', 'Cache-Control'];
  if (endpoint.stored) names.push('ETag');
  if (isLimited(endpoint.path)) names.push('RateLimit-Policy', 'RateLimit');
  return { description: reply.description, headers: refs(names), content: { [reply.mediaType]: schema } };
}

function renderProblems(endpoint: Endpoint, codes: ProblemCode[]): Json {
  const names = ['X-Request-Id'];
  if (codes.includes('method_not_allowed')) names.push('Allow');
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

/** The named shapes that the paths use, and the ones that those use. */
function componentsOf(paths: Json): Json {
  const all = z.toJSONSchema(schemas, {
    uri: (id) => `#/components/schemas/${id}`,
    override: ({ zodSchema, jsonSchema }) => {
      const meta = schemas.get(zodSchema);
      if (meta) jsonSchema.description = meta.description;
    },
  }).schemas;
  const used: Json = {};
  const collect = (part: unknown): void => {
    for (const [, id] of JSON.stringify(part).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      if (id === undefined || id in used) continue;
      const { $schema: _schema, $id: _id, ...shape } = all[id] as Json;
      used[id] = shape;
      collect(shape);
    }
  };
  collect(paths);
  return Object.fromEntries(Object.entries(used).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
