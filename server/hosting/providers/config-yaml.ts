import { closest, distance } from 'fastest-levenshtein';
import { LineCounter, isAlias, isMap, isNode, isPair, isScalar, isSeq, parseDocument, visit } from 'yaml';
import { z } from 'zod';
import type { Environment } from '../../settings.ts';

/** Something wrong in a file; lines and columns count from 1. The message never holds a value of the file. */
export interface SettingsProblem {
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

/** Keys that name a part of every JavaScript object. */
const reservedKeys = new Set(['__proto__', 'constructor', 'prototype']);

/**
 * Parses YAML (1.2, core schema), puts the environment's values in the place of each "${NAME}", and checks the whole.
 * Answers the value, or every problem in the order of the file.
 */
export function parseSettings<Schema extends z.ZodType>(
  text: string,
  schema: Schema,
  environment: Environment,
): { readonly value?: z.infer<Schema>; readonly problems: readonly SettingsProblem[] } {
  const lines = new LineCounter();
  const found: { readonly offset: number; readonly message: string }[] = [];
  const report = (offset: number, message: string): void => void found.push({ offset, message });
  /** Places of variables that are not set: what else is wrong there only follows from that. */
  const unset = new Set<number>();
  const answer = () => ({
    problems: found
      .toSorted((a, b) => a.offset - b.offset)
      .map(({ offset, message }) => {
        const { line, col } = lines.linePos(offset);
        return { line: Math.max(line, 1), column: Math.max(col, 1), message };
      }),
  });

  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, schema: 'core', version: '1.2' });
  for (const { pos, message } of [...document.errors, ...document.warnings]) report(pos[0], withoutSource(message));
  visit(document, (key, node) => {
    if (isAlias(node)) report(node.range?.[0] ?? 0, 'YAML aliases (*name) are not allowed');
    else if (isPair(node) && isScalar(node.key) && reservedKeys.has(String(node.key.value))) {
      report(node.key.range?.[0] ?? 0, 'a reserved word is not allowed as a key');
    } else if (isScalar(node) && key !== 'key' && typeof node.value === 'string') {
      const missing: string[] = [];
      node.value = node.value.replaceAll(/\$\{([^}]*)\}?/g, (whole, name: string) => {
        const value = whole.endsWith('}') ? environment[name] : undefined;
        if (!value) missing.push(name);
        return value ?? '';
      });
      for (const name of missing) report(node.range?.[0] ?? 0, describeMissing(name));
      if (missing.length > 0) unset.add(node.range?.[0] ?? 0);
    }
  });
  if (document.errors.length > 0) return answer();
  const input: unknown = document.toJS();
  const result = schema.safeParse(input);
  for (const issue of result.error?.issues ?? []) {
    for (const { path, message, atKey } of describe(issue, schema, input)) {
      const offset = offsetOf(document.contents, path, atKey);
      if (!unset.has(offset)) report(offset, message);
    }
  }
  return found.length === 0 && result.success ? { value: result.data, problems: [] } : answer();
}

function describeMissing(name: string): string {
  return /^[A-Za-z_]\w*$/.test(name)
    ? `the environment variable ${name} is not set`
    : '"${" must be followed by the name of an environment variable and "}"';
}

/** Some messages of the parser quote what they stumbled over, which may be a credential. */
function withoutSource(message: string): string {
  return message.replace(/(escape sequence|characters|token|stream|tag|found):? .*$/s, '$1');
}

interface Description {
  readonly path: readonly PropertyKey[];
  readonly message: string;
  /** Whether the place is the key rather than its value. */
  readonly atKey?: boolean;
}

