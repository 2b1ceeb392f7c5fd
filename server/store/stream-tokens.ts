import { z } from 'zod';
import { ServerName } from '#contract/api-keys.ts';
import type { Query } from './database.ts';
import { Hash, Time, openTable } from './table.ts';

/** The valid tokens that a key may have; a further one ends the oldest. */
const maxLiveTokens = 200;

const StreamToken = z.object({
  /** SHA-256 of the token, in hexadecimal. */
  tokenHash: Hash,
  /** The API key that requested it. */
  keyId: z.string().min(1),
  /** The hash of the key's secret that requested it. The token ends with that secret. */
  secretHash: Hash,
  server: ServerName,
  mode: z.enum(['read', 'read_write']),
  issuedAt: Time,
  expiresAt: Time,
});

/** The stored token of a console stream. */
export type StreamTokenRecord = Readonly<z.output<typeof StreamToken>>;

/** The tokens of console streams, over an open database. */
export function createStreamTokens(query: Query) {
  const tokens = openTable(query, 'hosting_stream_tokens', ['id'], StreamToken);
  return {
    /** Adds a token. Beyond 200 valid ones of its key, the oldest are removed. */
    async add(token: StreamTokenRecord): Promise<void> {
      await tokens.insert(token);
      await query(
        `DELETE FROM hosting_stream_tokens WHERE key_id = $1 AND expires_at > $2 AND id <= (
          SELECT id FROM hosting_stream_tokens WHERE key_id = $1 AND expires_at > $2
            ORDER BY id DESC LIMIT 1 OFFSET ${maxLiveTokens})`,
        [token.keyId, token.issuedAt],
      );
    },
    /** Finds a token by its hash, also an expired one that is not purged yet. */
    async find(tokenHash: string): Promise<StreamTokenRecord | undefined> {
      return (await tokens.select('WHERE token_hash = $1', [tokenHash]))[0];
    },
    /** Removes the tokens that expired before a time. */
    async purge(before: number): Promise<void> {
      await query('DELETE FROM hosting_stream_tokens WHERE expires_at < $1', [before]);
    },
  };
}
