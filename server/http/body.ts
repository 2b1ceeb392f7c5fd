import type { IncomingMessage } from 'node:http';
import type { Endpoint } from '#contract/endpoint.ts';
import { bodyLimits } from '#contract/limits.ts';
import type { ErrorStyle, ProblemCode } from '#contract/problem.ts';
import { Problem } from '../problem.ts';
import { describeDuplicate, describeErrors, toWords } from './invalid.ts';
import { findDuplicateKey } from './json.ts';

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
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(refuse('request_timeout')), bodyTimeoutMs);
  const bytes = await Promise.race([collect(request, maxBytes), late]).finally(() => clearTimeout(timer));
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
