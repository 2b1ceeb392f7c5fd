import type { z } from 'zod';
import { suggest } from './suggest.ts';

/** A value that does not match its schema. */
export interface Mismatch {
  /** The path of keys to the value. */
  readonly path: readonly PropertyKey[];
  readonly message: string;
  readonly hint?: string | undefined;
  /** Whether the place is the key rather than its value. */
  readonly atKey?: boolean;
}

/** Describes an issue of zod in plain words, with a hint where there is one. `root` is the whole value. */
export function describeIssue(issue: z.core.$ZodIssue, schema: z.ZodType, root: unknown): Mismatch[] {
  const { path } = issue;
  const name = path.length > 0 ? `"${formatPath(path)}"` : 'the YAML';
  if (issue.code === 'unrecognized_keys') {
    const def = defAt(schema, path, root);
    const known = def?.type === 'object' ? Object.keys(def.shape) : [];
    return issue.keys.map((key) => ({
      path: [...path, key],
      atKey: true,
      message: `unknown field "${formatPath([...path, key])}"`,
      hint: suggest(key, known) ?? `the fields are ${known.join(', ')}`,
    }));
  }
  if (issue.code === 'invalid_key') {
    return [{ path, atKey: true, message: `${name} ${issue.issues[0]?.message ?? 'is not a valid key'}` }];
  }
  const value = valueAt(root, path);
  const choices = choicesOf(issue, schema);
  if (value === undefined && path.length > 0 && (choices || issue.code === 'invalid_type')) {
    return [{ path, message: `missing field ${name}` }];
  }
  if (choices) {
    const hint = typeof value === 'string' ? suggest(value, choices) : undefined;
    return [{ path, message: `${name} must be one of ${choices.join(', ')}`, hint }];
  }
  if (issue.code === 'invalid_type') {
    const { expected } = issue;
    const hint = expected === 'string' && value !== null && typeof value !== 'object' ? 'put it in quotes' : undefined;
    return [
      { path, message: `${name} must be ${typeNames[expected] ?? expected}, not ${typeOf(value, expected)}`, hint },
    ];
  }
  return [{ path, message: `${name} ${issue.message}` }];
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
  if (value === null || value === undefined) return 'empty';
  if (Array.isArray(value)) return 'a list';
  if (typeof value !== 'number') return typeNames[typeof value] ?? typeof value;
  if (!Number.isFinite(value)) return String(value);
  return expected === 'int' && !Number.isInteger(value) ? 'a fraction' : 'a number';
}

function formatPath(path: readonly PropertyKey[]): string {
  return path
    .map((part, index) => (typeof part === 'number' ? `[${part}]` : `${index > 0 ? '.' : ''}${String(part)}`))
    .join('');
}

function valueAt(root: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((at, key) => (at as Record<PropertyKey, unknown> | null | undefined)?.[key], root);
}

type Def = z.core.$ZodTypes['_zod']['def'];

function defOf(schema: z.core.$ZodType | undefined): Def | undefined {
  return (schema as z.ZodType | undefined)?.def as Def | undefined;
}

/** What the schema declares at a path; of a union of objects, it is the member that the value names. */
function defAt(schema: z.ZodType, path: readonly PropertyKey[], root: unknown): Def | undefined {
  let def = defOf(schema);
  for (const [index, part] of [...path, undefined].entries()) {
    while (def?.type === 'optional' || def?.type === 'default') def = defOf(def.innerType);
    if (def?.type === 'union' && 'discriminator' in def) {
      const field = String(def.discriminator);
      const type = valueAt(root, [...path.slice(0, index), field]);
      def = defOf(def.options.find((option) => typesOf(option, field).includes(type))) ?? def;
    }
    if (part === undefined) break;
    if (def?.type === 'object') def = defOf(def.shape[String(part)]);
    else if (def?.type === 'array') def = defOf(def.element);
    else if (def?.type === 'record') def = defOf(def.valueType);
  }
  return def;
}

/** The values that an enum allows, or the types of a union of objects. */
function choicesOf(issue: z.core.$ZodIssue, schema: z.ZodType): string[] | undefined {
  if (issue.code === 'invalid_value') return issue.values.map(String);
  const def = issue.code === 'invalid_union' ? defAt(schema, issue.path.slice(0, -1), undefined) : undefined;
  if (def?.type !== 'union' || !('discriminator' in def)) return undefined;
  const field = String(def.discriminator);
  return def.options.flatMap((option) => typesOf(option, field).map(String));
}

/** The values by which a union knows this member. */
function typesOf(member: z.core.$ZodType, field: string): readonly unknown[] {
  const def = defOf(member);
  const type = def?.type === 'object' ? defOf(def.shape[field]) : undefined;
  return type?.type === 'literal' ? type.values : [];
}
