import { parse, stringify } from 'yaml';
import type { z } from 'zod';
import { findSimilar, suggest } from './suggest.ts';

export type Path = readonly PropertyKey[];

/** A value or key (`atKey`) that does not match the schema. */
interface Mismatch {
  readonly path: Path;
  readonly message: string;
  readonly hint?: string | undefined;
  readonly atKey?: boolean;
  readonly input?: unknown;
  readonly isMissing?: boolean;
  /** The path of the field that the author of an unknown field probably meant. */
  readonly meant?: string | undefined;
}

const checkOptions = {
  reportInput: true,
  // zod does not list the allowed fields, so pass them in the otherwise unused message.
  error: ({ code, inst }) =>
    code === 'unrecognized_keys' ? Object.keys((inst as z.ZodObject).shape).join(', ') : undefined,
} satisfies z.core.ParseContext<z.core.$ZodIssue>;

/** Corrections are slow to find, and so many mistakes are mostly repetitions. */
export const maxCorrections = 200;

/**
 * Validates a value, and describes mismatches with hints for authors. `hideValues` keeps values, which may be
 * credentials, out of hints.
 */
export function validate<Schema extends z.ZodType>(schema: Schema, value: unknown, hideValues: boolean) {
  const { data, error } = schema.safeParse(value, checkOptions);
  const found = (error?.issues ?? []).flatMap((issue) => describeIssue(issue));
  const meant = new Set(found.map((mismatch) => mismatch.meant));
  const findHint = ({ path, input, hint }: Mismatch): string | undefined => {
    const isAccepted = (candidate: unknown): boolean => accepts(schema, value, path, candidate);
    if (hint === inQuotes) return isAccepted(String(input)) ? hint : undefined;
    return (typeof input === 'string' ? findCorrection(input, isAccepted) : undefined) ?? hint;
  };
  const mismatches = found
    .filter(({ isMissing, path }) => !isMissing || !meant.has(formatPath(path)))
    .map((mismatch, index) =>
      hideValues || index >= maxCorrections ? mismatch : { ...mismatch, hint: findHint(mismatch) },
    );
  return { data, mismatches };
}

type SchemaParts = Partial<Record<'innerType' | 'element' | 'valueType', z.ZodType>> &
  Partial<Pick<z.ZodObject, 'shape'>>;

/** Removes empty texts and nulls where a schema has optional fields. */
export function withoutEmpty(schema: z.ZodType | undefined, value: unknown): unknown {
  const { innerType, element, valueType, shape } = (schema?.def ?? {}) as SchemaParts;
  if (innerType) return withoutEmpty(innerType, value);
  if (Array.isArray(value)) return value.map((item) => withoutEmpty(element, item));
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).flatMap(([name, field]: [string, unknown]) => {
    const inner = (shape?.[name] ?? valueType) as z.ZodType | undefined;
    const isEmpty = shape && (field === null || field === '') && inner?.safeParse(undefined).success;
    return isEmpty ? [] : [[name, withoutEmpty(inner, field)]];
  });
  return Object.fromEntries(fields);
}

/** Checks whether a schema accepts a value with one part replaced; items of a list may stay invalid. */
export function accepts(schema: z.ZodType, whole: unknown, path: Path, part: unknown): boolean {
  const { error } = schema.safeParse(onlyPart(whole, path, part));
  const place = path.map((key) => (typeof key === 'number' ? 0 : key));
  const remaining = (error?.issues ?? []).filter(
    // A union reports a mismatch without the path inside.
    (issue) => issue.code === 'invalid_union' || place.every((key, index) => issue.path[index] === key),
  );
  if (!Array.isArray(part)) return remaining.length === 0;
  return remaining.every((issue) => issue.path.length > path.length && issue.code !== 'invalid_type');
}

/** Copies the replaced part with its parents and plain siblings: validating a whole catalog is slow. */
function onlyPart(whole: unknown, [key, ...rest]: Path, part: unknown): unknown {
  if (key === undefined) return part;
  if (Array.isArray(whole)) return [onlyPart(whole[Number(key)], rest, part)];
  const fields = Object.entries(whole as object).filter(([, value]) => typeof value !== 'object');
  return { ...Object.fromEntries(fields), [key]: onlyPart((whole as Record<PropertyKey, unknown>)[key], rest, part) };
}

const inQuotes = 'put it in quotes';

const typeNames: Partial<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a mapping of fields',
  record: 'a mapping of fields',
};

function describeIssue(issue: z.core.$ZodIssue): Mismatch[] {
  const { path, input } = issue;
  const name = path.length > 0 ? `"${formatPath(path)}"` : 'the YAML';
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => {
      const similar = findSimilar(key, issue.message.split(', '));
      const message = `unknown field "${formatPath([...path, key])}"`;
      const unknown = { path: [...path, key], atKey: true, message };
      if (similar === undefined) return { ...unknown, hint: `the fields are ${issue.message}` };
      return { ...unknown, hint: `did you mean "${similar}"?`, meant: formatPath([...path, similar]) };
    });
  }
  if (issue.code === 'invalid_key') {
    return [{ path, atKey: true, message: `${name} ${issue.issues[0]?.message ?? 'is not a valid key'}` }];
  }
  let value = input;
  let choices = issue.code === 'invalid_value' ? issue.values.map(String) : undefined;
  if (issue.code === 'invalid_union' && 'options' in issue && issue.discriminator) {
    choices = issue.options.map(String);
    value = (input as Record<string, unknown>)[issue.discriminator];
  }
  if (value === undefined && path.length > 0 && (choices || issue.code === 'invalid_type')) {
    return [{ path, isMissing: true, message: `missing field ${name}` }];
  }
  if (choices) {
    const hint = typeof value === 'string' ? suggest(value, choices) : undefined;
    return [{ path, message: `${name} must be one of ${choices.join(', ')}`, hint }];
  }
  if (issue.code !== 'invalid_type') return [{ path, message: `${name} ${issue.message}`, input }];
  const { expected } = issue;
  const message = `${name} must be ${typeNames[expected] ?? expected}, not ${typeOf(value, expected)}`;
  return [{ path, message, hint: hintFor(value, expected), input }];
}

