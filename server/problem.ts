import { problems } from '#contract/problem.ts';
import type { ProblemCode } from '#contract/problem.ts';

/**
 * An error as the answer of a request: its code picks the status, and its message is fit to be read by anyone. It may carry
 * headers of the answer, for instance Allow or Retry-After.
 */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly code: ProblemCode;
  readonly headers: Readonly<Record<string, string>>;
  constructor(
    code: ProblemCode,
    message: string = problems[code].message,
    { headers = {}, ...options }: ErrorOptions & { headers?: Readonly<Record<string, string>> } = {},
  ) {
    // It is an answer and no defect: where it was thrown is told by its cause, and a stack costs more than the answer.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message, options);
    Error.stackTraceLimit = stackTraceLimit;
    this.code = code;
    this.headers = headers;
  }
}
