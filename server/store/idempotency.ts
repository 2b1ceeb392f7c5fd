import { z } from 'zod';
import type { Query } from './database.ts';
import { StoreError } from './error.ts';
import { Time, openTable } from './table.ts';

const dayMs = 24 * 60 * 60 * 1000;

/** The response to a request with an Idempotency-Key. */
export interface IdempotentAnswer {
  readonly status: number;
  /** The body as sent. */
  readonly body: string;
}

/** The state of an Idempotency-Key. */
export type IdempotencyState =
  /** The key was free: the caller runs the request. */
  | { readonly state: 'begun' }
  /** The first request is running; after the deadline, it has crashed with an unknown outcome. */
  | (FirstRequest & { readonly state: 'running'; readonly deadline: number })
  | (FirstRequest & { readonly state: 'answered'; readonly answer: IdempotentAnswer });

interface FirstRequest {
  readonly fingerprint: string;
  /** Null if an earlier version of the program stored it. */
  readonly requestId: string | null;
}

/** The first request with an Idempotency-Key. */
export interface IdempotentClaim {
  readonly apiKeyId: string;
  readonly key: string;
  readonly fingerprint: string;
  readonly requestId: string;
  /** In milliseconds since 1970. */
  readonly now: number;
  readonly deadline: number;
}

const State = z
  .object({
    fingerprint: z.string(),
    requestId: z.string().nullable(),
    deadline: Time,
    status: z.int().min(100).max(599).nullable(),
    body: z.string().nullable(),
  })
  .transform(({ deadline, status, body, ...first }, context): IdempotencyState => {
    if (status !== null && body !== null) return { state: 'answered', ...first, answer: { status, body } };
    if (status === null && body === null) return { state: 'running', ...first, deadline };
    context.addIssue('must have both a status and a body, or neither');
    return z.NEVER;
  });

/** The Idempotency-Keys of requests, over an open database. */
export function createIdempotency(query: Query) {
  const states = openTable(query, 'hosting_idempotency', ['api_key_id', 'idempotency_key'], State);
  return {
    /** Claims a key atomically: exactly one of several callers gets `begun`. Records older than 24 h are ignored. */
    async begin({ apiKeyId, key, fingerprint, requestId, now, deadline }: IdempotentClaim): Promise<IdempotencyState> {
      // The record may be released between the two statements, but hardly ten times.
      for (let attempt = 0; attempt < 10; attempt += 1) {
        const begun = await query(
          `INSERT INTO hosting_idempotency (api_key_id, idempotency_key, fingerprint, begun_at, deadline, request_id)
            VALUES ($1, $2, $3, $4, $5, $6)
            ON CONFLICT (api_key_id, idempotency_key) DO UPDATE
            SET fingerprint = excluded.fingerprint, begun_at = excluded.begun_at, deadline = excluded.deadline,
              request_id = excluded.request_id, status = NULL, body = NULL
            WHERE hosting_idempotency.begun_at < $7
            RETURNING api_key_id`,
          [apiKeyId, key, fingerprint, now, deadline, requestId, now - dayMs],
        );
        if (begun.length > 0) return { state: 'begun' };
        const [state] = await states.select('WHERE api_key_id = $1 AND idempotency_key = $2', [apiKeyId, key]);
        if (state) return state;
      }
      throw new StoreError('an Idempotency-Key is claimed and released again and again');
    },
    /** Stores the response to replay. The first one is never overwritten, since a client may have received it. */
    async finish(apiKeyId: string, key: string, { status, body }: IdempotentAnswer): Promise<void> {
      await query(
        `UPDATE hosting_idempotency SET status = $3, body = $4
          WHERE api_key_id = $1 AND idempotency_key = $2 AND status IS NULL`,
        [apiKeyId, key, status, body],
      );
    },
    /** Releases a key whose request had no effect. */
    async release(apiKeyId: string, key: string): Promise<void> {
      await query('DELETE FROM hosting_idempotency WHERE api_key_id = $1 AND idempotency_key = $2 AND status IS NULL', [
        apiKeyId,
        key,
      ]);
    },
    /** Removes records older than a time. */
    async purge(before: number): Promise<void> {
      await query('DELETE FROM hosting_idempotency WHERE begun_at < $1', [before]);
    },
  };
}
