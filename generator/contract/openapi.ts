import { z } from 'zod';
import { head, toInfo } from '#contract/docs.ts';
import type { OpenApiDocument, Operation, Presentation } from '#contract/docs.ts';
import { isLimited, messagesOf, takesIdempotencyKey } from '#contract/endpoint.ts';
import type { Endpoint, Reply } from '#contract/endpoint.ts';
import { endpoints } from '#contract/endpoints.ts';
import { schemas } from '#contract/primitives.ts';
import { errorMediaTypes, problems, renderProblem } from '#contract/problem.ts';
import type { ProblemCode } from '#contract/problem.ts';

type Response = Operation['responses'][string];

/** What the release has beside content. */
interface GeneratedFiles {
  readonly widgetVersion: string;
  /** The script and the style sheet, by media type. */
  readonly texts: Readonly<Record<string, string>>;
}

/** Renders the OpenAPI 3.1 document of all endpoints, deterministically. */
export function renderOpenApi(files: GeneratedFiles, presentation: Presentation = {}): OpenApiDocument {
  const paths: OpenApiDocument['paths'] = {};
  for (const [operationId, endpoint] of Object.entries<Endpoint>(endpoints)) {
    if (endpoint.isPage) continue;
    const path = (paths[endpoint.path.replace('*}', '}')] ??= {});
    path[endpoint.method === 'GET' ? 'get' : 'post'] = renderOperation(operationId, endpoint, files);
  }
  return {
    ...head,
    info: toInfo(presentation),
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

function renderOperation(operationId: string, endpoint: Endpoint, files: GeneratedFiles): Operation {
  const responses: Operation['responses'] = {};
  for (const [status, reply] of Object.entries(endpoint.replies)) {
    responses[status] = renderReply(endpoint, reply, status, files);
  }
  if (endpoint.stored) responses['304'] = { description: 'Not modified.', headers: headersOfNotModified(endpoint) };
  for (const [status, group] of Map.groupBy(codesOf(endpoint), (code) => problems[code].status)) {
    responses[status] = renderProblems(endpoint, group);
  }
  const { tag, summary, description, access, body } = endpoint;
  const needed = access && (access === 'any_key' ? 'any valid key' : `the scope ${access.scope} for the server`);
  return {
    operationId,
    summary,
    description: needed ? `${description} Requires ${needed}.` : description,
    tags: [tag],
    security: access ? [{ apiKey: [] }] : [],
    parameters: renderParameters(endpoint, files.widgetVersion),
    ...(body && { requestBody: { required: body.required, content: renderJson(body.schema) } }),
    responses,
  };
}

/** All errors of an endpoint. */
function codesOf(endpoint: Endpoint): Set<ProblemCode> {
  const codes = new Set<ProblemCode>([...endpoint.problems, 'method_not_allowed']);
  if (endpoint.access) codes.add('unauthorized');
  if (typeof endpoint.access === 'object') codes.add('forbidden').add('insufficient_scope').add('not_found');
  if (takesIdempotencyKey(endpoint)) codes.add('validation_error').add('in_progress').add('idempotency_mismatch');
  if (isLimited(endpoint.path)) codes.add('rate_limited');
  return codes.add(endpoint.failure);
}

function renderJson(schema: z.ZodType): NonNullable<Response['content']> {
  return { 'application/json': { schema: toRef(schema), example: schemas.get(schema)?.example } };
}

function renderReply(endpoint: Endpoint, reply: Reply, status: string, files: GeneratedFiles): Response {
  const { description, mediaType, schema } = reply;
  const content = {
    // Without a schema it is a text or, of any type, bytes.
    schema: schema ? toRef(schema) : mediaType === '*/*' ? {} : { type: 'string' },
    example: reply.example ?? files.texts[mediaType],
  };
  return { description, headers: headersOfReply(endpoint, status), content: { [mediaType]: content } };
}

function renderProblems(endpoint: Endpoint, codes: readonly ProblemCode[]): Response {
  const { errorStyle } = endpoint;
  const schema = errorStyle === 'json' ? { $ref: '#/components/schemas/ErrorResponse' } : { type: 'string' };
  const messages = codes.flatMap((code) => messagesOf(endpoint, code).map((message, at) => ({ code, message, at })));
  const examples = messages.map(({ code, message, at }) => {
    const body = renderProblem(errorStyle, code, message);
    return [at === 0 ? code : `${code}_${at + 1}`, { value: errorStyle === 'json' ? JSON.parse(body) : body }];
  });
  return {
    description: messages.map(({ message }) => `${message}.`).join(' '),
    headers: headersOfProblems(endpoint, codes),
    content: { [errorMediaTypes[errorStyle].split(';')[0]!]: { schema, examples: Object.fromEntries(examples) } },
  };
}

function toRef(schema: z.ZodType): { $ref: string } {
  return { $ref: `#/components/schemas/${schemas.get(schema)!.id}` };
}

/** Renders all named schemas. A test fails if no path uses one of them. */
function renderSchemas(): OpenApiDocument['components']['schemas'] {
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

type Parameter = Operation['parameters'][number];

const idempotencyKey: Parameter = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description: 'For 24 hours, a request with the same key gets the first response again and does not act again.',
  schema: { type: 'string', minLength: 1, maxLength: 255 },
  example: 'restart-2026-03-01-a',
};

const range: Parameter = {
  name: 'Range',
  in: 'header',
  required: false,
  description: 'The part of the file to send, such as bytes=0-1023 or bytes=-500. Of several parts, all of it is sent.',
  schema: { type: 'string' },
  example: 'bytes=0-99',
};

/** What the names in paths stand for. */
const inPaths: Readonly<Record<string, { readonly description: string; readonly example: string }>> = {
  id: { description: 'ID of the VPS.', example: 'demo' },
  server_id: { description: 'ID of the game server.', example: 'demo' },
  request_id: { description: 'The X-Request-Id of the request.', example: 'restart-4711' },
  path: {
    description: 'Path of the file below /media/; a slash in it may be written as %2F.',
    example: 'covers/price-list.svg',
  },
};

/** Renders the parameters of an endpoint. `widgetVersion` is the version of the status widget in the release. */
function renderParameters(endpoint: Endpoint, widgetVersion: string): Parameter[] {
  const { path, query } = endpoint;
  const version = { description: 'The version: 16 hexadecimal digits.', example: widgetVersion };
  const inPath = [...path.matchAll(/\{(\w+)\*?\}/g)].map(([, name = '']) => {
    const { description, example } = name === 'version' ? version : inPaths[name]!;
    return { name, in: 'path' as const, required: true, description, schema: { type: 'string' }, example };
  });
  const inQuery = Object.entries<z.ZodType>(query?.shape ?? {}).map(([name, schema]) => {
    const { $schema: _, description = '', example, ...shape } = z.toJSONSchema(schema);
    const required = !z.safeParse(schema, undefined).success;
    return { name, in: 'query' as const, required, description, schema: shape, example };
  });
  const inHeaders = [
    ...(takesIdempotencyKey(endpoint) ? [idempotencyKey] : []),
    ...(206 in endpoint.replies ? [range] : []),
  ];
  return [...inPath, ...inQuery, ...inHeaders];
}

type Header = OpenApiDocument['components']['headers'][string];
type Refs = Record<string, { $ref: string }>;

const text = { type: 'string' };
const seconds = { type: 'integer', minimum: 1 };

const header = (description: string, schema: Header['schema']): Header => ({ description, required: true, schema });
const optional = (...texts: Parameters<typeof header>): Header => ({ ...header(...texts), required: false });

/** The headers of responses, by the name of their component. */
const headers = {
  'X-Request-Id': header('The ID of this request in our logs.', text),
  ETag: header('The version of this response, for If-None-Match.', text),
  'Cache-Control': header('How long the response may be cached.', text),
  'Content-Location': optional('The present address of the article, if the request has a former path.', text),
  'RateLimit-Policy': header('The rate limit, as in IETF draft-ietf-httpapi-ratelimit-headers.', text),
  RateLimit: header('The remaining quota, as in the same draft.', text),
  'Retry-After': header('Seconds to wait before the next request.', seconds),
  'Store-Retry-After': optional('Seconds to wait before the next request, if our store does not answer.', seconds),
  'WWW-Authenticate': optional('The required authentication and scope, as in RFC 6750.', text),
  'Idempotent-Replayed': optional('true if this is the stored response of an earlier request.', text),
  'Idempotent-Request-Id': optional('The X-Request-Id of the first request with this Idempotency-Key.', text),
  'Action-Outcome': optional('Of a failed action: not_sent, or unknown if it may have been done. Every 502 has it.', {
    type: 'string',
    enum: ['not_sent', 'unknown'],
  }),
  'X-Domain-Unicode': optional(
    'An internationalised name as people write it (U-labels), percent-encoded UTF-8; `domain` has its A-labels.',
    text,
  ),
  'Accept-Ranges': header('bytes: a part can be requested with Range.', text),
  'Content-Range': header('The part, and the size of the file: bytes 0-99/1000, or bytes */1000 with 416.', text),
  Allow: header('The methods that the endpoint supports.', text),
} as const satisfies Record<string, Header>;

type HeaderName = keyof typeof headers;

/** The headers of a successful response. */
function headersOfReply(endpoint: Endpoint, status: string): Refs {
  const names: HeaderName[] = ['X-Request-Id', 'Cache-Control'];
  if (endpoint.stored && status.startsWith('2')) names.push('ETag');
  if (206 in endpoint.replies) names.push('Accept-Ranges');
  if (status === '206') names.push('Content-Range');
  if (endpoint.stored && status === '503') names.push('Retry-After');
  if (endpoint.hasFormerPaths) names.push('Content-Location');
  if (takesIdempotencyKey(endpoint)) names.push('Idempotent-Replayed', 'Idempotent-Request-Id');
  if (endpoint.hasUnicodeName) names.push('X-Domain-Unicode');
  // Caches share the other responses between clients.
  if (isLimited(endpoint.path) && !(endpoint.stored && status === '200')) names.push('RateLimit-Policy', 'RateLimit');
  return refs(names);
}

function headersOfNotModified({ hasFormerPaths }: Endpoint): Refs {
  return refs(['ETag', 'X-Request-Id', 'Cache-Control', ...(hasFormerPaths ? ['Content-Location' as const] : [])]);
}

/** The headers of the errors of one status. */
function headersOfProblems(endpoint: Endpoint, codes: readonly ProblemCode[]): Refs {
  const names: HeaderName[] = ['X-Request-Id', 'Cache-Control'];
  if (codes.includes('method_not_allowed')) names.push('Allow');
  if (codes.includes('unauthorized') || codes.includes('forbidden')) names.push('WWW-Authenticate');
  if (codes.includes('range_not_satisfiable')) names.push('Content-Range');
  if (codes.includes('in_progress')) names.push('Retry-After', 'Idempotent-Request-Id');
  if (takesIdempotencyKey(endpoint) && codes.includes('provider_error')) {
    names.push('Idempotent-Replayed', 'Idempotent-Request-Id');
  }
  if (takesIdempotencyKey(endpoint) && codes.some((code) => problems[code].status >= 500)) names.push('Action-Outcome');
  if (codes.includes('rate_limited')) names.push('Retry-After', 'RateLimit-Policy', 'RateLimit');
  const mayBeStoreFailure = endpoint.access !== undefined && codes.some((code) => problems[code].status === 500);
  return { ...refs(names), ...(mayBeStoreFailure && { 'Retry-After': refTo('Store-Retry-After') }) };
}

function refs(names: readonly HeaderName[]): Refs {
  return Object.fromEntries(names.map((name) => [name, refTo(name)]));
}

function refTo(name: HeaderName): { $ref: string } {
  return { $ref: `#/components/headers/${name}` };
}
