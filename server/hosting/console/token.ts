import { createSecretKey, randomUUID } from 'node:crypto';
import { z } from 'zod';
import { ServerName } from '#contract/api-keys.ts';
import { systemClock } from './clock.ts';
import type { Clock } from './clock.ts';

/** The mode of a stream: read output only, or also send commands. */
export const StreamMode = z.enum(['read', 'read_write']);
export type StreamMode = z.infer<typeof StreamMode>;

/** The claims of a stream token. */
export interface StreamClaim {
  readonly server: ServerName;
  /** The id of the API key that requested it. */
  readonly keyId: string;
  readonly mode: StreamMode;
}

/** A verified claim with its validity in milliseconds since 1970. */
export interface StreamGrant extends StreamClaim {
  readonly issuedAt: number;
  readonly expiresAt: number;
}

/** Issues and verifies the tokens of console streams. */
export interface StreamTokens {
  issue(claim: StreamClaim): Promise<string>;
  /** Verifies a token; `expired` means that it was once valid. */
  verify(token: string): Promise<StreamGrant | 'expired' | 'invalid'>;
}

/** Options of stream tokens. */
export interface StreamTokenOptions {
  /** At least 256 bits, the same on every instance. */
  readonly secret: string;
  readonly ttlSeconds: number;
  readonly clock?: Pick<Clock, 'now'>;
}

const algorithm = 'HS256';
const issuer = 'hosting-api';
const audience = 'game-console-stream';

const Payload = z.object({
  sub: z.string().min(1),
  server: ServerName,
  mode: StreamMode,
  iat: z.number(),
  exp: z.number(),
  jti: z.string().min(1),
});

/** Creates {@link StreamTokens}: JWTs (RFC 7519) that every instance with the same secret can verify. */
export function createStreamTokens({ secret, ttlSeconds, clock = systemClock }: StreamTokenOptions): StreamTokens {
  const key = createSecretKey(secret, 'utf8');
  return {
    async issue({ server, keyId, mode }) {
      const { SignJWT } = await import('jose');
      const now = Math.floor(clock.now() / 1000);
      return new SignJWT({ server, mode })
        .setProtectedHeader({ alg: algorithm, typ: 'JWT' })
        .setIssuer(issuer)
        .setAudience(audience)
        .setSubject(keyId)
        .setJti(randomUUID())
        .setIssuedAt(now)
        .setExpirationTime(now + ttlSeconds)
        .sign(key);
    },
    async verify(token) {
      const { errors, jwtVerify } = await import('jose');
      try {
        // The explicit algorithm excludes `none` and other kinds of keys (RFC 8725 3.1).
        const { payload } = await jwtVerify(token, key, {
          issuer,
          audience,
          algorithms: [algorithm],
          currentDate: new Date(clock.now()),
        });
        const { success, data } = Payload.safeParse(payload);
        if (!success) return 'invalid';
        const { sub, server, mode, iat, exp } = data;
        return { keyId: sub, server, mode, issuedAt: iat * 1000, expiresAt: exp * 1000 };
      } catch (error) {
        if (error instanceof errors.JWTExpired) return 'expired';
        if (error instanceof errors.JOSEError) return 'invalid';
        throw error;
      }
    },
  };
}
