import { createHmac, scrypt } from 'node:crypto';
import { promisify } from 'node:util';
import { z } from 'zod';
import type { Query } from './database.ts';

/** The rate and size of a shared bucket, in microseconds of the database's clock. */
interface SharedRate {
  /** The time in which one token is added. */
  readonly tokenUs: number;
  /** The time in which an empty bucket is full again. */
  readonly capacityUs: number;
}

/** Slow on purpose: a known address and its hash must not help to guess the password. */
const deriveKey = promisify(scrypt);

const Consumed = z.object({ allowed: z.boolean(), full_us: z.number() });

/** The database's clock: read again where it is used, since a statement may wait for the row. */
const nowUs = 'CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)';

/** A bucket that is this much further from full than its capacity comes from a clock that was set back, and starts over. */
const maxSkewUs = 60_000_000;

/** One statement on one row (generic cell rate algorithm), so that all instances count in turn. A refusal changes nothing. */
const consumeSql = `
  WITH consumed AS (
    INSERT INTO hosting_limits AS bucket (name, key_hash, full_at)
    VALUES ($1, $2, ${nowUs} + CAST($3 AS BIGINT))
    ON CONFLICT (name, key_hash) DO UPDATE
    SET full_at = CASE
      WHEN bucket.full_at - ${nowUs} BETWEEN 0 AND $4 THEN bucket.full_at + $3
      ELSE excluded.full_at
    END
    WHERE bucket.full_at - ${nowUs} NOT BETWEEN CAST($4 AS BIGINT) - $3 + 1 AND $4 + ${maxSkewUs}
    RETURNING full_at - ${nowUs} AS full_us
  )
  SELECT true AS allowed, full_us FROM consumed
  UNION ALL
  SELECT false, full_at - ${nowUs} FROM hosting_limits
    WHERE name = $1 AND key_hash = $2 AND NOT EXISTS (SELECT FROM consumed)`;

/**
 * The token buckets of all instances, over the open PostgreSQL database of a URL. The keys, some of which are addresses of
 * clients, are stored as hashes. Their secret comes from the password of the URL, since one in the database would give the
 * addresses to anyone who reads it. So all instances must have the same password.
 */
export function createLimits(query: Query, url: string) {
  const secret = deriveKey(URL.parse(url)?.password || url, 'hosting_limits', 32) as Promise<Buffer>;
  return {
    /** Consumes a token of a bucket if there is one; `fullUs` is the time until the bucket is full again. */
    async consume(name: string, key: string, { tokenUs, capacityUs }: SharedRate) {
      const keyHash = createHmac('sha256', await secret)
        .update(key)
        .digest('base64url');
      const [row] = await query(consumeSql, [name, keyHash, tokenUs, capacityUs]);
      // Another instance inserted the row first, and its burst is used up.
      if (!row) return { allowed: false, fullUs: capacityUs };
      const { allowed, full_us: fullUs } = Consumed.parse(row);
      return { allowed, fullUs };
    },
    /** Removes the buckets that are full again. */
    async purge(): Promise<void> {
      await query(`DELETE FROM hosting_limits WHERE full_at < ${nowUs}`);
    },
  };
}
