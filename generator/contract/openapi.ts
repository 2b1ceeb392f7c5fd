import { z } from 'zod';
import { isLimited, messageOf, takesIdempotencyKey } from '#contract/endpoint.ts';
import { endpoints } from '#contract/endpoints.ts';
import type { Endpoint, Reply } from '#contract/endpoint.ts';
import { head } from '#contract/openapi-document.ts';
import type { OpenApiDocument, Operation } from '#contract/openapi-document.ts';
import { headers, headersOfNotModified, headersOfProblems, headersOfReply } from '#contract/openapi-headers.ts';
import { renderParameters } from '#contract/openapi-parameters.ts';
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
export function renderOpenApi(files: GeneratedFiles): OpenApiDocument {
  const paths: OpenApiDocument['paths'] = {};
  for (const [operationId, endpoint] of Object.entries<Endpoint>(endpoints)) {
    if (endpoint.isPage) continue;
    const path = (paths[endpoint.path.replace('*}', '}')] ??= {});
    path[endpoint.method === 'GET' ? 'get' : 'post'] = renderOperation(operationId, endpoint, files);
  }
  return {
    ...head,
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
  return {
    operationId,
    tags: [tag],
    summary,
    description: access ? `${description} ${describeAccess(access)}` : description,
    security: access ? [{ apiKey: [] }] : [],
    parameters: renderParameters(endpoint, files.widgetVersion),
    ...(body && { requestBody: renderBody(body) }),
    responses,
  };
}

function describeAccess(access: NonNullable<Endpoint['access']>): string {
  return access === 'any_key' ? 'Requires any valid key.' : `Requires the scope ${access.scope} for the server.`;
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

function renderBody({ schema, required }: NonNullable<Endpoint['body']>): NonNullable<Operation['requestBody']> {
  return {
    required,
    content: { 'application/json': { schema: toRef(schema), example: schemas.get(schema)?.example } },
  };
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
  const examples = codes.map((code) => {
    const body = renderProblem(errorStyle, code, messageOf(endpoint, code));
    return [code, { value: errorStyle === 'json' ? JSON.parse(body) : body }];
  });
  return {
    description: codes.map((code) => `${messageOf(endpoint, code)}.`).join(' '),
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
