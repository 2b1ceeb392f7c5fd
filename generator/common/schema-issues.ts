import type { z } from 'zod';
import { suggest } from './suggest.ts';

/** A value that does not match its schema. */
export interface Mismatch {
  /** The path of keys to the value. */
  readonly path: readonly PropertyKey[];
  readonly message: string;
  readonly hint?: string | undefined;
  /** Whether the problem is the key rather than its value. */
  readonly atKey?: boolean;
}

/** The zod options that {@link describeIssue} needs. */
export const checkOptions = {
  reportInput: true,
  // zod does not list the allowed fields in an issue, so they go into its otherwise unused message.
  error: ({ code, inst }) =>
    code === 'unrecognized_keys' ? Object.keys((inst as z.ZodObject).shape).join(', ') : undefined,
} satisfies z.core.ParseContext<z.core.$ZodIssue>;

/** Converts a zod issue, found with {@link checkOptions}, into plain messages with hints. */
export function describeIssue(issue: z.core.$ZodIssue): Mismatch[] {
  const { path } = issue;
  const name = path.length > 0 ? `"${formatPath(path)}"` : 'the YAML';
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({
      path: [...path, key],
      atKey: true,
      message: `unknown field "${formatPath([...path, key])}"`,
      hint: suggest(key, issue.message.split(', ')) ?? `the fields are ${issue.message}`,
    }));
  }
  if (issue.code === 'invalid_key') {
    return [{ path, atKey: true, message: `${name} ${issue.issues[0]?.message ?? 'is not a valid key'}` }];
  }
  const { choices, value } = choicesOf(issue);
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

function formatPath(path: readonly PropertyKey[]): string {
  return path
    .map((part, index) => (typeof part === 'number' ? `[${part}]` : `${index > 0 ? '.' : ''}${String(part)}`))
    .join('');
}
