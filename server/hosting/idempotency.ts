import { hash } from 'node:crypto';
import { problems, renderProblem } from '#contract/problem.ts';
import { Problem } from '../problem.ts';
import { ProviderError } from '../upstream/error.ts';
import type { IdempotentAnswer, Store } from '../store/types.ts';

/** A request that may name an Idempotency-Key. */
export interface IdempotentRequest {
  readonly apiKeyId: string;
  /** The header, as it came. */
  readonly key: string | string[] | undefined;
  /** All that must be the same for it to be the same request: method, path and body. */
  readonly parts: readonly string[];
}

/** Runs a request, at most once for each Idempotency-Key; throws a Problem where it may not run. */
export type Idempotency = (
  request: IdempotentRequest,
  run: () => Promise<IdempotentAnswer>,
) => Promise<IdempotentAnswer & { replayed: boolean }>;

/** What the rule needs. */
export interface IdempotencyOptions {
  readonly store: Store['idempotency'];
  /** No request runs longer than this. */
  readonly longestMs: number;
  /** Is told of an outcome that could not be noted, and of old records that could not be removed. */
  readonly onStoreFailure: (error: unknown) => void;
  readonly now?: () => number;
}

/** How long a record is kept, and how often those that are older are removed. */
const keptMs = 24 * 3_600_000;
const purgeEveryMs = 3_600_000;

/** What the Idempotency-Key of a request may be. */
const idempotencyKeyPattern = /^[\x21-\x7e]{1,255}$/;

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
  let purgedAt = Number.NEGATIVE_INFINITY;
  return async ({ apiKeyId, key, parts }, run) => {
    if (key === undefined) return { ...(await run()), replayed: false };
    if (typeof key !== 'string' || !idempotencyKeyPattern.test(key)) {
      throw new Problem('validation_error', 'Idempotency-Key must be 1 to 255 visible ASCII characters');
    }
    if (now() - purgedAt > purgeEveryMs) {
      purgedAt = now();
      await store.purge(purgedAt - keptMs).catch(onStoreFailure);
    }
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
  if (!(error instanceof Problem)) return false;
  return error.cause instanceof ProviderError ? error.cause.outcome === 'refused' : error.code !== 'internal_error';
}
