import { z } from 'zod';
import { head, toInfo } from '#contract/docs.ts';
import type { Presentation } from '#contract/docs.ts';
import { isLimited, keyAccess, messagesOf, takesIdempotencyKey } from '#contract/endpoint.ts';
import type { Endpoint } from '#contract/endpoint.ts';
import samples from '#contract/examples.json' with { type: 'json' };
import { endpoints } from '#contract/endpoints.ts';
import { operatorEndpoints } from '#contract/operators.ts';
import { schemas } from '#contract/primitives.ts';
import {
  ErrorResponse,
  OperatorConflictResponse,
  errorMediaTypes,
  problems,
  renderProblem,
} from '#contract/problem.ts';
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

type Values = Readonly<Record<string, string>>;

/** Examples from a release, by operation. */
export interface Examples {
  /** Values of parameters, by name. */
  readonly parameters: Readonly<Record<string, Values | undefined>>;
  /** Bodies with the status 200; samples stand in for missing ones. */
  readonly bodies: Readonly<Record<string, unknown>>;
}

type Method = Lowercase<Endpoint['method']>;

/** Renders the OpenAPI 3.1 document of the public endpoints, or of the operators' port. */
export function renderOpenApi(examples: Examples, { service, ...presentation }: Presentation = {}, isPublic = true) {
  const paths: Record<string, { [method in Method]?: Operation }> = {};
  for (const [operationId, endpoint] of Object.entries<Endpoint>(isPublic ? endpoints : operatorEndpoints)) {
    if (endpoint.isPage) continue;
    const path = (paths[endpoint.path.replace('*}', '}')] ??= {});
    path[endpoint.method.toLowerCase() as Method] = renderOperation(operationId, endpoint, examples);
  }
  return {
    ...head,
    info: toInfo(presentation),
    ...(!isPublic && { tags: [{ name: 'Operators', description: 'Servers of customers, and their API keys.' }] }),
    servers: [...(service ? [{ url: service, description: 'The public address.' }] : []), ...head.servers],
    paths,
    components: {
      schemas: renderSchemas((name) => name === 'ErrorResponse' || name.startsWith('Operator') !== isPublic),
      headers: headers as Record<string, ReturnType<typeof header>>,
      securitySchemes: { apiKey: isPublic ? apiKey : { ...apiKey, description: 'An operator token.' } },
    },
  };
}

const apiKey = {
  type: 'http',
  scheme: 'bearer',
  description: 'An API key. Its scopes apply to its servers.',
};

