import { stringify } from 'yaml';
import type { z } from 'zod';
import { findSimilar, suggest } from './suggest.ts';

/** A value that does not match its schema. */
export interface Mismatch {
  /** The path of keys to the value. */
  readonly path: readonly PropertyKey[];
  readonly message: string;
  readonly hint?: string | undefined;
  /** Whether the problem is the key rather than its value. */
  readonly atKey?: boolean | undefined;
  /** The invalid value, if the value is the problem. */
  readonly input?: unknown;
  /** The path of a missing field. */
  readonly missing?: string;
  /** The path of the field that an unknown one was meant to be. */
  readonly meant?: string;
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

/**
 * Converts the zod issues of a value, found with {@link checkOptions}, into plain messages with hints. `isQuoted` says whether
 * the value at a path is written in quotes; `hideValues` leaves values out of hints, as they may be credentials.
 */
export function findMismatches(
  value: unknown,
  schema: z.ZodType,
  issues: readonly z.core.$ZodIssue[],
  isQuoted: (path: readonly PropertyKey[]) => boolean,
  hideValues: boolean,
): Mismatch[] {
  const mismatches = issues.flatMap((issue) => describeIssue(issue));
  const meant = new Set(mismatches.flatMap((mismatch) => mismatch.meant ?? []));
  const findHint = ({ path, input, hint }: Mismatch): string | undefined => {
    if (typeof input !== 'string' && typeof input !== 'number' && typeof input !== 'boolean') return hint;
    const isAccepted = (candidate: unknown): boolean => accepts(schema, value, path, candidate);
    const correction = findCorrection(input, isQuoted(path), isAccepted);
    return correction ?? (hint === inQuotes && !isAccepted(String(input)) ? undefined : hint);
  };
  return mismatches
    .filter(({ missing }) => missing === undefined || !meant.has(missing))
    .map((mismatch, index) =>
      hideValues || index >= maxCorrections ? mismatch : { ...mismatch, hint: findHint(mismatch) },
    );
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

const inQuotes = 'put it in quotes';

function describeIssue(issue: z.core.$ZodIssue): Mismatch[] {
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

function describeUnknown(path: readonly PropertyKey[], key: string, fields: readonly string[]): Mismatch {
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

/** A value that may be what was meant, and how it is written in YAML. */
type Candidate = Readonly<{ value: unknown; text: string }>;

/** A longer text is no mistyped value, and would not fit into a message. */
const maxCorrected = 100;

/**
 * Finds what was probably meant by an invalid value, as a hint such as "write 3.50". Suggests only values that `isAccepted`
 * allows; two if the value can be read in two ways.
 */
function findCorrection(
  value: string | number | boolean,
  isQuoted: boolean,
  isAccepted: (candidate: unknown) => boolean,
): string | undefined {
  const text = String(value).trim();
  if (text === '' || text.length > maxCorrected || String(value).includes('\n')) return undefined;
  const readings = typeof value === 'string' ? [toNumbers, toBooleans, toDates, toNames, toLists] : [toDates, toLists];
  for (const toCandidates of readings) {
    const accepted = toCandidates(text).filter((candidate) => isAccepted(candidate.value));
    const texts = new Set(accepted.map((candidate) => candidate.text));
    const isText = toCandidates !== toNumbers && toCandidates !== toBooleans;
    if (texts.size > 0) return `write ${[...texts].join(' or ')}${isQuoted && !isText ? ' without quotes' : ''}`;
  }
  return undefined;
}

/** Units that our fields have anyway: amounts of money, gigabytes and seconds. */
const unit = String.raw`(?:[€$£]|EUR|USD|GBP|CHF|euros?|G(?:i?B)?|s|sec(?:onds?)?)`;
const amount = new RegExp(String.raw`^(?:${unit}\s*)?(-?\d[\d.,]*?)(?:[.,]-)?\s*${unit}?$`, 'i');

/** Reads `3,50`, `3.50 €`, `1.299,00` and `2GB`. `1,299` can be read in two ways. */
function toNumbers(text: string): Candidate[] {
  const withoutSpaces = text.replace(/(?<=\d)[\s'’](?=\d{3}(?!\d))/g, '');
  const [, number] = amount.exec(withoutSpaces) ?? [];
  if (number === undefined) return [];
  const [whole = '', ...groups] = number.split(/[.,]/);
  const decimals = groups.pop();
  const readings =
    decimals === undefined
      ? [whole]
      : [
          ...([...groups, decimals].every(({ length }) => length === 3) ? [[whole, ...groups, decimals].join('')] : []),
          `${[whole, ...groups].join('')}.${decimals}`,
        ];
  return readings.map((reading) => ({ value: Number(reading), text: reading }));
}

function toBooleans(text: string): Candidate[] {
  if (/^(?:true|yes|y|on|ja)$/i.test(text)) return [{ value: true, text: 'true' }];
  if (/^(?:false|no|n|off|nein)$/i.test(text)) return [{ value: false, text: 'false' }];
  return [];
}

const time = String.raw`(?:[T ]+(?<hour>\d{1,2})(?<rest>:\d{2}(?::\d{2})?)(?:\.\d+)? ?(?<zone>Z|[+-]\d{2}:?\d{2})?)?`;
const yearFirst = new RegExp(String.raw`^(\d{4})([-/.])(\d{1,2})\2(\d{1,2})${time}$`, 'i');
const yearLast = new RegExp(String.raw`^(\d{1,2})([-/.])(\d{1,2})\2(\d{4})${time}$`, 'i');

/** Reads `2026-2-3`, `18.11.2026`, `11/18/2026`, and times after a date. `03/04/2026` can be read in two ways. */
function toDates(text: string): Candidate[] {
  const first = yearFirst.exec(text) ?? /^(\d{4})()(\d{2})(\d{2})$/.exec(text);
  const last = yearLast.exec(text);
  const { hour, rest, zone } = (first ?? last)?.groups ?? {};
  const dates: [year: string, month: string, day: string][] = [];
  if (first) dates.push([first[1]!, first[3]!, first[4]!]);
  if (last && last[2] !== '.') dates.push([last[4]!, last[1]!, last[3]!]);
  if (last) dates.push([last[4]!, last[3]!, last[1]!]);
  return dates.flatMap(([year, month, day]) => {
    const date = `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`;
    // Without its zone a time would be another one.
    const local = hour === undefined || zone ? [] : [`${date}T${hour.padStart(2, '0')}${rest}`];
    return [date, ...local].map((value) => ({ value, text: value }));
  });
}

/** Reads `Linux` as a slug, and `content/media/Bild 1.png` as the path of a media file. */
function toNames(text: string): Candidate[] {
  const [, media] = /^(?:\.{0,2}\/)*(?:content\/)?(media\/.+)$/.exec(text) ?? [];
  const values = media ? [`/${media}`, `/${media.toLowerCase().replace(/\s+/g, '-')}`] : [text.toLowerCase()];
  return values.map((value) => ({ value, text: value }));
}

function toLists(text: string): Candidate[] {
  const items = text.split(/\s*,\s*/).filter(Boolean);
  const options = { collectionStyle: 'flow', flowCollectionPadding: false, lineWidth: 0 } as const;
  return [{ value: items, text: stringify(items, options).trim() }];
}
