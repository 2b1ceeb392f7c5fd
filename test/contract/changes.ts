import { isDeepStrictEqual } from 'node:util';
import type { OpenApi } from '#contract/openapi.ts';
import { operationsOf } from './document.ts';

type Json = Readonly<Record<string, unknown>>;

/** A header component; this program requires none, but another document may. */
interface Header {
  readonly required?: boolean;
  readonly schema: Json;
}

/** The facts of a contract by name, such as `GET /v1/info 200` or `response InfoResponse.version`. */
export type Facts = Readonly<Record<string, Json>>;

/** Extracts all facts that clients may rely on from an OpenAPI document, without descriptions and examples. */
export function toFacts(document: OpenApi): Facts {
  const { schemas, headers: headerComponents } = document.components;
  const facts: Record<string, Json> = { version: { version: document.info.version } };
  const messages = new Map<string, Set<string>>();
  const addShape = (side: 'request' | 'response', { shape }: Json): void => {
    if (typeof shape !== 'string' || `${side} ${shape}` in facts) return;
    for (const [name, fact] of flatten(`${side} ${shape}`, schemas[shape]!)) {
      facts[name] = fact;
      addShape(side, fact);
    }
  };
  for (const { method, path, operationId, tags, security, parameters, requestBody, responses } of operationsOf(
    document,
  )) {
    const operation = `${method.toUpperCase()} ${path}`;
    facts[operation] = { operationId, tags, ...(security.length > 0 && { needsKey: true }) };
    for (const { name, in: place, required, schema } of parameters) {
      facts[`${operation} ${place} ${name}`] = { required, ...keywordsOf(schema) };
    }
    if (requestBody) {
      const { required, content } = requestBody;
      const body = { required, ...keywordsOf(content['application/json'].schema) };
      facts[`${operation} body`] = body;
      addShape('request', body);
    }
    for (const [status, { headers, content = {} }] of Object.entries(responses)) {
      const names = Object.entries(headers).map(([name, header]) => {
        const component = nameOf(header.$ref);
        return component === name ? name : `${name} (${component})`;
      });
      const response: Record<string, unknown> = { headers: names };
      for (const [mediaType, { schema, examples = {} }] of Object.entries(content)) {
        const keywords = keywordsOf(schema);
        addShape('response', keywords);
        response[mediaType] = keywords['shape'] ?? keywords['type'] ?? 'any';
        const errors = Object.entries(examples).map(([name, { value }]) => ({ code: name.replace(/_\d$/, ''), value }));
        if (errors.length > 0) response['errors'] = [...new Set(errors.map(({ code }) => code))];
        for (const { code, value } of errors) {
          const message = typeof value === 'string' ? value.trim() : (value as { message: string }).message;
          const texts = messages.get(code) ?? new Set();
          messages.set(code, texts.add(message.charAt(0).toUpperCase() + message.slice(1)));
        }
      }
      facts[`${operation} ${status}`] = response;
    }
  }
  for (const [name, { required, schema }] of Object.entries<Header>(headerComponents)) {
    facts[`header ${name}`] = { required, ...keywordsOf(schema) };
  }
  for (const [code, texts] of messages) facts[`error ${code}`] = { messages: [...texts] };
  return facts;
}

const nameOf = (ref: string): string => ref.split('/').at(-1)!;

/** Lists a schema and its fields, items and map values by name. */
function flatten(name: string, schema: Json, required?: boolean): [name: string, fact: Json][] {
  const { properties = {}, required: names = [], items, additionalProperties } = schema;
  const fields = Object.entries(properties as Record<string, Json>).flatMap(([field, value]) =>
    flatten(`${name}.${field}`, value, (names as readonly string[]).includes(field)),
  );
  return [
    [name, { ...(required !== undefined && { required }), ...keywordsOf(schema) }],
    ...fields,
    ...(items ? flatten(`${name}[]`, items as Json) : []),
    ...(typeof additionalProperties === 'object' ? flatten(`${name}.*`, additionalProperties as Json) : []),
  ];
}

/** Picks the keywords of a schema, without the schemas inside. */
function keywordsOf(schema: Json): Json {
  const { description: _, properties: __, required: ___, items: ____, additionalProperties, $ref, ...rest } = schema;
  const others: Record<string, unknown> = rest;
  const [option, nothing] = (others['anyOf'] ?? []) as readonly (Json | undefined)[];
  if (option && nothing?.['type'] === 'null') {
    const { type = [], ...keywords } = keywordsOf(option);
    return { ...keywords, type: [type, 'null'].flat() };
  }
  // The pattern of a date only repeats its format.
  if (String(others['format']).startsWith('date')) delete others['pattern'];
  return {
    ...(typeof $ref === 'string' && { shape: nameOf($ref) }),
    ...others,
    ...(additionalProperties === false && { isClosed: true }),
  };
}