function typeOf(value: unknown, expected: string): string {
  if (value === null || value === undefined) return 'empty';
  if (Array.isArray(value)) return 'a list';
  if (typeof value !== 'number') return typeNames[typeof value] ?? typeof value;
  if (!Number.isFinite(value)) return String(value);
  return expected === 'int' && !Number.isInteger(value) ? 'a fraction' : 'a number';
}

function hintFor(value: unknown, expected: string): string | undefined {
  if (expected === 'string' && value !== null && typeof value !== 'object') return inQuotes;
  if (expected !== 'number' || typeof value !== 'string') return undefined;
  // Amounts of memory and storage are in gigabytes everywhere.
  if (/\d\s*[KMTP]i?B?$/i.test(value)) return 'write it in GB, as a number without the unit';
  return 'write a number without a unit, with a dot before decimals';
}

/** Formats a path for messages: `plans[0].name`. */
export function formatPath(path: Path): string {
  return path
    .map((part, index) => (typeof part === 'number' ? `[${part}]` : `${index > 0 ? '.' : ''}${String(part)}`))
    .join('');
}

/** A longer text is prose rather than a mistyped value. */
const maxCorrected = 100;

/** Possible meanings of a mistyped text: how to write each in YAML, and how to read that. */
const readings: readonly (readonly [write: (text: string) => string[], read?: (written: string) => unknown])[] = [
  [toNumbers, Number],
  [toDates],
  [toNames],
  [toLists, parse],
];

/** Suggests a correction for an invalid text, such as "write 3.50"; two corrections if the text is ambiguous. */
function findCorrection(value: string, isAccepted: (candidate: unknown) => boolean): string | undefined {
  const text = value.trim();
  if (text === '' || text.length > maxCorrected || value.includes('\n')) return undefined;
  for (const [write, read = String] of readings) {
    const accepted = write(text).filter((written) => isAccepted(read(written)));
    if (accepted.length > 0) return `write ${[...new Set(accepted)].join(' or ')}`;
  }
  return undefined;
}

/** The units of all fields: money, gigabytes and seconds. */
const unit = String.raw`(?:[€$£]|EUR|USD|GBP|CHF|euros?|G(?:i?B)?|s|sec(?:onds?)?)`;
const amount = new RegExp(String.raw`^(?:${unit}\s*)?(-?\d[\d.,]*?)(?:[.,]-)?\s*${unit}?$`, 'i');

/** Reads `3,50`, `3.50 €`, `1.299,00` and `2GB`. `1,299` is ambiguous. */
function toNumbers(text: string): string[] {
  const [, number] = amount.exec(text.replace(/(?<=\d)[\s'’](?=\d{3}(?!\d))/g, '')) ?? [];
  if (number === undefined) return [];
  const [whole = '', ...groups] = number.split(/[.,]/);
  if (groups.length === 0) return [whole];
  const decimal = `${[whole, ...groups.slice(0, -1)].join('')}.${groups.at(-1)}`;
  return groups.every(({ length }) => length === 3) ? [[whole, ...groups].join(''), decimal] : [decimal];
}

const dateTime = /^([\d./-]+)(?:[T ]+(\d{1,2})(:\d{2}(?::\d{2})?)(?:\.\d+)? ?(Z|[+-]\d{2}:?\d{2})?)?$/i;

/** Reads `2026-2-3`, `2026/2/3` and `18.11.2026`, also with a time. */
function toDates(text: string): string[] {
  const [, day = '', hour, rest, zone] = dateTime.exec(text) ?? [];
  const parts = /^\d{1,2}\./.test(day) ? day.split('.').toReversed() : day.split(/[./-]/);
  if (parts.length !== 3 || parts[0]!.length !== 4) return [];
  const date = parts.map((part) => part.padStart(2, '0')).join('-');
  // Dropping a time zone would change the time.
  return hour === undefined || zone ? [date] : [date, `${date}T${hour.padStart(2, '0')}${rest}`];
}

/** Reads `Linux` and `#linux` as slugs, and `content/media/Bild 1.png` as the path of a media file. */
function toNames(text: string): string[] {
  const [, media] = /^(?:\.{0,2}\/)*(?:content\/)?(media\/.+)$/.exec(text) ?? [];
  return media ? [`/${media}`, `/${media.toLowerCase().replace(/\s+/g, '-')}`] : [text.toLowerCase().replace(/^#/, '')];
}

function toLists(text: string): string[] {
  const items = text.split(/\s*,\s*/).filter(Boolean);
  return [stringify(items, { collectionStyle: 'flow', flowCollectionPadding: false, lineWidth: 0 }).trim()];
}
