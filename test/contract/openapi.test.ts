import { describe, expect, test } from 'vitest';
import type { z } from 'zod';
import { messagesOf } from '#contract/endpoint.ts';
import { endpoints } from '#contract/endpoints.ts';
import type { Endpoint } from '#contract/endpoint.ts';
import { renderOpenApi } from '#contract/openapi.ts';
import { ErrorResponse, errorMediaTypes, problems, renderProblem } from '#contract/problem.ts';
import type { ProblemCode } from '#contract/problem.ts';
import { document, files, operationsOf, presentation } from './document.ts';

type JsonSchema = z.core.JSONSchema.JSONSchema;

const operations = operationsOf(document);

test('the document is deterministic and has the expected versions', () => {
  expect(JSON.parse(JSON.stringify(renderOpenApi(files, presentation)))).toEqual(document);
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
  expect(open).toEqual([]);
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
    expect(operation.description).toMatch(/^[A-Z].+\.$/);
    const { access } = endpoint;
    if (access) expect(operation.description).toContain(access === 'any_key' ? 'any valid key' : access.scope);
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
