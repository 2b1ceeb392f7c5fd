import { hash, randomBytes } from 'node:crypto';
import type { ConsoleClaim } from '../../keys/authorize.ts';
import type { Store, StreamTokenRecord } from '../../store/types.ts';

/** A verified claim with its validity in milliseconds since 1970. */
export type StreamGrant = ConsoleClaim & Pick<StreamTokenRecord, 'issuedAt' | 'expiresAt'>;

/** Issues and verifies the tokens of console streams. */
export interface StreamTokens {
  issue(claim: ConsoleClaim): Promise<string>;
  /** Verifies a token; `expired` means that it was once valid. */
  verify(token: string): Promise<StreamGrant | 'expired' | 'invalid'>;
}

/** Options of stream tokens. */
export interface StreamTokenOptions {
  readonly store: Store['streamTokens'];
  readonly ttlSeconds: number;
  readonly clock?: { readonly now: () => number };
}

/** The length of a token: 256 bits in base64url. */
export const tokenLength = 43;

const tokenPattern = new RegExp(`^[A-Za-z0-9_-]{${tokenLength}}$`);

/** Creates {@link StreamTokens}: random texts, of which only a hash is stored, for all instances. */
export function createStreamTokens({ store, ttlSeconds, clock = Date }: StreamTokenOptions): StreamTokens {
  return {
    async issue(claim) {
      const token = randomBytes(32).toString('base64url');
      const issuedAt = clock.now();
      const expiresAt = issuedAt + ttlSeconds * 1000;
      await store.add({ ...claim, tokenHash: hash('sha256', token), issuedAt, expiresAt });
      return token;
    },
    async verify(token) {
      // Anything else is refused without a query.
      if (!tokenPattern.test(token)) return 'invalid';
      const found = await store.find(hash('sha256', token));
      if (!found) return 'invalid';
      return clock.now() < found.expiresAt ? found : 'expired';
    },
  };
}
