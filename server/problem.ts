import { STATUS_CODES } from 'node:http';
import { messageOf } from '#contract/endpoint.ts';
import type { Endpoint } from '#contract/endpoint.ts';
import { errorMediaTypes, problems, renderProblem } from '#contract/problem.ts';
import type { ProblemCode } from '#contract/problem.ts';

/** An error response. Its code determines the status, its message is safe for clients, and it may add headers. */
export class Problem extends Error {
  override readonly name: string = 'Problem';
  readonly code: ProblemCode;
  readonly headers: Readonly<Record<string, string>>;
  /** Why, for operators; it is never sent. */
  readonly reason: string | undefined;
  constructor(
    code: ProblemCode,
    message: string = problems[code].message,
    options: ErrorOptions & { headers?: Readonly<Record<string, string>>; reason?: string | undefined } = {},
  ) {
    // It is a response and not a defect, so it needs no stack: capturing one costs more than the response.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message, options);
    Error.stackTraceLimit = stackTraceLimit;
    this.code = code;
    this.headers = options.headers ?? {};
    this.reason = options.reason;
  }
}

/** Renders what was thrown in the style of an endpoint; what is no {@link Problem} becomes its failure. */
export function renderError(error: unknown, endpoint: Endpoint | undefined) {
  const problem = error instanceof Problem ? error : new Problem(endpoint?.failure ?? 'internal_error');
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

/** Renders an error as a whole response, for a socket that closes after it. */
export function renderRawError(error: unknown, requestId: string, limits: readonly string[] = []) {
  const { status, headers, body } = renderError(error, undefined);
  const common = ['X-Request-Id', requestId, 'X-Content-Type-Options', 'nosniff', 'Connection', 'close'];
  const fields = [...Object.entries(headers).flat(), ...(status === 429 ? limits : []), ...common];
  const lines = fields.map((text, at) => (at % 2 === 0 ? `${text}: ` : `${text}\r\n`)).join('');
  return { status, text: `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines}\r\n${body}` };
}
