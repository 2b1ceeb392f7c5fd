import { describe, expect, test } from 'vitest';
import type { z } from 'zod';
import { keyAccess, messagesOf } from '#contract/endpoint.ts';
import { endpoints } from '#contract/endpoints.ts';
import type { Endpoint } from '#contract/endpoint.ts';
import { keyEntries } from '#contract/keys.ts';
import { renderOpenApi } from '#contract/openapi.ts';
import { ErrorResponse, errorMediaTypes, problems, renderProblem } from '#contract/problem.ts';
import type { ProblemCode } from '#contract/problem.ts';
import { document, operationsOf, ownExamples, presentation } from './document.ts';

type JsonSchema = z.core.JSONSchema.JSONSchema;

const operations = operationsOf(document);

test('the document is deterministic and has the expected versions', () => {
  expect(JSON.parse(JSON.stringify(renderOpenApi(ownExamples, presentation)))).toEqual(document);
  expect(document.openapi).toBe('3.1.1');
  expect(document.info.version).toBe('1.0.0');
});

test('the document has all endpoints of the contract except human-facing pages', () => {
  const described = operations.map(({ path, method, operationId }) => [operationId, method.toUpperCase(), path]);
  const programs = Object.entries<Endpoint>(endpoints).filter(([, { isPage }]) => !isPage);
  const served = programs.map(([name, { method, path }]) => [name, method, path.replace('*}', '}')]);
  expect(new Set(described.map(String))).toEqual(new Set(served.map(String)));
  expect(described).toHaveLength(served.length);
});

test('every object refuses unknown fields and lists required fields', () => {
  const open: string[] = [];
  const walk = (value: unknown, at: string): void => {
    if (typeof value !== 'object' || value === null) return;
    const { type, properties, additionalProperties, required } = value as JsonSchema;
    if (type === 'object') {
      const isMap = properties === undefined && typeof additionalProperties === 'object';
      const isClosed = properties !== undefined && additionalProperties === false && Array.isArray(required);
      if (!isMap && !isClosed) open.push(at);
    }
    for (const [key, inner] of Object.entries(value)) walk(inner, `${at}.${key}`);
  };
  walk(document, 'document');
  // Its only field is optional.
  expect(open).toEqual(['document.components.schemas.KeyRotationRequest']);
});

/** Lists all schemas in the document, with their places. */
function listSchemas(): (readonly [place: string, schema: JsonSchema])[] {
  const walk = (value: unknown, at: string): (readonly [string, JsonSchema])[] => {
    if (typeof value !== 'object' || value === null) return [];
    const inner = Object.entries(value).filter(([key]) => !/^examples?$/.test(key) || at.endsWith('/properties'));
    return [[at, value as JsonSchema], ...inner.flatMap(([key, each]) => walk(each, `${at}/${key}`))];
  };
  const { schemas, headers } = document.components;
  const others = operations.flatMap(({ operationId, parameters, requestBody, responses }) => [
    ...parameters.map(({ name, schema }) => [`${operationId} ${name}`, schema] as const),
    ...Object.values({ ...responses, requestBody }).flatMap((body) =>
      Object.entries(body?.content ?? {}).map(([type, { schema }]) => [`${operationId} ${type}`, schema] as const),
    ),
  ]);
  return [
    ...Object.entries(schemas).flatMap(([name, schema]) => walk(schema, name)),
    ...Object.entries(headers).flatMap(([name, { schema }]) => walk(schema, `header ${name}`)),
    ...others.flatMap(([at, schema]) => walk(schema, at)),
  ];
}