/** Renders facts as JSON, one per line. */
export function renderFacts(facts: Facts): string {
  const lines = Object.entries(facts).map(([name, fact]) => `${JSON.stringify(name)}: ${JSON.stringify(fact)}`);
  return `{\n${lines.join(',\n')}\n}\n`;
}

/**
 * Describes all changes between two contracts as compatible or breaking. Requests must not accept less. Responses must
 * not contain more: their shapes are closed, so an added field breaks clients that validate responses.
 */
export function findChanges(before: Facts, after: Facts): string[] {
  const removed = Object.keys(before).filter((name) => !(name in after));
  const added = Object.keys(after).filter((name) => !(name in before));
  return [
    ...withoutParts(removed).map((name) => `removed ${toWords(name, 'from')}: ${verdict(!name.startsWith('error '))}`),
    ...withoutParts(added).map((name) => {
      const breaks = isRequest(name)
        ? after[name]!['required'] === true
        : name.startsWith('response ') && isField(name);
      return `added ${toWords(name, 'to')}: ${verdict(breaks)}`;
    }),
    ...Object.entries(before).flatMap(([name, fact]) => (after[name] ? compareFacts(name, fact, after[name]) : [])),
  ];
}

const verdict = (breaks: boolean): string => (breaks ? 'breaking' : 'compatible');
const isRequest = (name: string): boolean => /^request |^[A-Z]+ \S+(?:$| (?:path|query|header|body)\b)/.test(name);
const isField = (name: string): boolean => /^\w+ \w+[.[]/.test(name);

/** Leaves out the fields of listed shapes, and the parts of listed operations. */
const withoutParts = (names: readonly string[]): string[] =>
  names.filter((name) => !names.some((whole) => name.startsWith(whole) && /^[ .[]/.test(name.slice(whole.length))));

const toWords = (name: string, preposition: string): string =>
  name.replace(/^(?:request|response) (.+)\.(\w+)$/, `field $2 ${preposition} $1`);

function compareFacts(name: string, before: Json, after: Json): string[] {
  const keywords = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return keywords.flatMap((keyword) => {
    const [from, to] = [before[keyword], after[keyword]];
    if (isDeepStrictEqual(from, to)) return [];
    const { narrows, widens, change } = compareValues(keyword, from, to);
    return `${name}: ${keyword} ${change}: ${verdict(isRequest(name) ? narrows : widens)}`;
  });
}

/** Compares the allowed values of a keyword: `narrows` if values were lost, `widens` if values were added. */
function compareValues(keyword: string, from: unknown, to: unknown) {
  const show = (value: unknown): string => (value === undefined ? 'nothing' : JSON.stringify(value));
  let change = `changed from ${show(from)} to ${show(to)}`;
  let [narrows, widens] = [to !== undefined, from !== undefined];
  if (narrows && widens && ['type', 'enum', 'headers', 'errors', 'messages', 'tags'].includes(keyword)) {
    const [lost, gained] = [without(from, to), without(to, from)];
    const parts = [...lost.map((value) => `lost ${show(value)}`), ...gained.map((value) => `gained ${show(value)}`)];
    change = parts.join(', ') || 'changed their order';
    const isNumber = (value: unknown, types: unknown): boolean =>
      value === 'integer' && without('number', types).length === 0;
    [narrows, widens] = [lost.some((value) => !isNumber(value, to)), gained.some((value) => !isNumber(value, from))];
    // Clients may rely on a header.
    if (keyword === 'headers') widens = narrows;
  } else if (/^(?:exclusiveM|m)(?:in|ax)/.test(keyword)) {
    const isMaximum = keyword.toLowerCase().includes('max');
    const [former, present] = [from, to].map((bound) => Number(bound ?? (isMaximum ? Infinity : -Infinity)));
    [narrows, widens] = isMaximum ? [present! < former!, present! > former!] : [present! > former!, present! < former!];
  } else if (typeof (to ?? from) === 'boolean') {
    [narrows, widens] = [to === true, from === true];
  }
  // Clients must not rely on these keywords.
  if (['errors', 'messages', 'tags', 'version'].includes(keyword)) [narrows, widens] = [false, false];
  return { narrows, widens, change };
}

/** Lists the values of a list that another list lacks. */
function without(list: unknown, other: unknown): unknown[] {
  return [list].flat().filter((value) => ![other].flat().some((same) => isDeepStrictEqual(value, same)));
}
