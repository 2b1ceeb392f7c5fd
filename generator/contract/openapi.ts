import { z } from 'zod';
import { head, toInfo } from '#contract/docs.ts';
import type { Presentation } from '#contract/docs.ts';
import { isLimited, messagesOf, takesIdempotencyKey } from '#contract/endpoint.ts';
import type { Endpoint } from '#contract/endpoint.ts';
import { endpoints } from '#contract/endpoints.ts';
import { schemas } from '#contract/primitives.ts';
import { ErrorResponse, errorMediaTypes, problems, renderProblem } from '#contract/problem.ts';
import type { ProblemCode } from '#contract/problem.ts';

type JsonSchema = Record<string, unknown>;
type Refs = Record<string, { readonly $ref: string }>;

interface ResponseObject {
  readonly description: string;
  readonly headers: Refs;
  readonly content?: Record<
    string,
    { readonly schema: JsonSchema; readonly example?: unknown; readonly examples?: Record<string, { value: unknown }> }
  >;
}

export type Operation = ReturnType<typeof renderOperation>;

/** The OpenAPI document that this program writes. */
export type OpenApi = ReturnType<typeof renderOpenApi>;

/** Generated files whose values appear in examples. */
interface GeneratedFiles {
  readonly widgetVersion: string;
  /** The script and the style sheet, by media type. */
  readonly texts: Readonly<Record<string, string>>;
}

/** Renders the OpenAPI 3.1 document of all endpoints. */
export function renderOpenApi(files: GeneratedFiles, presentation: Presentation = {}) {
  const paths: Record<string, { get?: Operation; post?: Operation }> = {};
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
      headers: headers as Record<string, ReturnType<typeof header>>,
      securitySchemes: { apiKey },
    },
  };
}

const apiKey = {
  type: 'http',
  scheme: 'bearer',
  description: 'An API key. Its scopes apply to its servers.',
};

function renderOperation(operationId: string, endpoint: Endpoint, files: GeneratedFiles) {
  const responses: Record<string, ResponseObject> = {};
  for (const [status, { description, mediaType, schema, example }] of Object.entries(endpoint.replies)) {
    const shape = schema ? toRef(schema) : mediaType === '*/*' ? {} : textSchema;
    const content = { [mediaType]: { schema: shape, example: example ?? files.texts[mediaType] } };
    responses[status] = { description, headers: headersOf(endpoint, status), content };
  }
  if (endpoint.stored) responses['304'] = { description: 'Not modified.', headers: headersOf(endpoint, '304') };
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
    ...(body && {
      requestBody: {
        required: body.required,
        content: { 'application/json': { schema: toRef(body.schema), example: schemas.get(body.schema)?.example } },
      },
    }),
    responses,
  };
}

function codesOf(endpoint: Endpoint): Set<ProblemCode> {
  const codes = new Set<ProblemCode>([...endpoint.problems, 'method_not_allowed']);
  if (endpoint.access) codes.add('unauthorized');
  if (typeof endpoint.access === 'object') codes.add('forbidden').add('insufficient_scope').add('not_found');
  if (takesIdempotencyKey(endpoint)) codes.add('validation_error').add('in_progress').add('idempotency_mismatch');
  if (isLimited(endpoint.path)) codes.add('rate_limited');
  return codes.add(endpoint.failure);
}

function renderProblems(endpoint: Endpoint, codes: readonly ProblemCode[]): ResponseObject {
  const { errorStyle } = endpoint;
  const schema = errorStyle === 'json' ? toRef(ErrorResponse) : textSchema;
  const messages = codes.flatMap((code) => messagesOf(endpoint, code).map((message, at) => ({ code, message, at })));
  const examples = messages.map(({ code, message, at }) => {
    const body = renderProblem(errorStyle, code, message);
    return [at === 0 ? code : `${code}_${at + 1}`, { value: errorStyle === 'json' ? JSON.parse(body) : body }];
  });
  return {
    description: messages.map(({ message }) => `${message}.`).join(' '),
    headers: headersOf(endpoint, 'error', codes),
    content: { [errorMediaTypes[errorStyle].split(';')[0]!]: { schema, examples: Object.fromEntries(examples) } },
  };
}

function toRef(schema: z.ZodType): { $ref: string } {
  return { $ref: `#/components/schemas/${schemas.get(schema)!.id}` };
}

