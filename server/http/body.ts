import type { IncomingMessage } from 'node:http';
import { parseDocument } from 'yaml';
import type { z } from 'zod';
import { Problem } from '../problem.ts';

/** The largest JSON body, in bytes; every body that this service asks for is far smaller. */
const maxBytes = 16_384;

/**
 * Reads a JSON body and checks it; undefined where there is none. Throws a `validation_error` for what is too long,
 * compressed, not JSON or not what the schema says, and reads no further than the limit. Whatever its media type is
 * said to be, it is taken for JSON: the key that comes with it is no cookie that a foreign page could use.
 */
export async function readJsonBody(
  request: IncomingMessage,
  schema: z.ZodType,
): Promise<{ text: string; value: unknown }> {
  const text = await readText(request);
  if (text === '') return { text, value: undefined };
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw invalid('The body is not valid JSON');
  }
  const result = schema.safeParse(json);
  if (!result.success) throw invalid(describe(result.error));
  if (holdsKeyTwice(text)) throw invalid('The body names a field twice');
  return { text, value: result.data };
}

async function readText(request: IncomingMessage): Promise<string> {
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
  return Buffer.concat(chunks).toString('utf8');
}

/** JSON.parse takes the last of two equal keys, so that `{"force":false,"force":true}` would confirm what it denies. */
function holdsKeyTwice(json: string): boolean {
  return parseDocument(json, { schema: 'json', uniqueKeys: true, prettyErrors: false }).errors.length > 0;
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