function describe(issue: z.core.$ZodIssue, schema: z.ZodType, input: unknown): Description[] {
  const { path } = issue;
  const name = path.length > 0 ? `"${formatPath(path)}" ` : 'the file ';
  if (issue.code === 'unrecognized_keys') {
    const known = fieldsAt(schema, path, input);
    return issue.keys.map((key) => {
      const message = `unknown field "${formatPath([...path, key])}"${suggest(key, known) ?? ` (the fields are ${known.join(', ')})`}`;
      return { path: [...path, key], atKey: true, message };
    });
  }
  if (issue.code === 'invalid_key') {
    return [{ path, atKey: true, message: `${name}${issue.issues[0]?.message ?? 'is not a valid key'}` }];
  }
  const at = valueAt(input, path);
  if (issue.code === 'invalid_union' || issue.code === 'invalid_value') {
    if (at === undefined) return [{ path, message: `missing field "${formatPath(path)}"` }];
    const known = issue.code === 'invalid_value' ? issue.values.map(String) : typesAt(schema, path);
    const hint = (typeof at === 'string' && suggest(at, known)) || '';
    return [{ path, message: `${name}must be one of ${known.join(', ')}${hint}` }];
  }
  if (issue.code === 'invalid_type') {
    if (at === undefined && path.length > 0) return [{ path, message: `missing field "${formatPath(path)}"` }];
    const expected = typeNames[issue.expected] ?? issue.expected;
    if (issue.expected === 'int' && typeof at === 'number') return [{ path, message: `${name}must be ${expected}` }];
    return [{ path, message: `${name}must be ${expected}, not ${typeOf(at)}` }];
  }
  return [{ path, message: `${name}${issue.message}` }];
}

const typeNames: Partial<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a mapping of fields',
  record: 'a mapping of fields',
};

function typeOf(value: unknown): string {
  if (value === null || value === undefined) return 'empty';
  if (Array.isArray(value)) return 'a list';
  return typeNames[typeof value] ?? typeof value;
}

function formatPath(path: readonly PropertyKey[]): string {
  return path
    .map((part, index) => (typeof part === 'number' ? `[${part}]` : `${index > 0 ? '.' : ''}${String(part)}`))
    .join('');
}

function suggest(word: string, known: readonly string[]): string | undefined {
  if (known.length === 0) return undefined;
  const nearest = closest(word, known);
  return distance(word, nearest) <= Math.max(2, word.length / 3) ? ` (did you mean "${nearest}"?)` : undefined;
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((at, key) => (at as Record<PropertyKey, unknown> | null | undefined)?.[key], input);
}

/** The schema below a path, taking the member of a union that the input is of. */
function schemaAt(schema: z.ZodType, path: readonly PropertyKey[], input: unknown): unknown {
  let at: unknown = schema;
  for (const [index, part] of [...path, undefined].entries()) {
    while (at instanceof z.ZodOptional || at instanceof z.ZodDefault) at = at.unwrap();
    if (at instanceof z.ZodDiscriminatedUnion) {
      const value = valueAt(input, path.slice(0, index)) as { type?: unknown } | undefined;
      at = at.options.find((option) => option instanceof z.ZodObject && typeName(option) === value?.type) ?? at;
    }
    if (part === undefined) break;
    if (at instanceof z.ZodObject) at = at.shape[String(part)];
    else if (at instanceof z.ZodArray) at = at.element;
    else if (at instanceof z.ZodRecord) at = at.valueType;
  }
  return at;
}

function typeName(option: z.ZodObject): unknown {
  const { type } = option.shape;
  return type instanceof z.ZodLiteral ? type.value : undefined;
}

function fieldsAt(schema: z.ZodType, path: readonly PropertyKey[], input: unknown): string[] {
  const at = schemaAt(schema, path, input);
  return at instanceof z.ZodObject ? Object.keys(at.shape) : [];
}

/** The types that a provider may be of; the path is that of its `type`. */
function typesAt(schema: z.ZodType, path: readonly PropertyKey[]): string[] {
  const at = schemaAt(schema, path.slice(0, -1), undefined);
  return at instanceof z.ZodDiscriminatedUnion
    ? at.options.flatMap((option) => (option instanceof z.ZodObject ? [String(typeName(option))] : []))
    : [];
}

/** The offset of the node at a path, or of the nearest one above it. */
function offsetOf(root: unknown, path: readonly PropertyKey[], atKey = false): number {
  let node = root;
  let offset = isNode(root) ? (root.range?.[0] ?? 0) : 0;
  for (const [index, part] of path.entries()) {
    let key: unknown;
    if (isMap(node)) {
      const pair = node.items.find((item) => String(isScalar(item.key) ? item.key.value : item.key) === String(part));
      if (!pair) break;
      ({ key, value: node } = pair);
    } else if (isSeq(node)) {
      node = node.items[Number(part)];
    } else {
      break;
    }
    const place = (atKey && index === path.length - 1) || !isNode(node) ? key : node;
    if (isNode(place)) offset = place.range?.[0] ?? offset;
  }
  return offset;
}
