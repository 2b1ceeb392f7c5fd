import { z } from 'zod';

/** The named schemas of the contract, for `components.schemas` in OpenAPI; those of whole responses have an example. */
export const schemas = z.registry<{ readonly id: string; readonly description: string; readonly example?: unknown }>();

/** Gives a schema its name and description in the OpenAPI document. */
export function named<Schema extends z.ZodType>(id: string, description: string, schema: Schema, example?: unknown) {
  schemas.add(schema, { id, description, example });
  return schema;
}

/** Creates the named schema of an object; unknown fields are refused. */
export function object<Shape extends z.ZodRawShape>(id: string, description: string, shape: Shape, example?: unknown) {
  return named(id, description, z.strictObject(shape), example);
}

/** Creates the schema of a text with a description and an optional pattern. */
export function text(description: string, form?: RegExp, message?: string) {
  return (form ? z.string().regex(form, message) : z.string()).describe(description);
}

export const Slug = z.string().regex(/^[a-z0-9-]+$/, 'must contain only lower-case letters, digits and hyphens');

/** The key of a catalog entry; a letter is required because JavaScript orders integer keys first. */
export const CatalogKey = Slug.regex(/[a-z]/, 'must contain at least one letter')
  .regex(/^(?!constructor$)/, 'must not be constructor')
  .regex(/^(?!prototype$)/, 'must not be prototype');

/** A calendar date, `YYYY-MM-DD`. */
export const IsoDate = z.iso.date({
  error: ({ input }) =>
    /^\d{4}-\d\d-\d\d$/.test(String(input))
      ? `must be an existing day: there is no ${String(input)}`
      : 'must be a calendar date of the form YYYY-MM-DD',
});

/** Characters that look like others, or like nothing. */
const characterNames =
  'U+00A0 (no-break space), U+00AD (soft hyphen), U+200B (zero-width space), U+200C (zero-width non-joiner), ' +
  'U+200D (zero-width joiner), U+200E (left-to-right mark), U+200F (right-to-left mark), U+2011 (non-breaking hyphen), ' +
  'U+2013 (en dash), U+2014 (em dash), U+2018 (curly quote), U+2019 (curly quote), U+201C (curly quote), ' +
  'U+201D (curly quote), U+2028 (line separator), U+202F (narrow no-break space), U+2060 (word joiner), ' +
  'U+FEFF (byte order mark)';

/** Names the first character of a text, as in `U+00A0 (no-break space)`. */
export function describeCharacter(line: string): string {
  const code = `U+${line.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`;
  return characterNames.split(', ').find((name) => name.startsWith(code)) ?? code;
}

/** A single line of text with at least one visible character. */
export const Line = z
  .string()
  .regex(/^[^\r\n]*\S[^\r\n]*$/, {
    error: ({ input }) =>
      /\S/.test(String(input))
        ? 'must be a single line: start folded text with >-, and leave no empty line in it'
        : 'must not be empty',
  })
  .refine((line) => /[^\s\p{Cc}\p{Cf}]/u.test(line), {
    error: ({ input }) => `must have a visible character, not only ${describeCharacter(String(input).trim() || ' ')}`,
    when: ({ issues }) => issues.length === 0,
  });

/** The path of a media file: `/media/...`. */
export const MediaPath = z.string().regex(/^\/media(?:\/[A-Za-z0-9_-][A-Za-z0-9._-]*)+$/, {
  error: ({ input }) =>
    /^https?:/i.test(String(input))
      ? 'must not be a URL: save the file in content/media/ and write /media/ and the file name'
      : 'must be a path below /media/ with only letters, digits, dots, hyphens and underscores',
});

/** The field `success` of a successful response. */
export const success = z.boolean().describe('Always true.');

/** Describes the first forbidden character of a URL in a source file; undefined if all are allowed. */
export function describeUnsafe(url: unknown): string | undefined {
  // URL parsers silently encode or drop these characters, or they end a URL in HTML.
  // oxlint-disable-next-line no-control-regex
  const [character] = /[\s\x00-\x1F\x7F-\x9F<>"]/.exec(String(url)) ?? [];
  if (character === undefined) return undefined;
  if (String(url).trim() !== url) return 'must not start or end with white space';
  if (character === ' ') return 'must not contain a space (write %20)';
  if (/[\r\n]/.test(character)) return 'must not contain a line break (write the URL on one line)';
  if (/[<>"]/.test(character)) return `must not contain ${character} (write ${encodeURIComponent(character)})`;
  return `must not contain ${describeCharacter(character)} (remove it)`;
}

/** Creates a schema of URLs that are published as written, so characters that URL parsers change are refused. */
function urlOf(scheme: string, message: string) {
  const error = ({ input }: { readonly input?: unknown }): string => describeUnsafe(input) ?? message;
  // In a union, an aborting check would hide its message.
  return z
    .string()
    .regex(new RegExp(String.raw`^${scheme}:\/\/[^\s\x00-\x1F\x7F-\x9F<>"]+$`), { error })
    .refine((url) => URL.canParse(url), { error, when: ({ issues }) => issues.length === 0 })
    .meta({ format: 'uri' });
}

export const HttpUrl = urlOf('[Hh][Tt][Tt][Pp][Ss]?', 'must be an http or https URL');

export const HttpsUrl = urlOf('[Hh][Tt][Tt][Pp][Ss]', 'must be a URL that starts with https://');

/** An amount of money, with at most two decimals. */
export const Price = z
  .number()
  .min(0, 'must not be negative')
  // Not `multipleOf`: in binary floating point, 2.49 is not a multiple of 0.01.
  .refine((price) => Math.abs(price * 100 - Math.round(price * 100)) < 1e-6, 'must have at most two decimals');

/** A host name with an optional port, such as `whois.nic.uk:43`. */
export const HostPort = z
  .string()
  .regex(
    /^(?=.{1,259}$)[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*(?::(?:[1-9]\d{0,3}|[1-5]\d{4}|6[0-4]\d{3}|65[0-4]\d{2}|655[0-2]\d|6553[0-5]))?$/,
    'must be a host name with an optional :port',
  );
