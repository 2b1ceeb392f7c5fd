import type { IncomingMessage } from 'node:http';
import type { z } from 'zod';
import type { Endpoint } from '#contract/endpoint.ts';
import { bodyLimits } from '#contract/limits.ts';
import type { ErrorStyle, ProblemCode } from '#contract/problem.ts';
import { Problem } from '../problem.ts';
import { withTimeout } from '../timeout.ts';

/** The body rules of an endpoint, if it has a body. */
type BodyRules = Endpoint['body'];

/** Node.js checks for slow requests only every 30 s, so a slow body could take 60 s. */
const bodyTimeoutMs = 30_000;

/**
 * Reads the body of a request as text, up to the limit. Throws a Problem if it is too long, too slow, compressed or not
 * UTF-8, and for strict endpoints also if its type is not JSON. Endpoints with an API key accept any type: unlike a
 * cookie, a key is not sent by foreign pages.
 */
export async function readBody(
  request: IncomingMessage,
  rules: BodyRules,
  maxBytes: number = bodyLimits.others,
): Promise<string> {
  const { invalid = 'validation_error', strict = false } = rules ?? {};
  const { 'content-encoding': encoding, 'content-length': length, 'content-type': type } = request.headers;
  if (strict && type !== undefined && !isJson(type)) throw refuse('unsupported_media_type');
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw strict ? refuse('unsupported_media_type') : refuse(invalid, 'The body must not be compressed');
  }
  if (Number(length) > maxBytes) throw refuse(invalid, 'The body is too long');
  const bytes = await withTimeout(collect(request, maxBytes), bodyTimeoutMs, () => {
    throw refuse('request_timeout');
  });
  if (!bytes) throw refuse(invalid, 'The body is too long');
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Problem(invalid, 'The body is not UTF-8');
  }
}

/** Reads the bytes of a body; undefined if there are more than `maxBytes`. The rest is not read then. */
async function collect(request: IncomingMessage, maxBytes: number): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Parses and validates a JSON body; throws a Problem in the style of the endpoint if it is not JSON or not valid. */
export function parseJsonBody(text: string, rules: NonNullable<BodyRules>, style: ErrorStyle): unknown {
  const { schema, invalid = 'validation_error' } = rules;
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new Problem(invalid, 'The body is not valid JSON');
  }
  const duplicate = findDuplicateKey(text);
  if (duplicate !== undefined) throw new Problem(invalid, describeDuplicate(duplicate, style));
  const result = schema.safeParse(json, { error: toWords });
  if (!result.success) throw new Problem(invalid, describeErrors(result.error, style));
  return result.data;
}

/** RFC 9110 8.3.1: media types are case-insensitive; parameters are ignored. */
function isJson(type: string): boolean {
  return type.split(';', 1)[0]!.trim().toLowerCase() === 'application/json';
}

/** Closes the connection, so that the unread rest of the body is not parsed as the next request. */
function refuse(code: ProblemCode, message?: string): Problem {
  return new Problem(code, message, { headers: { Connection: 'close' } });
}

/** The strings of a JSON text, with the colon after those that are keys, and the limits of its objects. */
const tokens = /("[^"\\]*(?:\\.[^"\\]*)*")([ \t\n\r]*:)?|[{}]/g;

/**
 * Finds a key that an object of a JSON text has twice. JSON.parse would use the last one, so
 * `{"force":false,"force":true}` would count as a confirmation. Only for texts that JSON.parse accepts: it alone decides
 * what is JSON, and which keys are equal.
 */
function findDuplicateKey(json: string): string | undefined {
  const objects: Set<string>[] = [];
  for (const [token, string, colon] of json.matchAll(tokens)) {
    if (token === '{') objects.push(new Set());
    else if (token === '}') objects.pop();
    else if (colon !== undefined) {
      const key = JSON.parse(string!) as string;
      const keys = objects.at(-1)!;
      if (keys.has(key)) return key;
      keys.add(key);
    }
  }
  return undefined;
}

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
function describeErrors({ issues }: z.ZodError, style: ErrorStyle): string {
  const clauses = issues.map((issue) => {
    if (issue.code === 'unrecognized_keys') return describeUnknown(issue.keys, style);
    return issue.path.length > 0
      ? `the field ${issue.path.join('.')} ${issue.message}`
      : 'the body must be a JSON object';
  });
  return clauses.join('; ').replace(/^t/, 'T');
}

/** Describes a field that a body has twice. */
function describeDuplicate(name: string, style: ErrorStyle): string {
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
