import type { z } from 'zod';
import { findCorrection } from './corrections.ts';
import { findSimilar, suggest } from './suggest.ts';

/** A value that does not match its schema. */
export interface Mismatch {
  /** The path of keys to the value. */
  readonly path: readonly PropertyKey[];
  readonly message: string;
  readonly hint?: string | undefined;
  /** Whether the problem is the key rather than its value. */
  readonly atKey?: boolean | undefined;
}

/** Options of {@link findMismatches}. */
export interface MismatchOptions {
  /** Whether the value at a path is written in quotes. */
  readonly isQuoted: (path: readonly PropertyKey[]) => boolean;
  /** Leaves values out of hints, as they may be credentials. */
  readonly hideValues: boolean;
}

/** The zod options that {@link findMismatches} needs. */
export const checkOptions = {
  reportInput: true,
  // zod does not list the allowed fields in an issue, so they go into its otherwise unused message.
  error: ({ code, inst }) =>
    code === 'unrecognized_keys' ? Object.keys((inst as z.ZodObject).shape).join(', ') : undefined,
} satisfies z.core.ParseContext<z.core.$ZodIssue>;

/** To find a correction takes time; who made so many mistakes made one of them often. */
export const maxCorrections = 200;

/** Converts the zod issues of a value, found with {@link checkOptions}, into plain messages with hints. */
export function findMismatches(
  value: unknown,
  schema: z.ZodType,
  issues: readonly z.core.$ZodIssue[],
  { isQuoted, hideValues }: MismatchOptions,
): Mismatch[] {
  const descriptions = issues.flatMap((issue) => describeIssue(issue));
  const meant = new Set(descriptions.flatMap((description) => description.meant ?? []));
  const findHint = ({ path, input, hint }: Description): string | undefined => {
    if (typeof input !== 'string' && typeof input !== 'number' && typeof input !== 'boolean') return hint;
    const isAccepted = (candidate: unknown): boolean => accepts(schema, value, path, candidate);
    const correction = findCorrection(input, isQuoted(path), isAccepted);
    return correction ?? (hint === inQuotes && !isAccepted(String(input)) ? undefined : hint);
  };
  return descriptions
    .filter(({ missing }) => missing === undefined || !meant.has(missing))
    .map((description, index) => {
      const { path, message, hint, atKey } = description;
      return { path, message, atKey, hint: hideValues || index >= maxCorrections ? hint : findHint(description) };
    });
}

/** Whether a schema would accept a value if one of its parts were another; the items of a list may be invalid. */
export function accepts(schema: z.ZodType, whole: unknown, path: readonly PropertyKey[], part: unknown): boolean {
  const { error } = schema.safeParse(onlyPart(whole, path, part));
  const place = path.map((key) => (typeof key === 'number' ? 0 : key));
  const remaining = (error?.issues ?? []).filter(
    // A union reports that none of its options matches, without the path inside.
    (issue) => issue.code === 'invalid_union' || place.every((key, index) => issue.path[index] === key),
  );
  if (!Array.isArray(part)) return remaining.length === 0;
  return remaining.every((issue) => issue.path.length > path.length && issue.code !== 'invalid_type');
}

/** A value with another part, and without what does not matter for it: to check a whole catalog takes long. */
function onlyPart(whole: unknown, [key, ...rest]: readonly PropertyKey[], part: unknown): unknown {
  if (key === undefined) return part;
  if (Array.isArray(whole)) return [onlyPart(whole[Number(key)], rest, part)];
  const fields = Object.entries(whole as object).filter(([, value]) => typeof value !== 'object');
  return { ...Object.fromEntries(fields), [key]: onlyPart((whole as Record<PropertyKey, unknown>)[key], rest, part) };
}

/** A mismatch with what is needed to find a better hint. */
interface Description extends Mismatch {
  /** The invalid value, if the value is the problem. */
  readonly input?: unknown;
  /** The path of a missing field. */
  readonly missing?: string;
  /** The path of the field that an unknown one was meant to be. */
  readonly meant?: string;
}

const inQuotes = 'put it in quotes';

function describeIssue(issue: z.core.$ZodIssue): Description[] {
  const { path } = issue;
  const name = path.length > 0 ? `"${formatPath(path)}"` : 'the YAML';
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => describeUnknown(path, key, issue.message.split(', ')));
  }
  if (issue.code === 'invalid_key') {
    return [{ path, atKey: true, message: `${name} ${issue.issues[0]?.message ?? 'is not a valid key'}` }];
  }
  const { choices, value } = choicesOf(issue);
  if (value === undefined && path.length > 0 && (choices || issue.code === 'invalid_type')) {
    return [{ path, missing: formatPath(path), message: `missing field ${name}` }];
  }
  if (choices) {
    const hint = typeof value === 'string' ? suggest(value, choices) : undefined;
    return [{ path, message: `${name} must be one of ${choices.join(', ')}`, hint }];
  }
  const { input } = issue;
  if (issue.code !== 'invalid_type') return [{ path, message: `${name} ${issue.message}`, input }];
  const { expected } = issue;
  const message = `${name} must be ${typeNames[expected] ?? expected}, not ${typeOf(value, expected)}`;
  return [{ path, message, hint: hintFor(value, expected), input }];
}

function describeUnknown(path: readonly PropertyKey[], key: string, fields: readonly string[]): Description {
  const similar = findSimilar(key, fields);
  return {
    path: [...path, key],
    atKey: true,
    message: `unknown field "${formatPath([...path, key])}"`,
    ...(similar === undefined
      ? { hint: `the fields are ${fields.join(', ')}` }
      : { hint: `did you mean "${similar}"?`, meant: formatPath([...path, similar]) }),
  };
}

function hintFor(value: unknown, expected: string): string | undefined {
  if (expected === 'string' && value !== null && typeof value !== 'object') return inQuotes;
  if (expected !== 'number' || typeof value !== 'string') return undefined;
  // Amounts of memory and storage are in gigabytes everywhere.
  if (/\d\s*[KMTP]i?B?$/i.test(value)) return 'write it in GB, as a number without the unit';
  return 'write a number without a unit, with a dot before decimals';
}

/** The values of an enum, or the discriminator values of a union, and the invalid value. */
function choicesOf(issue: z.core.$ZodIssue): { choices?: string[]; value: unknown } {
  const { input: value } = issue;
  if (issue.code === 'invalid_value') return { choices: issue.values.map(String), value };
  if (issue.code !== 'invalid_union' || !('options' in issue) || !issue.discriminator) return { value };
  return { choices: issue.options.map(String), value: (value as Record<string, unknown>)[issue.discriminator] };
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

/** A path of keys as messages show it: `plans[0].name`. */
export function formatPath(path: readonly PropertyKey[]): string {
  return path
    .map((part, index) => (typeof part === 'number' ? `[${part}]` : `${index > 0 ? '.' : ''}${String(part)}`))
    .join('');
}
