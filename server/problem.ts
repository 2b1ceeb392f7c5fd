import { problems } from '#contract/problem.ts';
import type { ProblemCode } from '#contract/problem.ts';

/** What a {@link Problem} may carry beside its code and message. */
export interface ProblemOptions extends ErrorOptions {
  /** Headers of the answer, for instance Allow or Retry-After. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** An error that a client is told of: its code picks the status, and its message is fit to be read by anyone. */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly code: ProblemCode;
  readonly headers: Readonly<Record<string, string>>;
  constructor(
    code: ProblemCode,
    message: string = problems[code].message,
    { headers = {}, ...options }: ProblemOptions = {},
  ) {
    super(message, options);
    this.code = code;
    this.headers = headers;
  }
}