function renderOperation(operationId: string, endpoint: Endpoint, { parameters, bodies }: Examples) {
  const responses: Record<string, ResponseObject> = {};
  const sample = bodies[operationId] ?? (samples as Readonly<Record<string, unknown>>)[operationId];
  for (const [status, { description, mediaType, schema, example }] of Object.entries(endpoint.replies)) {
    const shape = schema ? toRef(schema) : mediaType === 'text/plain' ? textSchema : binarySchema;
    const content = { [mediaType]: { schema: shape, example: (status === '200' ? sample : undefined) ?? example } };
    responses[status] = { description, headers: headersOf(endpoint, status), content };
  }
  if (endpoint.stored) responses['304'] = { description: 'Not modified.', headers: headersOf(endpoint, '304') };
  for (const [status, group] of Map.groupBy(codesOf(endpoint), (code) => problems[code].status)) {
    responses[status] = renderProblems(endpoint, group);
  }
  const { tag, summary, description, access, body, right } = endpoint;
  const key = typeof access === 'string' ? keyAccess[access] : access && `the scope ${access.scope} for the server`;
  const needed = key ?? (right && `the right ${right === 'any' ? 'servers or keys' : right}`);
  return {
    operationId,
    summary,
    description: needed ? `${description} Requires ${needed}.` : description,
    tags: [tag],
    security: needed ? [{ apiKey: [] }] : [],
    parameters: renderParameters(endpoint, parameters[operationId]),
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
  if (endpoint.access ?? endpoint.right) codes.add('unauthorized').add('forbidden');
  if (endpoint.right) codes.add('insufficient_scope');
  if (typeof endpoint.access === 'object') codes.add('insufficient_scope').add('not_found');
  if (takesIdempotencyKey(endpoint)) codes.add('validation_error').add('in_progress').add('idempotency_mismatch');
  if (isLimited(endpoint.path)) codes.add('rate_limited');
  return codes.add(endpoint.failure);
}

function renderProblems(endpoint: Endpoint, codes: readonly ProblemCode[]): ResponseObject {
  const { errorStyle } = endpoint;
  const shape = endpoint.right && codes.includes('conflict') ? OperatorConflictResponse : ErrorResponse;
  const schema = errorStyle === 'json' ? toRef(shape) : textSchema;
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

function renderSchemas(isNeeded: (name: string) => boolean): Record<string, JsonSchema> {
  const { schemas: shapes } = z.toJSONSchema(schemas, {
    uri: (id) => `#/components/schemas/${id}`,
    override: ({ zodSchema, jsonSchema }) => {
      // A schema that only has another description refers to its component.
      if (schemas.has(zodSchema)) jsonSchema.description = schemas.get(zodSchema)!.description;
    },
  });
  const needed = Object.entries(shapes).filter(([name]) => isNeeded(name));
  const named = needed.toSorted(([a], [b]) => (a < b ? -1 : 1));
  const isSchema = ({ type, anyOf }: JsonSchema) => typeof type === 'string' || Array.isArray(anyOf);
  return JSON.parse(JSON.stringify(Object.fromEntries(named)), (_, value: JsonSchema | null) =>
    typeof value === 'object' && value && isSchema(value) ? toPortable(value) : value,
  ) as Record<string, JsonSchema>;
}

/** Matches regular expressions that break Ruby literals or struct tags of Go, or that RE2 lacks. */
const foreign = /"|\\[xup]|\(\?[=!<]/;

/** Rewrites a JSON Schema, after those in it, with the keywords that client generators of every language support. */
function toPortable({ anyOf, enum: values, exclusiveMinimum: above, ...schema }: JsonSchema): JsonSchema {
  const { const: _constant, $schema: _schema, $id: _id, ...shape } = schema;
  const [option, nothing] = (anyOf ?? []) as JsonSchema[];
  if (nothing?.['type'] === 'null' && option?.['type']) return { ...option, ...shape, type: [option['type'], 'null'] };
  if (anyOf) shape['anyOf'] = anyOf;
  if (Array.isArray(values) && /^(?:[a-z][a-z0-9_:-]*(?:,|$))+$/.test(values.join())) shape['enum'] = values;
  const isInteger = shape['type'] === 'integer';
  if (above !== undefined) shape['minimum'] = Number(above) + Number(isInteger);
  if (isInteger) shape['format'] = Number(shape['maximum'] ?? Infinity) < 2 ** 31 ? 'int32' : 'int64';
  if (shape['type'] === 'number') shape['format'] = 'double';
  const pattern = (shape['pattern'] as string | undefined)?.replaceAll('\\/', '/');
  if (pattern !== undefined) shape['pattern'] = pattern;
  if (shape['format'] || foreign.test(pattern ?? '')) delete shape['pattern'];
  return shape;
}

const textSchema: JsonSchema = { type: 'string' };
const binarySchema: JsonSchema = { type: 'string', format: 'binary' };
const seconds: JsonSchema = { type: 'integer', format: 'int32', minimum: 1 };

const inHeader = (name: string, description: string, schema = textSchema) => {
  return { name, in: 'header' as const, required: false, description, schema, example: undefined };
};
const idempotencyKey = inHeader(
  'Idempotency-Key',
  'For 24 hours, repeating a request with the same key returns the first response and does not repeat the action.',
  { ...textSchema, pattern: '^[!-~]{1,255}$' },
);
const requestId = inHeader(
  'X-Request-Id',
  'An ID for this request: 8 to 64 letters, digits, dots, hyphens and underscores. Any other value is replaced.',
);
const range = inHeader(
  'Range',
  'The part of the file to send, such as bytes=0-1023 or bytes=-500. A request for several parts gets the whole file.',
);

/** The descriptions of parameters in paths, by name. */
const inPaths: Readonly<Record<string, string>> = {
  id: 'ID of the VPS.',
  server_id: 'ID of the game server.',
  request_id: 'The X-Request-Id of the request.',
  server: 'Name of the server: game: or vps: followed by its ID.',
  key_id: 'ID of the child key.',
  name: 'Label of an active key, or the ID of a key.',
  path: 'Path of the file below /media/. A slash may be written as %2F.',
  version: 'The version: 16 hexadecimal digits.',
};
/** The servers of the demo. */
const demo: Values = { id: 'demo', server_id: 'demo' };

/** Renders the parameters of an endpoint, with examples that the service of the release answers. */
function renderParameters(endpoint: Endpoint, examples = demo) {
  const { path, query } = endpoint;
  const inPath = [...path.matchAll(/\{(\w+)\*?\}/g)].map(([, name = '']) => {
    const [description, example] = [inPaths[name]!, examples[name]];
    return { name, in: 'path' as const, required: true, description, schema: textSchema, example };
  });
  const inQuery = Object.entries<z.ZodType>(query?.shape ?? {}).map(([name, schema]) => {
    const { description = '', example = examples[name], ...shape } = z.toJSONSchema(schema);
    const required = !z.safeParse(schema, undefined).success;
    // An empty value counts as missing.
    if (required && shape['type'] === 'string') shape['minLength'] = 1;
    return { name, in: 'query' as const, required, description, schema: toPortable(shape), example };
  });
  const inHeaders = [
    ...(takesIdempotencyKey(endpoint) ? [idempotencyKey, requestId] : []),
    ...(206 in endpoint.replies ? [range] : []),
  ];
  return [...inPath, ...inQuery, ...inHeaders];
}

/** None is required, because a CDN or another web server may drop some. */
const header = (description: string, schema = textSchema) => ({ description, schema });

const headers = {
  'X-Request-Id': header('The ID of this request in the service logs.'),
  ETag: header('The version of this response, for If-None-Match.'),
  'Cache-Control': header('How long the response may be cached.'),
  'Content-Location': header('The current address of the article, if the request used a former path.'),
  'RateLimit-Policy': header('The rate limit, as defined by the IETF draft draft-ietf-httpapi-ratelimit-headers.'),
  RateLimit: header('The remaining quota, as defined by the same draft.'),
  'Retry-After': header('Seconds to wait before the next request.', seconds),
  'Optional-Retry-After': header('Seconds to wait before the next request, if known.', seconds),
  'WWW-Authenticate': header('The required authentication and scope, as defined by RFC 6750.'),
  'Idempotent-Replayed': header('true if this is the stored response of an earlier request.'),
  'Idempotent-Request-Id': header('The X-Request-Id of the first request with this Idempotency-Key.'),
  'Action-Outcome': header(
    'not_sent, or unknown if a failed action may have been done. Every 500 and 502 has this header.',
    {
      ...textSchema,
      enum: ['not_sent', 'unknown'],
    },
  ),
  'X-Domain-Unicode': header(
    'The domain in Unicode (U-labels), as percent-encoded UTF-8; the field domain has the A-labels.',
  ),
  'Accept-Ranges': header('bytes: Range requests are supported.'),
  'Content-Range': header('The range and the size of the file: bytes 0-99/1000, or bytes */1000 with 416.'),
  Allow: header('The supported methods.'),
};
type HeaderName = keyof typeof headers;

/** Selects the headers of a successful response, or of the errors of one status. */
function headersOf(endpoint: Endpoint, status: string, codes: readonly ProblemCode[] = []): Refs {
  const { stored, access, right, limit, hasFormerPaths, hasUnicodeName, replies } = endpoint;
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
  const needsStore = (access ?? right) !== undefined || limit === 'feedback';
  const mayWait =
    (needsStore && codes.some((code) => problems[code].status === 500)) ||
    (has('provider_error') && (access !== undefined || limit === 'domains'));
  return {
    ...Object.fromEntries(sent.flatMap(([name, isSent]) => (isSent ? [[name, refTo(name)]] : []))),
    ...(mayWait && { 'Retry-After': refTo('Optional-Retry-After') }),
  };
}
