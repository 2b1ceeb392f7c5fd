import { problems } from '#contract/problem.ts';
import type { ProblemCode } from '#contract/problem.ts';

/**
 * An error response. Its code determines the status, and its message is safe for clients. It may add headers, for instance
 * Allow or Retry-After.
 */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly code: ProblemCode;
  readonly headers: Readonly<Record<string, string>>;
  /** Why, for operators; it is never sent. */
  readonly reason: string | undefined;
  constructor(
    code: ProblemCode,
    message: string = problems[code].message,
    {
      headers = {},
      reason,
      ...options
    }: ErrorOptions & { headers?: Readonly<Record<string, string>>; reason?: string | undefined } = {},
  ) {
    // It is a response and not a defect, so it needs no stack: capturing one costs more than the response.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message, options);
    Error.stackTraceLimit = stackTraceLimit;
    this.code = code;
    this.headers = headers;
    this.reason = reason;
  }
}
