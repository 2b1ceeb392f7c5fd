import type { OpenApi, Operation } from '#contract/openapi.ts';
import { operationsOf } from './document.ts';

type Json = Readonly<Record<string, unknown>>;
type Content = Readonly<Record<string, { readonly schema: Json }>>;
type Resolve = (schema: Json) => Json;
type Compare = (from: Json, to: Json, at: string) => string[];

/**
 * Every change that breaks a client of the former document, one line each: something is removed, a request is restricted, or a response
 * may be something that it could not be. Added paths, operations, statuses, headers and optional parameters break nothing; an added
 * response field does, because the schemas are closed.
 */
export function findBreakingChanges(before: OpenApi, after: OpenApi): string[] {
  const compare = {
    request: (from: Json, to: Json, at: string) => findExcess(from, to, resolver(before), resolver(after), at),
    response: (from: Json, to: Json, at: string) => [
      ...findExcess(to, from, resolver(after), resolver(before), at),
      ...findRemovedFields(resolver(before)(from), resolver(after)(to), at),
    ],
  };
  const present = operationsOf(after);
  const changes = operationsOf(before).flatMap((from) => {
    const at = `${from.method.toUpperCase()} ${from.path}`;
    const to = present.find(({ path, method }) => path === from.path && method === from.method);
    return to ? compareOperations(from, to, at, compare) : [`${at}: removed`];
  });
  return [...new Set(changes)];
}

function compareOperations(
  from: Operation,
  to: Operation,
  at: string,
  compare: Readonly<Record<'request' | 'response', Compare>>,
): string[] {
  const changes: string[] = [];
  if (from.security.length === 0 && to.security.length > 0) changes.push(`${at}: requires a key`);
  const former = byName(from.parameters);
  const present = byName(to.parameters);
  for (const [name, { required, schema }] of former) {
    const parameter = present.get(name);
    if (!parameter) changes.push(`${at}: ${name} removed`);
    else {
      if (parameter.required && !required) changes.push(`${at}: ${name} is required`);
      changes.push(...compare.request(schema, parameter.schema, `${at}: ${name}`));
    }
  }
  for (const [name, { required }] of present) {
    if (required && !former.has(name)) changes.push(`${at}: ${name} is required`);
  }
  changes.push(...compareContents(from.requestBody?.content, to.requestBody?.content, `${at}: body`, compare.request));
  for (const [status, { headers, content }] of Object.entries(from.responses)) {
    const response = to.responses[status];
    if (!response) changes.push(`${at}: ${status} removed`);
    else {
      for (const name of Object.keys(headers)) {
        if (!response.headers[name]) changes.push(`${at}: ${status} ${name} removed`);
      }
      changes.push(...compareContents(content, response.content, `${at}: ${status}`, compare.response));
    }
  }
  return changes;
}

function byName(parameters: Operation['parameters']) {
  return new Map(parameters.map((parameter) => [`${parameter.in} ${parameter.name}`, parameter]));
}

function compareContents(from: Content = {}, to: Content = {}, at: string, compare: Compare): string[] {
  return Object.entries(from).flatMap(([type, { schema }]) => {
    const present = to[type];
    return present ? compare(schema, present.schema, at) : [`${at} ${type} removed`];
  });
}

function resolver(document: OpenApi): Resolve {
  return ({ $ref, ...rest }) => {
    const schema = typeof $ref === 'string' ? document.components.schemas[$ref.split('/').at(-1)!]! : {};
    const { allOf = [], ...own } = { ...schema, ...rest } as Json & { allOf?: Json[] };
    return Object.assign({}, ...allOf.map(resolver(document)), own) as Json;
  };
}

const upperBounds = ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems'];
const lowerBounds = ['minimum', 'exclusiveMinimum', 'minLength', 'minItems'];

/** What `inner` allows and `outer` does not. */
function findExcess(inner: Json, outer: Json, resolveInner: Resolve, resolveOuter: Resolve, at: string): string[] {
  const one = resolveInner(inner);
  const other = resolveOuter(outer);
  const found: string[] = [];
  const report = (keyword: string): void => {
    found.push(`${at}: ${keyword} differs (${JSON.stringify(one[keyword])}, ${JSON.stringify(other[keyword])})`);
  };
  if (!isTypeWithin(one['type'], other['type'])) report('type');
  const allowed = valuesOf(other);
  if (allowed && !valuesOf(one)?.every((value) => allowed.includes(value))) report('enum' in other ? 'enum' : 'const');
  for (const keyword of ['pattern', 'format']) {
    // An enum or a constant is stricter than both.
    if (keyword in other && one[keyword] !== other[keyword] && !valuesOf(one)) report(keyword);
  }
  for (const keyword of upperBounds) {
    if (keyword in other && !(Number(one[keyword]) <= Number(other[keyword]))) report(keyword);
  }
  for (const keyword of lowerBounds) {
    if (keyword in other && !(Number(one[keyword]) >= Number(other[keyword]))) report(keyword);
  }
  const within = (part: unknown, whole: unknown, name: string): string[] =>
    findExcess(part as Json, whole as Json, resolveInner, resolveOuter, `${at}${name}`);
  if (one['items'] && other['items']) found.push(...within(one['items'], other['items'], '[]'));
  found.push(...compareFields(one, other, at, within));
  return found;
}

function compareFields(one: Json, other: Json, at: string, within: Within): string[] {
  const found: string[] = [];
  for (const name of requiredOf(other)) {
    if (!requiredOf(one).includes(name)) found.push(`${at}.${name}: required on one side only`);
  }
  const fields = fieldsOf(other);
  for (const [name, field] of Object.entries(fieldsOf(one))) {
    const counterpart = fields[name] ?? other['additionalProperties'];
    if (counterpart === false) found.push(`${at}.${name}: exists on one side only`);
    else if (typeof counterpart === 'object') found.push(...within(field, counterpart, `.${name}`));
  }
  const [rest, allowed] = [one['additionalProperties'], other['additionalProperties']];
  if (typeof rest === 'object' && typeof allowed === 'object') found.push(...within(rest, allowed, '.*'));
  else if (rest !== false && allowed === false) found.push(`${at}: open on one side only`);
  return found;
}

type Within = (part: unknown, whole: unknown, name: string) => string[];

/** Optional response fields may be absent, so comparing what is allowed does not find that one was removed. */
function findRemovedFields(from: Json, to: Json, at: string): string[] {
  const present = fieldsOf(to);
  return Object.keys(fieldsOf(from)).flatMap((name) => (name in present ? [] : [`${at}.${name}: removed`]));
}

const fieldsOf = (schema: Json): Json => (schema['properties'] ?? {}) as Json;
const requiredOf = (schema: Json): readonly string[] => (schema['required'] ?? []) as readonly string[];

function valuesOf(schema: Json): readonly unknown[] | undefined {
  return 'const' in schema ? [schema['const']] : (schema['enum'] as readonly unknown[] | undefined);
}

function isTypeWithin(one: unknown, other: unknown): boolean {
  if (other === undefined) return true;
  const allowed = [other].flat();
  return (
    one !== undefined &&
    [one].flat().every((type) => allowed.includes(type) || (type === 'integer' && allowed.includes('number')))
  );
}
