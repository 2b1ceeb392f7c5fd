import { hash } from 'node:crypto';
import { problems, renderProblem } from '#contract/problem.ts';
import { Problem } from '../problem.ts';
import { ProviderError } from '../providers/types.ts';
import type { IdempotentAnswer, Store } from '../store/types.ts';

/** A request that names an Idempotency-Key. */
export interface IdempotentRequest {
  readonly apiKeyId: string;
  readonly key: string;
  /** All that must be the same for it to be the same request: method, target and body. */
  readonly parts: readonly string[];
}

/** Runs a request at most once for each Idempotency-Key. */
export type Idempotency = (
  request: IdempotentRequest,
  run: () => Promise<IdempotentAnswer>,
) => Promise<IdempotentAnswer & { replayed: boolean }>;

/** What the rule needs. */
export interface IdempotencyOptions {
  readonly store: Store['idempotency'];
  /** No request runs longer than this. */
  readonly longestMs: number;
  /** Is told of an outcome that could not be noted. */
  readonly onStoreFailure: (error: unknown) => void;
  readonly now?: () => number;
}

/** What the Idempotency-Key of a request may be. */
export const idempotencyKeyPattern = /^[\x21-\x7e]{1,255}$/;

/**
 * Creates the rule: the first request runs; a repeated one is given its answer; one that comes while it runs is told
 * so; a definite failure frees the key, and an outcome that is not known keeps it, so that it is never sent again.
 */
export function createIdempotency({
  store,
  longestMs,
  onStoreFailure,
  now = Date.now,
}: IdempotencyOptions): Idempotency {
  return async ({ apiKeyId, key, parts }, run) => {
    const fingerprint = hash('sha256', JSON.stringify(parts));
    const found = await store.begin(apiKeyId, key, fingerprint, now(), now() + longestMs);
    if (found.state !== 'begun') {
      if (found.fingerprint !== fingerprint) throw new Problem('idempotency_mismatch');
      if (found.state === 'answered') return { ...found.answer, replayed: true };
      if (now() < found.deadline) throw new Problem('in_progress', undefined, { headers: { 'Retry-After': '1' } });
      return { ...unknownOutcome, replayed: true };
    }
    const keep = (answer: IdempotentAnswer): Promise<void> => store.finish(apiKeyId, key, answer).catch(onStoreFailure);
    let answer: IdempotentAnswer;
    try {
      answer = await run();
    } catch (error) {
      await (isDefinite(error) ? store.release(apiKeyId, key).catch(onStoreFailure) : keep(unknownOutcome));
      throw error;
    }
    // What was done stays done, also where it cannot be noted: the record then runs out as of unknown outcome.
    await keep(answer);
    return { ...answer, replayed: false };
  };
}

const unknownOutcome: IdempotentAnswer = {
  status: problems.provider_error.status,
  body: renderProblem('json', 'provider_error', 'It is not known whether the action took effect'),
};

/** Whether it is certain that a request which failed did nothing. */
function isDefinite(error: unknown): boolean {
  if (!(error instanceof Problem) || error.code === 'internal_error') return false;
  return !(error.cause instanceof ProviderError) || error.cause.outcome === 'refused';
}
