import { hash } from 'node:crypto';
import { problems, renderProblem } from '#contract/problem.ts';
import type { JsonReply } from '../http/handle.ts';
import { Problem } from '../problem.ts';
import type { IdempotentAnswer, Store } from '../store/types.ts';
import { isDefinite } from './service.ts';

/** A request with an optional Idempotency-Key. */
export interface IdempotentRequest {
  readonly apiKeyId: string;
  readonly requestId: string;
  /** The raw header. */
  readonly key: string | string[] | undefined;
  /** The parts that identify the request: method, path, server and body. */
  readonly parts: readonly string[];
  /** The message of the response if the outcome is unknown. */
  readonly failure: string;
}

/**
 * Runs a request, which returns the body of a 200, at most once for each Idempotency-Key. The headers of the reply say whether
 * it is replayed, and name the first request. Throws a Problem if the request may not run.
 */
export type Idempotency = (request: IdempotentRequest, run: () => Promise<unknown>) => Promise<JsonReply>;

/** Options of idempotency. */
export interface IdempotencyOptions {
  readonly store: Store['idempotency'];
  /** The maximum duration of a request. */
  readonly maxDurationMs: number;
  /** Called if an outcome cannot be stored. */
  readonly onStoreFailure: (error: unknown) => void;
  readonly now?: () => number;
}

const idempotencyKeyPattern = /^[\x21-\x7e]{1,255}$/;

/**
 * Creates {@link Idempotency}. The first request runs, and later ones get its response. While it runs, they get
 * `in_progress`. A definite failure releases the key. After an unknown outcome the key stays claimed, so that the request
 * is never sent again.
 */
export function createIdempotency({
  store,
  maxDurationMs,
  onStoreFailure,
  now = Date.now,
}: IdempotencyOptions): Idempotency {
  return async ({ apiKeyId, requestId, key, parts, failure }, run) => {
    if (key === undefined) return { status: 200, body: await run() };
    if (typeof key !== 'string' || !idempotencyKeyPattern.test(key)) {
      throw new Problem('validation_error', 'Idempotency-Key must be 1 to 255 visible ASCII characters');
    }
    const unknownOutcome: IdempotentAnswer = {
      status: problems.provider_error.status,
      body: renderProblem('json', 'provider_error', failure),
    };
    const fingerprint = hash('sha256', JSON.stringify(parts));
    const [begunAt, deadline] = [now(), now() + maxDurationMs];
    const found = await store.begin({ apiKeyId, key, fingerprint, requestId, now: begunAt, deadline });
    if (found.state !== 'begun') {
      if (found.fingerprint !== fingerprint) throw new Problem('idempotency_mismatch');
      const first = found.requestId === null ? undefined : { 'Idempotent-Request-Id': found.requestId };
      if (found.state === 'running' && now() < found.deadline) {
        throw new Problem('in_progress', undefined, { headers: { 'Retry-After': '1', ...first } });
      }
      const { status, body } = found.state === 'answered' ? found.answer : unknownOutcome;
      return { status, body: JSON.parse(body) as unknown, headers: { 'Idempotent-Replayed': 'true', ...first } };
    }
    const save = (answer: IdempotentAnswer): Promise<void> => store.finish(apiKeyId, key, answer).catch(onStoreFailure);
    let body: unknown;
    try {
      body = await run();
    } catch (error) {
      await (error instanceof Problem && isDefinite(error)
        ? store.release(apiKeyId, key).catch(onStoreFailure)
        : save(unknownOutcome));
      throw error;
    }
    // If this cannot be stored, the action has still succeeded; replays then get the unknown outcome.
    await save({ status: 200, body: `${JSON.stringify(body)}\n` });
    return { status: 200, body };
  };
}
