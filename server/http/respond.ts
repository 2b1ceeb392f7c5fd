import { STATUS_CODES } from 'node:http';
import { Readable } from 'node:stream';
import { HTTPError } from 'h3';
import type { H3Event } from 'h3';
import { errorMediaTypes, problems, renderProblem } from '#contract/problem.ts';
import { messageOf } from '#contract/endpoint.ts';
import type { Endpoint } from '#contract/endpoint.ts';
import { Problem } from '../problem.ts';
import type { RouteReply } from './handle.ts';
import type { RequestContext } from './request.ts';
import { toStoredReply } from './stored.ts';
import type { StoredFile } from './stored.ts';

/** The message for a request whose target no route may see. */
export const badTarget = 'The target of the request is not valid, or it has no Host';

/** Sets the status with its reason phrase, which h3 leaves empty, and adds headers: alternating names and values. */
export function setHead(event: H3Event, status: number, headers: readonly string[] = []): void {
  event.res.status = status;
  event.res.statusText = STATUS_CODES[status]!;
  append(event, headers);
}

/** Adds headers, given as alternating names and values. */
export function append(event: H3Event, headers: readonly string[]): void {
  for (let at = 0; at < headers.length; at += 2) event.res.headers.append(headers[at]!, headers[at + 1]!);
}

/** Sends the reply of a route; returns the body. A preview changes at each save. */
export function send(
  event: H3Event,
  reply: RouteReply,
  context: RequestContext,
  isPreview: boolean,
): string | Promise<unknown> {
  if ('variants' in reply) return sendStored(event, reply, context, isPreview);
  if ('to' in reply) {
    setHead(event, 302, ['Location', reply.to, 'Cache-Control', 'no-cache', 'Content-Length', '0']);
    return '';
  }
  const text = `${JSON.stringify(reply.body)}\n`;
  setHead(event, reply.status, ['Content-Type', 'application/json', 'Content-Length', String(Buffer.byteLength(text))]);
  append(event, ['Cache-Control', 'no-store', ...Object.entries(reply.headers ?? {}).flat(), ...context.limits]);
  return text;
}

async function sendStored(
  event: H3Event,
  file: StoredFile,
  context: RequestContext,
  isPreview: boolean,
): Promise<unknown> {
  const { status, headers, variant, range } = toStoredReply(file, context.request, isPreview);
  const bytes = variant && (file.inMemory(variant) ?? (await file.read(variant, range)));
  // The response has begun, so it can only be broken off.
  if (bytes instanceof Readable) bytes.once('error', (error) => (context.failure = error));
  setHead(event, status, headers);
  if (range && Buffer.isBuffer(bytes)) return bytes.subarray(range.start, range.end + 1);
  return bytes ?? '';
}

/**
 * Renders any thrown value in the error style of an endpoint. Only a {@link Problem} has a code and message of its own;
 * all else becomes the endpoint's failure code.
 */
export function renderError(error: unknown, endpoint: Endpoint | undefined) {
  const problem = toProblem(error, endpoint);
  const style = endpoint?.errorStyle ?? 'json';
  const isDefault = problem.message === problems[problem.code].message;
  const body = renderProblem(style, problem.code, isDefault ? messageOf(endpoint, problem.code) : problem.message);
  const { status } = problems[problem.code];
  const headers: Record<string, string> = {
    'Content-Type': errorMediaTypes[style],
    'Content-Length': String(Buffer.byteLength(body)),
    'Cache-Control': 'no-store',
    ...(status === 401 || status === 403 ? { 'WWW-Authenticate': 'Bearer' } : {}),
    ...problem.headers,
  };
  return { status, headers, body };
}

function toProblem(error: unknown, endpoint: Endpoint | undefined): Problem {
  if (error instanceof Problem) return error;
  // Without an endpoint, h3 rejected the URL.
  if (!endpoint && HTTPError.isError(error) && error.status === 400) return new Problem('validation_error', badTarget);
  return new Problem(endpoint?.failure ?? 'internal_error');
}

/**
 * Renders an error as the bytes of a whole response, for a socket without a ServerResponse. The connection closes after
 * it.
 */
export function renderRawError(error: unknown, requestId: string, limits: readonly string[] = []) {
  const { status, headers, body } = renderError(error, undefined);
  const common = ['X-Request-Id', requestId, 'X-Content-Type-Options', 'nosniff', 'Connection', 'close'];
  const fields = [...Object.entries(headers).flat(), ...(status === 429 ? limits : []), ...common];
  const lines = fields.map((text, at) => (at % 2 === 0 ? `${text}: ` : `${text}\r\n`)).join('');
  return { status, text: `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines}\r\n${body}` };
}
