import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { messageOfUnknown } from '#contract/endpoint.ts';
import type { Endpoint } from '#contract/endpoint.ts';
import { problems, renderProblem } from '#contract/problem.ts';
import type { Caller, JsonReply } from '../http/handle.ts';
import { Problem, renderError } from '../problem.ts';
import type { IdempotentAnswer, Store } from '../store/types.ts';
import { failUnsent, hasNoEffect, toActionProblem, withActionOutcome } from './actions.ts';

/**
 * Returns a function that runs work at most once per Idempotency-Key and replays the first response. After the maximum
 * duration, a request without a stored response counts as lost.
 */
export function createRunOnce(store: Store['idempotency'], maxDurationMs: number) {
  /**
   * Runs work that returns the body of a 200. A failure without effect releases the key; after an unknown outcome the
   * request is never sent again. Throws Problems with Action-Outcome.
   */
  return async (
    endpoint: Endpoint,
    { keyId: apiKeyId, requestId, server }: Caller,
    { headers: { 'idempotency-key': key }, text }: { readonly headers: IncomingHttpHeaders; readonly text: string },
    work: () => Promise<unknown>,
  ): Promise<JsonReply> => {
    const fail = (error: unknown): never => {
      throw withActionOutcome(toActionProblem(error), messageOfUnknown(endpoint, requestId));
    };
    if (key === undefined) return { status: 200, body: await work().catch(fail) };
    if (typeof key !== 'string' || !/^[\x21-\x7e]{1,255}$/.test(key)) {
      throw new Problem('validation_error', 'Idempotency-Key must be 1 to 255 visible ASCII characters');
    }
    const unknownOutcome = (id: string): IdempotentAnswer => ({
      status: problems.provider_error.status,
      body: renderProblem('json', 'provider_error', messageOfUnknown(endpoint, id)),
    });
    const fingerprint = hash('sha256', JSON.stringify([endpoint.method, endpoint.path, server, text]));
    const now = Date.now();
    const claim = { apiKeyId, key, fingerprint, requestId, now, deadline: now + maxDurationMs };
    const found = await store.begin(claim).catch(failUnsent('The Idempotency-Key cannot be claimed'));
    if (found.state !== 'begun') {
      if (found.fingerprint !== fingerprint) throw new Problem('idempotency_mismatch');
      const first = found.requestId === null ? undefined : { 'Idempotent-Request-Id': found.requestId };
      if (found.state === 'running' && Date.now() < found.deadline) {
        throw new Problem('in_progress', undefined, { headers: { 'Retry-After': '1', ...first } });
      }
      const answer = found.state === 'answered' ? found.answer : unknownOutcome(found.requestId ?? requestId);
      const { status, body, isNotSent = false } = answer;
      const outcome = status >= 500 ? { 'Action-Outcome': isNotSent ? 'not_sent' : 'unknown' } : undefined;
      const headers = { 'Idempotent-Replayed': 'true', ...first, ...outcome };
      return { status, body: JSON.parse(body) as unknown, headers };
    }
    const action = typeof endpoint.access === 'object' ? endpoint.access.action : endpoint.path;
    const toEnd = (outcome: string) => ({ request_id: requestId, server, action, outcome });
    try {
      const body = await work();
      await store.finish(claim, { status: 200, body: `${JSON.stringify(body)}\n` }, toEnd('ok'));
      return { status: 200, body };
    } catch (error) {
      const problem = toActionProblem(error);
      const { status, body } = renderError(problem, endpoint);
      await (hasNoEffect(problem)
        ? store.release(claim, { status, body }, toEnd(problem.code))
        : store.finish(claim, unknownOutcome(requestId), toEnd('unknown')));
      return fail(error);
    }
  };
}
