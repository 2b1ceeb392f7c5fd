import { STATUS_CODES } from 'node:http';
import { HTTPError } from 'h3';
import { errorMediaTypes, problems, renderProblem } from '#contract/problem.ts';
import { messageOf } from '#contract/endpoint.ts';
import type { Endpoint } from '#contract/endpoint.ts';
import { Problem } from '../problem.ts';

/** The message for a request whose target no route may see. */
export const badTarget = 'The target of the request is not valid, or it has no Host';

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

/**
 * Renders an error as the bytes of a whole response, for a socket without a ServerResponse. The connection closes after
 * it.
 */
export function renderRawError(error: unknown, requestId: string) {
  const { status, headers, body } = renderError(error, undefined);
  const common = { 'X-Request-Id': requestId, 'X-Content-Type-Options': 'nosniff', Connection: 'close' };
  const lines = Object.entries({ ...headers, ...common }).map(([name, value]) => `${name}: ${value}\r\n`);
  return { status, text: `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}` };
}

/** Unwraps the error of a handler: h3 wraps it, and would answer with the status of an upstream's error. */
export function unwrapError(error: unknown): unknown {
  return HTTPError.isError(error) && error.unhandled ? error.cause : error;
}

function toProblem(error: unknown, endpoint: Endpoint | undefined): Problem {
  const thrown = unwrapError(error);
  if (thrown instanceof Problem) return thrown;
  // Without an endpoint, h3 rejected the URL.
  if (!endpoint && HTTPError.isError(thrown) && thrown.status === 400)
    return new Problem('validation_error', badTarget);
  return new Problem(endpoint?.failure ?? 'internal_error');
}
