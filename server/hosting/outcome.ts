import { problems } from '#contract/problem.ts';
import { Problem } from '../problem.ts';
import { ProviderError } from '../upstream/client.ts';

/** Creates the failure of an action that was not sent because our store failed. */
export function toUnsent(detail: string, cause: unknown): ProviderError {
  const { message } = problems.internal_error;
  return new ProviderError(message, {
    code: 'internal_error',
    outcome: 'refused',
    cause: new Error(detail, { cause }),
  });
}

/** Converts the error of an action to a Problem. */
export function toActionProblem(error: unknown): Problem {
  return error instanceof Problem ? error : new Problem('internal_error', undefined, { cause: error });
}

/** Returns true if the failed action certainly had no effect. */
export function hasNoEffect(problem: Problem): boolean {
  // An unexpected error may have come after the request was sent.
  return problem instanceof ProviderError ? problem.outcome === 'refused' : problem.code !== 'internal_error';
}

/** Adds Action-Outcome to a 5xx; if the outcome is unknown, a 502 uses the `unknown` message. */
export function withActionOutcome(problem: Problem, unknown: string): Problem {
  const { code, cause, reason, headers } = problem;
  if (problems[code].status < 500) return problem;
  const isKnown = hasNoEffect(problem);
  const message = isKnown || code !== 'provider_error' ? problem.message : unknown;
  const outcome = { 'Action-Outcome': isKnown ? 'not_sent' : 'unknown' };
  return new Problem(code, message, { cause, reason, headers: { ...headers, ...outcome } });
}
