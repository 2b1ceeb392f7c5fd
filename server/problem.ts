import { STATUS_CODES } from 'node:http';
import { messageOf } from '#contract/endpoint.ts';
import type { Endpoint } from '#contract/endpoint.ts';
import { errorMediaTypes, problems, renderProblem } from '#contract/problem.ts';
import type { ProblemCode } from '#contract/problem.ts';

/** Header fields by name. */
export type HeaderFields = Readonly<Record<string, string>>;

/** An error that operators can correct; the commands and the server's start print the message without a stack. */
export class OperatorError extends Error {
  override readonly name = this.constructor.name;
}

/** An error response. Its code determines the status; its message is safe for clients. */
export class Problem extends Error {
  override readonly name: string = 'Problem';
  readonly code: ProblemCode;
  readonly headers: HeaderFields;
  /** Internal reason for the log; never sent. */
  readonly reason: string | undefined;
  /** Fields of the JSON body beyond those of every error. */
  readonly fields: object;
  constructor(
    code: ProblemCode,
    message: string = problems[code].message,
    options: ErrorOptions & { headers?: HeaderFields; reason?: string | undefined; fields?: object } = {},
  ) {
    // Problems are responses, not bugs: skip the stack trace, which costs more than the response.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message, options);
    Error.stackTraceLimit = stackTraceLimit;
    this.code = code;
    this.headers = options.headers ?? {};
    this.reason = options.reason;
    this.fields = options.fields ?? {};
  }
}

/** Renders an error in the style of an endpoint; unexpected errors become the failure of the endpoint. */
export function renderError(error: unknown, endpoint: Endpoint | undefined) {
  const problem = error instanceof Problem ? error : new Problem(endpoint?.failure ?? 'internal_error');
  const style = endpoint?.errorStyle ?? 'json';
  const isDefault = problem.message === problems[problem.code].message;
  const allowed = style === 'json' ? problem.headers['Allow']?.replace(/, (\w+)$/, ' or $1') : undefined;
  const preset = allowed ? `${problem.message}; use ${allowed}` : messageOf(endpoint, problem.code);
  const message = isDefault ? preset : problem.message;
  const body = renderProblem(style, problem.code, message, problem.fields);
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

/** Renders an error as a whole response, after which its socket closes. */
export function renderRawError(error: unknown, requestId: string, limits: readonly HeaderFields[] = []) {
  const { status, headers, body } = renderError(error, undefined);
  const common = { 'X-Request-Id': requestId, 'X-Content-Type-Options': 'nosniff', Connection: 'close' };
  const records = [headers, ...(status === 429 ? limits : []), common];
  const fields = records.flatMap((record) => Object.entries(record));
  const lines = fields.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return { status, text: `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines}\r\n${body}` };
}
