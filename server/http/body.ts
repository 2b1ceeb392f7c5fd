import type { IncomingMessage } from 'node:http';
import { parseDocument } from 'yaml';
import type { z } from 'zod';
import { Problem } from '../problem.ts';

/** The largest JSON body, in bytes; every body that this service asks for is far smaller. */
const maxBytes = 16_384;

/**
 * Reads the body of a request as text, and no further than the limit. Throws a `validation_error` for one that is too
 * long, compressed or not UTF-8.
 */
export async function readBody(request: IncomingMessage): Promise<string> {
  const { 'content-encoding': encoding, 'content-length': length } = request.headers;
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') throw refuse('The body must not be compressed');
  if (Number(length) > maxBytes) throw refuse('The body is too long');
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) throw refuse('The body is too long');
    chunks.push(chunk);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.concat(chunks));
  } catch {
    throw invalid('The body is not UTF-8');
  }
}

/**
 * Parses a JSON body and checks it; throws a `validation_error` where it is not JSON or not what the schema says.
 * Whatever its media type is said to be, it is taken for JSON: the key that comes with it is no cookie that a foreign
 * page could use.
 */
export function parseJsonBody(text: string, schema: z.ZodType): unknown {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw invalid('The body is not valid JSON');
  }
  const result = schema.safeParse(json);
  if (!result.success) throw invalid(describe(result.error));
  if (holdsKeyTwice(text)) throw invalid('The body names a field twice');
  return result.data;
}

/** JSON.parse takes the last of two equal keys, so that `{"force":false,"force":true}` would confirm what it denies. */
function holdsKeyTwice(json: string): boolean {
  const { errors } = parseDocument(json, { schema: 'json', uniqueKeys: true, prettyErrors: false });
  return errors.some(({ code }) => code === 'DUPLICATE_KEY');
}

function describe(error: z.ZodError): string {
  const [issue] = error.issues;
  const field = issue?.path.join('.');
  return field ? `${field}: ${issue!.message}` : 'The body is not of the expected form';
}

function invalid(message: string): Problem {
  return new Problem('validation_error', message);
}

/** The rest of a body that is refused unread must not be taken for the next request. */
function refuse(message: string): Problem {
  return new Problem('validation_error', message, { headers: { Connection: 'close' } });
}
