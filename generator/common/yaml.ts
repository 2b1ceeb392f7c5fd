import { LineCounter, isAlias, isMap, isScalar, isSeq, parseDocument, visit } from 'yaml';
import type { ErrorCode, Node, YAMLMap } from 'yaml';
import { z } from 'zod';
import { suggest } from './suggest.ts';

/** Keys that name a part of every JavaScript object: refused, so that no map can be mistaken for holding them. */
const reservedKeys = new Set(['__proto__', 'constructor', 'prototype']);

/** A place in a text file; lines and columns count from 1, and `file` is as a terminal can open it. */
export interface Place {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** Collects what is wrong in text files. */
export interface Problems {
  error(place: Place, message: string, hint?: string): void;
}

/** A checked YAML document. */
export interface Checked<Value> {
  readonly value: Value;
  /** The place of the value at a path of keys, or of the nearest one above it. */
  readonly place: (path: readonly PropertyKey[]) => Place;
}

/**
 * Parses YAML (1.2, core schema) and checks it. Reports every problem at its line and column, and then returns
 * undefined. Aliases, custom tags and duplicate keys are refused.
 */
export function parseYaml<Schema extends z.ZodType>(
  text: string,
  schema: Schema,
  file: string,
  problems: Problems,
): Checked<z.infer<Schema>> | undefined {
  const lines = new LineCounter();
  let broken = false;
  const placeAt = (offset: number): Place => {
    const { line, col } = lines.linePos(offset);
    return { file, line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const report = (offset: number, message: string, hint?: string) => {
    broken = true;
    problems.error(placeAt(offset), message, hint);
  };
  const document = parseDocument(text, {
    uniqueKeys: false,
    lineCounter: lines,
    version: '1.2',
    schema: 'core',
    // Else !!binary, !!set and the like would be built although the core schema has none of them.
    resolveKnownTags: false,
    prettyErrors: false,
    logLevel: 'error',
  });
  if (document.errors.some(({ code }) => code === 'RESOURCE_EXHAUSTION')) {
    report(0, 'the YAML is nested too deeply');
    return undefined;
  }
  for (const { code, pos, message } of [...document.errors, ...document.warnings]) {
    report(pos[0], code === 'MULTIPLE_DOCS' ? 'there is more than one YAML document' : message, mends[code]);
  }
  visit(document, (_, node) => {
    if (isAlias(node)) {
      report(node.range?.[0] ?? 0, 'YAML aliases (*name) are not allowed', 'write the value out');
    } else if (isMap(node)) {
      reportKeys(node, report);
    }
  });
  if (broken) return undefined;
  const value: unknown = document.toJS();
  const result = schema.safeParse(value);
  const root = document.contents;
  if (result.success) return { value: result.data, place: (path) => placeAt(offsetOf(root, path)) };
  for (const issue of result.error.issues) {
    for (const { path, message, hint, atKey } of describe(issue, schema, value)) {
      report(offsetOf(root, path, atKey), message, hint);
    }
  }
  return undefined;
}

/** How the commonest slips are mended, by the code that the parser has for them. */
const mends: Partial<Record<ErrorCode, string>> = {
  BAD_SCALAR_START: 'put the text in quotes',
  BLOCK_AS_IMPLICIT_KEY: 'put text that holds ": " in quotes',
  TAB_AS_INDENT: 'indent with spaces',
  UNEXPECTED_TOKEN: 'put the whole text in double quotes',
};

/** Keys that an object cannot tell apart or must not have: `1` beside `"1"`, lists, and the names of {@link reservedKeys}. */
function reportKeys(map: YAMLMap, report: (offset: number, message: string, hint?: string) => void): void {
  const seen = new Set<string>();
  for (const { key } of map.items) {
    const offset = (key as Node).range?.[0] ?? 0;
    const name = isScalar(key) ? String(key.value) : undefined;
    if (name === undefined) report(offset, 'a key must be a single value');
    else if (reservedKeys.has(name)) report(offset, `the key "${name}" is not allowed`);
    else if (seen.has(name)) report(offset, `"${name}" is given twice`, 'keep one of the two');
    else seen.add(name);
  }
}

interface Description {
  readonly path: readonly PropertyKey[];
  readonly message: string;
  readonly hint?: string;
  /** Whether the place is the key rather than its value. */
  readonly atKey?: boolean;
}

function describe(issue: z.core.$ZodIssue, schema: z.ZodType, value: unknown): Description[] {
  const { path } = issue;
  const name = path.length > 0 ? `"${formatPath(path)}" ` : '';
  if (issue.code === 'unrecognized_keys') {
    const known = fieldsAt(schema, path);
    return issue.keys.map((key) => ({
      path: [...path, key],
      atKey: true,
      message: `unknown field "${formatPath([...path, key])}"`,
      hint: suggest(key, known) ?? `the fields are ${known.join(', ')}`,
    }));
  }
  if (issue.code === 'invalid_key') {
    return [{ path, atKey: true, message: `${name}${issue.issues[0]?.message ?? 'is not a valid key'}` }];
  }
  if (issue.code === 'invalid_type') {
    const input = path.reduce<unknown>((at, key) => (at as Record<PropertyKey, unknown> | undefined)?.[key], value);
    if (input === undefined) return [{ path, message: `missing field "${formatPath(path)}"` }];
    const quote = issue.expected === 'string' && typeof input !== 'object' ? { hint: 'put it in quotes' } : {};
    return [
      {
        path,
        message: `${name}must be ${typeNames[issue.expected] ?? issue.expected}, not ${typeOf(input, issue.expected)}`,
        ...quote,
      },
    ];
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

function typeOf(value: unknown, expected: string): string {
  if (value === null) return 'empty';
  if (Array.isArray(value)) return 'a list';
  const oddNumber = typeof value === 'number' && (!Number.isFinite(value) || expected === 'int');
  return oddNumber ? String(value) : (typeNames[typeof value] ?? typeof value);
}

function formatPath(path: readonly PropertyKey[]): string {
  return path
    .map((part, index) => (typeof part === 'number' ? `[${part}]` : `${index > 0 ? '.' : ''}${String(part)}`))
    .join('');
}

/** The names of the fields that a schema declares at a path. */
function fieldsAt(schema: z.ZodType, path: readonly PropertyKey[]): string[] {
  let at: unknown = schema;
  for (const part of [...path, undefined]) {
    while (at instanceof z.ZodOptional) at = at.unwrap();
    if (part === undefined) break;
    if (at instanceof z.ZodObject) at = at.shape[String(part)];
    else if (at instanceof z.ZodArray) at = at.element;
    else if (at instanceof z.ZodRecord) at = at.valueType;
  }
  return at instanceof z.ZodObject ? Object.keys(at.shape) : [];
}

/** The offset of the node at a path, or of the nearest one above it. */
function offsetOf(root: unknown, path: readonly PropertyKey[], atKey = false): number {
  let node = root as Node | null | undefined;
  let offset = node?.range?.[0] ?? 0;
  for (const [index, part] of path.entries()) {
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => String(isScalar(key) ? key.value : key) === String(part));
      if (!pair) break;
      const last = index === path.length - 1;
      const keyOffset = (pair.key as Node).range?.[0];
      node = pair.value as Node | null;
      offset = (last && atKey ? keyOffset : (node?.range?.[0] ?? keyOffset)) ?? offset;
    } else if (isSeq(node)) {
      node = node.items[Number(part)] as Node | undefined;
      offset = node?.range?.[0] ?? offset;
    } else {
      break;
    }
  }
  return offset;
}