test.each<[rule: string, breaks: (schema: JsonSchema, place: string) => boolean]>([
  // A boolean constant is a text in Java and Rust, and source code is not a name.
  ['has no const', (schema) => 'const' in schema],
  [
    'has enums of words only',
    ({ enum: values = [] }) => !values.every((value) => /^[a-z][a-z0-9_:-]*$/.test(String(value))),
  ],
  ['has exact formats of numbers', ({ type, format }) => /number/.test(String(type)) && format !== 'double'],
  [
    'has exact formats of integers',
    ({ type, format }) => /integer/.test(String(type)) && !/^int(?:32|64)$/.test(format ?? ''),
  ],
  ['has inclusive bounds', (schema) => 'exclusiveMinimum' in schema || 'exclusiveMaximum' in schema],
  ['has one pattern for each field', ({ allOf = [] }) => allOf.length > 0],
  ['has no pattern beside a format', ({ pattern, format }) => pattern !== undefined && format !== undefined],
  ['has patterns of every language', ({ pattern = '' }) => /"|\\[/xup]|\(\?[=!<]/.test(pattern)],
  ['has null as a type', ({ anyOf = [] }) => anyOf.some((option) => !('$ref' in option) && option.type !== 'null')],
  [
    'has a name for each object',
    ({ type, properties }, place) => type === 'object' && properties !== undefined && place.includes('/'),
  ],
  [
    'has a name for each set of values in a shape',
    (schema, place) => 'enum' in schema && /^(?!header ).*\//.test(place),
  ],
])('each schema %s, which client generators need', (_, breaks) => {
  const schemas = listSchemas();
  expect(schemas.length).toBeGreaterThan(300);
  expect(schemas.flatMap(([place, schema]) => (breaks(schema, place) ? [place] : []))).toEqual([]);
});

test('no response header is required, and no body other than JSON and text is a text', () => {
  expect(Object.entries(document.components.headers).filter(([, header]) => 'required' in header)).toEqual([]);
  const contents = operations.flatMap(({ responses }) =>
    Object.values(responses).flatMap(({ content = {} }) => Object.entries(content)),
  );
  const others = contents.filter(([type]) => !/^(?:application\/json|text\/plain)$/.test(type));
  expect(others.length).toBeGreaterThan(6);
  for (const [, { schema }] of others) expect(schema).toEqual({ type: 'string', format: 'binary' });
});

test('the description says what the server checks of parameters', () => {
  const parametersOf = (operationId: string) => operations.find((one) => one.operationId === operationId)!.parameters;
  for (const { security, method, operationId } of operations) {
    const inHeaders = parametersOf(operationId).filter((parameter) => parameter.in === 'header');
    if (method === 'get' || security.length === 0 || operationId in keyEntries) continue;
    expect(inHeaders).toMatchObject([
      { name: 'Idempotency-Key', required: false, schema: { type: 'string', pattern: '^[!-~]{1,255}$' } },
      { name: 'X-Request-Id', required: false, schema: { type: 'string' } },
    ]);
  }
  const empty = operations.flatMap(({ parameters }) =>
    parameters.filter(
      ({ required, schema, in: place }) => place === 'query' && required && schema['type'] === 'string',
    ),
  );
  expect(empty.map(({ name, schema }) => `${name} ${String(schema['minLength'])}`)).toEqual(
    expect.arrayContaining(['path 1', 'category 1', 'domain 1']),
  );
  expect(empty.every(({ schema }) => schema['minLength'] === 1)).toBe(true);
  const [after] = parametersOf('listActivity');
  expect('').toMatch(new RegExp(String(after!.schema['pattern'])));
});

test('only parameters that every caller may repeat have examples', () => {
  const shown = operations.flatMap(({ parameters }) =>
    parameters.flatMap(({ name, example }) => (example === undefined ? [] : [name])),
  );
  expect(new Set(shown)).toEqual(new Set(['path', 'version', 'id', 'server_id', 'force', 'limit']));
});

test('the first server is PUBLIC_URL, if known', () => {
  const serversOf = (service?: string) => renderOpenApi(ownExamples, { service }).servers.map(({ url }) => url);
  expect(serversOf()).toEqual(['/']);
  expect(serversOf('https://api.nord.example')).toEqual(['https://api.nord.example', '/']);
});

test('every component and every property has a description', () => {
  const bare: string[] = [];
  const walk = ({ $ref, description, properties, items, additionalProperties: rest }: JsonSchema, at: string): void => {
    // A reference has the description of its component.
    if (!$ref && !/^[A-Z0-9].+\.$/s.test(description ?? '')) bare.push(at);
    for (const [name, property] of Object.entries(properties ?? {})) walk(property as JsonSchema, `${at}.${name}`);
    for (const inner of [items, rest]) if (typeof inner === 'object') walkFields(inner as JsonSchema, at);
  };
  const walkFields = ({ properties = {} }: JsonSchema, at: string): void => {
    for (const [name, property] of Object.entries(properties)) walk(property as JsonSchema, `${at}[].${name}`);
  };
  for (const [name, schema] of Object.entries(document.components.schemas)) walk(schema, name);
  expect(bare).toEqual([]);
});

// The linters check contact, server, unique names, and the examples of parameters and bodies.
test('all tags are in use and described', () => {
  for (const { description } of document.tags) expect(description).toMatch(/^[A-Z].+\.$/);
  const used = operations.flatMap(({ tags }) => tags);
  expect(new Set(used)).toEqual(new Set(document.tags.map(({ name }) => name)));
});

test('every response has an example, including scripts and files', () => {
  const contents = operations.flatMap(({ operationId, responses }) =>
    Object.entries(responses).flatMap(([status, { content = {} }]) =>
      Object.values(content).map((one) => ({ name: `${operationId} ${status}`, ...one })),
    ),
  );
  const bare = contents.filter(({ example, examples }) => example === undefined && !examples);
  expect(bare.map(({ name }) => name)).toEqual([]);
});

describe.each(operations)('$operationId', (operation) => {
  const { operationId, summary, security, parameters, requestBody, responses } = operation;
  const endpoint: Endpoint = endpoints[operationId as keyof typeof endpoints];

  test('has a summary, descriptions and the required key', () => {
    expect(summary).toMatch(/^[A-Z].+[^.]$/);
    expect(security).toEqual(endpoint.access ? [{ apiKey: [] }] : []);
    expect(operation.tags).toHaveLength(1);
    // Agents read the description without the summary, so the description says what the operation does.
    expect(operation.description).toMatch(/^[A-Z][a-z]+s (?:a|all|an|the|whether|healthy)\b.+\.$/);
    const { access } = endpoint;
    if (access) expect(operation.description).toContain(typeof access === 'string' ? keyAccess[access] : access.scope);
    for (const { description } of parameters) expect(description).toMatch(/\.$/);
  });

  test('describes the body with a component', () => {
    expect(requestBody?.required).toBe(endpoint.body?.required);
    const content = requestBody?.content['application/json'];
    expect(content?.schema).toEqual(endpoint.body && { $ref: expect.stringMatching(/^#\/components\/schemas\/\w+$/) });
  });

  test('shows each error as sent', () => {
    const style = endpoint.errorStyle;
    const type = errorMediaTypes[style].split(';')[0]!;
    const errors = Object.entries(responses).filter(
      ([status]) => !(Number(status) in endpoint.replies) && status !== '304',
    );
    for (const [status, { content }] of errors) {
      const examples = Object.entries(content![type]!.examples!);
      expect(examples.length).toBeGreaterThan(0);
      for (const [code, shown] of examples) {
        const [, name, at = '1'] = /^(\w+?)(?:_(\d))?$/.exec(code)!;
        const problemCode = name as ProblemCode;
        expect(String(problems[problemCode].status)).toBe(status);
        const sent = renderProblem(style, problemCode, messagesOf(endpoint, problemCode)[Number(at) - 1]);
        expect(shown).toEqual({ value: style === 'json' ? JSON.parse(sent) : sent });
      }
    }
  });
});

const codes = Object.keys(problems) as ProblemCode[];

test('errors outside of operations have the expected statuses', () => {
  const contents = operations.flatMap(({ responses }) =>
    Object.values(responses).flatMap(({ content = {} }) => Object.values(content)),
  );
  const described = new Set(contents.flatMap(({ examples = {} }) => Object.keys(examples)));
  const others = codes.filter((code) => !described.has(code));
  expect(Object.fromEntries(others.map((code) => [code, problems[code].status]))).toEqual({
    request_timeout: 408,
    misdirected_request: 421,
    upgrade_required: 426,
    headers_too_long: 431,
  });
});

describe.each(codes)('%s', (code) => {
  const { message } = problems[code];

  test('is one line that starts in lower case', () => {
    const text = renderProblem('text', code);
    expect(text).toBe(`${message[0]!.toLowerCase()}${message.slice(1)}\n`);
    expect(text).toMatch(/^[a-z][\x20-\x7e]{5,80}[^.\s]\n$/);
  });

  test('is an ErrorResponse in JSON', () => {
    const text = renderProblem('json', code);
    expect(text.endsWith('}\n')).toBe(true);
    expect(ErrorResponse.parse(JSON.parse(text))).toEqual({ success: false, error: code, message });
  });
});
