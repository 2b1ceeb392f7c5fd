import type { IncomingMessage } from 'node:http';
import type { z } from 'zod';
import type { Endpoint } from '#contract/endpoint.ts';
import type { ProblemCode } from '#contract/problem.ts';
import { Problem } from '../problem.ts';

/** How an endpoint wants its body, if it has one. */
type BodyRules = Endpoint['body'];

/** Far more than any body that this service asks for, but where an endpoint says more. */
const usualMaxBytes = 16_384;

/** Node.js looks for requests that take too long every 30 s only, so that a slow body could take 60. */
const bodyTimeoutMs = 30_000;

/**
 * Reads the body of a request as text, and no further than the limit. Throws a Problem for one that is too long, too
 * slow, compressed or not UTF-8, or, where that matters, not declared as JSON. Where an API key comes with a body the
 * type does not matter: a key is no cookie that a foreign page could use.
 */
export async function readBody(request: IncomingMessage, rules: BodyRules, maxBytes = usualMaxBytes): Promise<string> {
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

/** The bytes of a body; undefined where there are more than that, which are not read. */
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

/** Parses a JSON body and checks it; throws a Problem where it is not JSON or not what the schema says. */
export async function parseJsonBody(text: string, rules: NonNullable<BodyRules>): Promise<unknown> {
  const { schema, invalid = 'validation_error' } = rules;
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new Problem(invalid, 'The body is not valid JSON');
  }
  const result = schema.safeParse(json);
  if (!result.success) throw new Problem(invalid, describe(result.error));
  if (await holdsKeyTwice(text)) throw new Problem(invalid, 'The body names a field twice');
  return result.data;
}

/** RFC 9110 8.3.1: the type is compared without regard to case, and its parameters do not matter. */
function isJson(type: string): boolean {
  return type.split(';', 1)[0]!.trim().toLowerCase() === 'application/json';
}

/** JSON.parse takes the last of two equal keys, so that `{"force":false,"force":true}` would confirm what it denies. */
async function holdsKeyTwice(json: string): Promise<boolean> {
  const { parseDocument } = await import('yaml');
  const { errors } = parseDocument(json, { schema: 'json', uniqueKeys: true, prettyErrors: false });
  return errors.some(({ code }) => code === 'DUPLICATE_KEY');
}

function describe(error: z.ZodError): string {
  const [issue] = error.issues;
  const field = issue?.path.join('.');
  return field ? `${field}: ${issue!.message}` : 'The body is not of the expected form';
}

/** The rest of a body that is refused unread must not be taken for the next request. */
function refuse(code: ProblemCode, message?: string): Problem {
  return new Problem(code, message, { headers: { Connection: 'close' } });
}
