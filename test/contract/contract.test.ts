import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { schemas } from '#contract/primitives.ts';
import { document } from './document.ts';
import { shapes } from './shapes.ts';
import type { Fields } from './shapes.ts';

type Path = readonly (string | number)[];

/** The paths of all values inside a value, including its own path. */
function pathsIn(value: unknown, at: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [at];
  const entries: [string | number, unknown][] = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  return [at, ...entries.flatMap(([key, inner]) => pathsIn(inner, [...at, key]))];
}

function read(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((inner, key) => (inner as Fields)[key], value);
}

/** A copy of the value with another value at a path; undefined removes what is there. */
function replace(value: unknown, [key, ...rest]: Path, by: unknown): unknown {
  if (key === undefined) return by;
  const inner = replace((value as Fields)[key], rest, by);
  if (Array.isArray(value)) return value.with(Number(key), inner);
  const { [key]: _, ...others } = value as Fields;
  return inner === undefined ? others : { ...others, [key]: inner };
}

function kindOf(value: unknown): string {
  return Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value;
}

/** One value of every other JSON type. */
function valuesOfOtherTypes(value: unknown): unknown[] {
  return ['text', 1, true, null, [], { other: 1 }].filter((other) => kindOf(other) !== kindOf(value));
}

test('every shape of the OpenAPI document is in the table', () => {
  // A map has no fields of its own.
  const objects = Object.entries(document.components.schemas).filter(([, shape]) => 'properties' in shape);
  expect(new Set(objects.map(([name]) => name)).difference(new Set(shapes.map(({ name }) => name)))).toEqual(new Set());
});

const toPath = (field: string): Path => field.split('.').map((step) => (/^\d+$/.test(step) ? Number(step) : step));

describe.each(shapes)('$name', ({ name, schema, valid, optional = [], maps = [], nullable = [] }) => {
  const accepts = (value: unknown) => schema.safeParse(value).success;
  const isMap = (path: Path) => maps.includes(path.join('.'));
  const objects = pathsIn(valid).filter((path) => {
    const value = read(valid, path);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  });

  test('has the fields of the specification, and its name', () => {
    expect(Object.keys(schema.shape).toSorted()).toEqual(Object.keys(valid).toSorted());
    expect(schemas.get(schema)?.id).toBe(name);
    const { required } = z.toJSONSchema(schema);
    expect(required?.toSorted()).toEqual(
      Object.keys(valid)
        .filter((field) => !optional.includes(field))
        .toSorted(),
    );
  });

  test('parses a complete value unchanged, and one without the optional fields', () => {
    expect(schema.parse(valid)).toEqual(valid);
    const least = optional.reduce<unknown>((value, field) => replace(value, toPath(field), undefined), valid);
    expect(schema.parse(least)).toEqual(least);
  });

  test('refuses an extra field at any depth', () => {
    const paths = objects.filter((path) => !isMap(path));
    for (const extra of ['extra', 'constructor', 'Success']) {
      expect(paths.filter((path) => accepts(replace(valid, [...path, extra], 'x')))).toEqual([]);
    }
    expect(accepts(JSON.parse(`{"__proto__":1,${JSON.stringify(valid).slice(1)}`))).toBe(false);
  });

  test('refuses a missing required field at any depth', () => {
    const fields = objects
      .filter((path) => !isMap(path))
      .flatMap((path) => Object.keys(read(valid, path) as Fields).map((field) => [...path, field]));
    const acceptedWithout = fields.filter((path) => accepts(replace(valid, path, undefined)));
    expect(acceptedWithout).toEqual(optional.map(toPath));
  });

  test('accepts null where it may be, and refuses a value of another type at any path', () => {
    for (const path of nullable) expect(accepts(replace(valid, path.split('.'), null))).toBe(true);
    const accepted = pathsIn(valid).flatMap((path) =>
      valuesOfOtherTypes(read(valid, path))
        .filter(
          (other) => accepts(replace(valid, path, other)) && !(other === null && nullable.includes(path.join('.'))),
        )
        .map((other) => ({ path, other })),
    );
    expect(accepted).toEqual([]);
  });
});