function renderSchemas(): Record<string, JsonSchema> {
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

const textSchema: JsonSchema = { type: 'string' };
const seconds: JsonSchema = { type: 'integer', minimum: 1 };

const inHeader = (name: string, description: string, schema: JsonSchema, example: string) => {
  return { name, in: 'header' as const, required: false, description, schema, example };
};
const idempotencyKey = inHeader(
  'Idempotency-Key',
  'For 24 hours, repeating a request with the same key returns the first response and does not repeat the action.',
  { ...textSchema, minLength: 1, maxLength: 255 },
  'restart-2026-03-01-a',
);
const range = inHeader(
  'Range',
  'The part of the file to send, such as bytes=0-1023 or bytes=-500. A request for several parts gets the whole file.',
  textSchema,
  'bytes=0-99',
);

/** The parameters in paths, by name. */
const inPaths: Readonly<Record<string, { readonly description: string; readonly example: string }>> = {
  id: { description: 'ID of the VPS.', example: 'demo' },
  server_id: { description: 'ID of the game server.', example: 'demo' },
  request_id: { description: 'The X-Request-Id of the request.', example: 'restart-4711' },
  path: {
    description: 'Path of the file below /media/. A slash may be written as %2F.',
    example: 'covers/price-list.svg',
  },
};

/** Renders the parameters of an endpoint, with the widget version of the release as an example. */
function renderParameters(endpoint: Endpoint, widgetVersion: string) {
  const { path, query } = endpoint;
  const version = { description: 'The version: 16 hexadecimal digits.', example: widgetVersion };
  const inPath = [...path.matchAll(/\{(\w+)\*?\}/g)].map(([, name = '']) => {
    const { description, example } = name === 'version' ? version : inPaths[name]!;
    return { name, in: 'path' as const, required: true, description, schema: textSchema, example };
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

const header = (description: string, schema = textSchema) => ({ description, required: true, schema });
const optional = (description: string, schema = textSchema) => ({ description, required: false, schema });

const headers = {
  'X-Request-Id': header('The ID of this request in the service logs.'),
  ETag: header('The version of this response, for If-None-Match.'),
  'Cache-Control': header('How long the response may be cached.'),
  'Content-Location': optional('The current address of the article, if the request used a former path.'),
  'RateLimit-Policy': header('The rate limit, as defined by the IETF draft draft-ietf-httpapi-ratelimit-headers.'),
  RateLimit: header('The remaining quota, as defined by the same draft.'),
  'Retry-After': header('Seconds to wait before the next request.', seconds),
  'Optional-Retry-After': optional('Seconds to wait before the next request, if known.', seconds),
  'WWW-Authenticate': optional('The required authentication and scope, as defined by RFC 6750.'),
  'Idempotent-Replayed': optional('true if this is the stored response of an earlier request.'),
  'Idempotent-Request-Id': optional('The X-Request-Id of the first request with this Idempotency-Key.'),
  'Action-Outcome': optional(
    'not_sent, or unknown if a failed action may have been done. Every 500 and 502 has this header.',
    {
      ...textSchema,
      enum: ['not_sent', 'unknown'],
    },
  ),
  'X-Domain-Unicode': optional(
    'The domain in Unicode (U-labels), as percent-encoded UTF-8; the field domain has the A-labels.',
  ),
  'Accept-Ranges': header('bytes: Range requests are supported.'),
  'Content-Range': header('The range and the size of the file: bytes 0-99/1000, or bytes */1000 with 416.'),
  Allow: header('The supported methods.'),
};
type HeaderName = keyof typeof headers;

/** Selects the headers of a successful response, or of the errors of one status. */
function headersOf(endpoint: Endpoint, status: string, codes: readonly ProblemCode[] = []): Refs {
  const { stored, access, limit, hasFormerPaths, hasUnicodeName, replies } = endpoint;
  const refTo = (name: HeaderName) => ({ $ref: `#/components/headers/${name}` });
  const has = (...some: ProblemCode[]): boolean => some.some((code) => codes.includes(code));
  const isReply = status in replies;
  const isAction = takesIdempotencyKey(endpoint);
  const isReplayed = isAction && (isReply || has('provider_error'));
  // Caches share the other responses between clients, so a quota of one client must not be in them.
  const isCounted = isReply && isLimited(endpoint.path) && !(stored && status === '200');
  const sent: readonly [HeaderName, unknown][] = [
    ['ETag', status === '304'],
    ['X-Request-Id', true],
    ['Cache-Control', true],
    ['ETag', stored && status.startsWith('2')],
    ['Allow', has('method_not_allowed')],
    ['WWW-Authenticate', has('unauthorized', 'forbidden')],
    ['Accept-Ranges', isReply && 206 in replies],
    ['Content-Range', status === '206' || has('range_not_satisfiable')],
    ['Retry-After', (stored && status === '503') || has('in_progress', 'rate_limited')],
    ['Content-Location', hasFormerPaths && codes.length === 0],
    ['Idempotent-Replayed', isReplayed],
    ['Idempotent-Request-Id', isReplayed || has('in_progress')],
    ['X-Domain-Unicode', isReply && hasUnicodeName],
    ['Action-Outcome', isAction && codes.some((code) => problems[code].status >= 500)],
    ['RateLimit-Policy', isCounted || has('rate_limited')],
    ['RateLimit', isCounted || has('rate_limited')],
  ];
  const needsStore = access !== undefined || limit === 'feedback';
  const mayWait =
    (needsStore && codes.some((code) => problems[code].status === 500)) ||
    (has('provider_error') && (access !== undefined || limit === 'domains'));
  return {
    ...Object.fromEntries(sent.flatMap(([name, isSent]) => (isSent ? [[name, refTo(name)]] : []))),
    ...(mayWait && { 'Retry-After': refTo('Optional-Retry-After') }),
  };
}
