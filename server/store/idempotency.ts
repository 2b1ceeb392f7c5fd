import type { Query } from './database.ts';
import { StoreError } from './error.ts';
import { IdempotencyRow, parseRow } from './records.ts';
import type { Store } from './types.ts';

const dayMs = 24 * 60 * 60 * 1000;

/** The Idempotency-Keys of requests, over an open database. */
export function createIdempotency(query: Query): Store['idempotency'] {
  return {
    async begin(apiKeyId, key, fingerprint, now, deadline) {
      // The record may be freed between the two statements; a client cannot make that happen time and again.
      for (let attempt = 0; attempt < 10; attempt += 1) {
        const begun = await query(
          `INSERT INTO hosting_idempotency (api_key_id, idempotency_key, fingerprint, begun_at, deadline)
            VALUES ($1, $2, $3, $4, $5)
            ON CONFLICT (api_key_id, idempotency_key) DO UPDATE
            SET fingerprint = excluded.fingerprint, begun_at = excluded.begun_at, deadline = excluded.deadline,
              status = NULL, body = NULL
            WHERE hosting_idempotency.begun_at < $6
            RETURNING api_key_id`,
          [apiKeyId, key, fingerprint, now, deadline, now - dayMs],
        );
        if (begun.length > 0) return { state: 'begun' };
        const [row] = await query(
          `SELECT fingerprint, deadline, status, body FROM hosting_idempotency
            WHERE api_key_id = $1 AND idempotency_key = $2`,
          [apiKeyId, key],
        );
        if (row) return parseRow(IdempotencyRow, row, 'hosting_idempotency', `${apiKeyId} ${key}`);
      }
      throw new StoreError('an Idempotency-Key is claimed and freed without end');
    },
    async finish(apiKeyId, key, { status, body }) {
      // The first answer stays: a client may have been given it already.
      await query(
        `UPDATE hosting_idempotency SET status = $3, body = $4
          WHERE api_key_id = $1 AND idempotency_key = $2 AND status IS NULL`,
        [apiKeyId, key, status, body],
      );
    },
    async release(apiKeyId, key) {
      await query('DELETE FROM hosting_idempotency WHERE api_key_id = $1 AND idempotency_key = $2 AND status IS NULL', [
        apiKeyId,
        key,
      ]);
    },
    async purge(before) {
      await query('DELETE FROM hosting_idempotency WHERE begun_at < $1', [before]);
    },
  };
}