/** Values of the right type that a field accepts, and values that it refuses. */
const values: readonly (readonly [shape: string, field: string, accepted: unknown[], refused: unknown[]])[] = [
  ['CatalogPlan', 'ram', [0.25, 1, 512], [0, -1, NaN, Infinity]],
  ['CatalogPlan', 'storage', [1, 10_000], [0, -1, 1.5, NaN]],
  ['CatalogPlan', 'price', [0, 2.5, 19.99], [-1, 1.999, NaN]],
  ['CatalogPlan', 'orderLink', ['https://a.example'], ['http://a.example', 'javascript:alert(1)', '/order', '']],
  ['ServiceCatalog', 'soldOutMessage', ['', 'Back in May.'], []],
  ['GameCatalog', 'plans', [[]], [[{}]]],
  ['PlanCatalogResponse', 'services', [{}], [{ web: {} }]],
  [
    'ContentItem',
    'path',
    ['/blog/a/b', '/blog/a-1/b-2'],
    ['blog/a/b', '/blog/a', '/blog/a/b/c', '/blog/A/b', '/blog/a/../b', '/knowledgebase/a/b', '/blog/a/b\n', ''],
  ],
  ['ContentItem', 'date', ['2024-02-29'], ['2026-02-29', '2026-1-1', '2026-01-01T00:00:00Z', '01.01.2026', '']],
  ['ContentItem', 'readTime', ['1 min read', '12 min read'], ['0 min read', '1 minute', '1.5 min read', '']],
  [
    'ContentItem',
    'cover',
    ['/media/a.svg', '/media/a/b/c-1_2.png'],
    ['media/a.svg', '/media/', '/media/../a.svg', '/media/a//b.svg', 'https://a.example/media/a.svg', '/media/.a'],
  ],
  ['KnowledgeBaseSummary', 'path', ['/knowledgebase/a/b'], ['/blog/a/b', '/kb/a/b', '/knowledgebase/a', '']],
  ['DomainPricing', 'term', [1, 10], [1.5, NaN]],
  ['DomainPricing', 'register', [0, 0.01, 9.5], [NaN, Infinity]],
  ['DomainTLD', 'tld', ['.com', '.co.uk', '.xn--p1ai'], ['com', '']],
  ['DomainTLD', 'order_url', ['https://a.example/?name=a.com'], ['order', '']],
  ['DomainSearchResponse', 'tld', ['.com'], ['com', '']],
  ['ErrorResponse', 'success', [false], [true]],
  ['SuccessResponse', 'success', [true, false], []],
  ['StatusResponse', 'status', ['up', 'maintenance', 'disrupted'], ['down', 'UP', '']],
  ['StatusResponse', 'maintenance', [[], ['a', 'b']], [[1]]],
  ['VPSPowerResponse', 'action', ['start', 'stop', 'reset'], ['restart', 'kill', '']],
  ['GamePowerResponse', 'action', ['start', 'stop', 'restart', 'kill'], ['reset', '']],
  ['VPSStateResponse', 'state', ['running', 'starting', 'stopping', 'offline', 'unknown'], ['off', 'RUNNING', '']],
  ['GameStateResponse', 'checked_at', ['2026-03-01T12:00:00.000Z'], ['2026-03-01', '1772366400', '']],
  ['KeyResponse', 'scopes', [[], ['vps-power:read']], [['*'], ['vps-power']]],
  ['ForceRequest', 'force', [true, false], ['true', 1]],
  ['HostingActionResponse', 'status', ['running', 'accepted', 'failed', 'unknown'], ['ok', 'lost', '']],
  ['HostingActionResponse', 'requested_at', ['2026-03-01T12:00:00.000Z'], ['2026-03-01', 'now', '']],
];

test.each(values)('%s.%s accepts the values of the specification, and no others', (shape, field, accepted, refused) => {
  const { schema, valid } = shapes.find(({ name }) => name === shape)!;
  for (const value of accepted)
    expect(schema.parse({ ...valid, [field]: value })).toEqual({ ...valid, [field]: value });
  expect(refused.filter((value) => schema.safeParse({ ...valid, [field]: value }).success)).toEqual([]);
});

test.each([
  ['wss://api.example.com/stream', true],
  ['ws://127.0.0.1:3000/stream', true],
  ['https://api.example.com/stream', false],
  ['/stream', false],
])('socket_url must be a websocket URL (%s)', (socketUrl, accepted) => {
  const { schema, valid } = shapes.find(({ name }) => name === 'GameConsoleWebsocketResponse')!;
  expect(schema.safeParse(replace(valid, ['websocket', 'socket_url'], socketUrl)).success).toBe(accepted);
});
