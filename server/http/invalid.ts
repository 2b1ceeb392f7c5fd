import type { z } from 'zod';
import type { ErrorStyle } from '#contract/problem.ts';

/** The maximum length of a field name of a client in an error, and the maximum number of such names. */
const maxNameLength = 40;
const maxNames = 3;

const list = new Intl.ListFormat('en-GB');

const expectations: Readonly<Record<string, string>> = {
  boolean: 'must be true or false',
  string: 'must be a string',
};

/** Says what is wrong with a value, in place of the texts of zod; a message in the contract wins over it. */
export const toWords: z.core.$ZodErrorMap = (issue) => {
  if (issue.code !== 'invalid_type') return 'is not valid';
  return issue.input === undefined ? 'is required' : (expectations[issue.expected] ?? 'is not valid');
};

/** Describes all errors of a body, by field. Only JSON names unknown fields, since a text never repeats input. */
export function describeErrors({ issues }: z.ZodError, style: ErrorStyle): string {
  const clauses = issues.map((issue) => {
    if (issue.code === 'unrecognized_keys') return describeUnknown(issue.keys, style);
    return issue.path.length > 0
      ? `the field ${issue.path.join('.')} ${issue.message}`
      : 'the body must be a JSON object';
  });
  return clauses.join('; ').replace(/^t/, 'T');
}

/** Describes a field that a body has twice. */
export function describeDuplicate(name: string, style: ErrorStyle): string {
  return style === 'json' ? `The field ${quote(name)} is given twice` : 'The body has a field twice';
}

function describeUnknown(names: readonly string[], style: ErrorStyle): string {
  if (style === 'text') return 'the body has an unknown field';
  const more = names.length - maxNames;
  const quoted = [...names.slice(0, maxNames).map(quote), ...(more > 0 ? [`${more} more`] : [])];
  return quoted.length === 1 ? `the field ${quoted[0]} is unknown` : `the fields ${list.format(quoted)} are unknown`;
}

/** Quotes a name of a client: cut, and without control, format and combining characters. */
function quote(name: string): string {
  const characters = Array.from(name.slice(0, 2 * maxNameLength + 1));
  const shown = characters
    .slice(0, maxNameLength)
    .join('')
    .replace(/[^\p{L}\p{N}\p{P}\p{S} ]/gu, '?');
  return `"${shown}${characters.length > maxNameLength ? '…' : ''}"`;
}
