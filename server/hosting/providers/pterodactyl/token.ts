import { z } from 'zod';
import { isLoopback } from '../../../upstream/address.ts';
import { ForeignNumber, parseJson } from '../../../upstream/client.ts';
import type { Reply } from '../../../upstream/client.ts';
import { Permissions, canWrite } from './answers.ts';

/** A token of the panel, and the address of the socket. */
export interface SocketToken {
  readonly url: string;
  readonly token: string;
  /** The panel's own address, which nodes compare with the Origin. */
  readonly issuer: string | undefined;
  readonly lifeMs: number;
}

const TokenReply = z.object({ data: z.object({ token: z.string().min(1), socket: z.string() }) });
const TokenClaims = z.object({
  exp: ForeignNumber.optional().catch(undefined),
  iat: ForeignNumber.optional().catch(undefined),
  /** Sent as the Origin, so printable. */
  iss: z
    .string()
    .regex(/^[\x21-\x7e]{1,500}$/)
    .optional()
    .catch(undefined),
  permissions: Permissions,
});

/** The lifetime of a token, fixed in the code of panels. */
const defaultLifeMs = 600_000;

/** Computes the remaining lifetime of a new token. */
function toLife({ exp, iat }: z.infer<typeof TokenClaims>, now: number): number {
  if (exp === undefined) return defaultLifeMs;
  if (iat === undefined) return exp * 1000 > now ? exp * 1000 - now : defaultLifeMs;
  const age = now - iat * 1000;
  // An implausible age means that the clocks differ.
  return (exp - iat) * 1000 - (age > 0 && age < 5000 ? age : 0);
}

/** Parses a token; returns a text about a token that must not be used, and undefined for another reply. */
export function parseToken(reply: Reply): SocketToken | string | undefined {
  const answer = reply.status === 200 ? parseJson(reply.text, TokenReply)?.data : undefined;
  if (!answer) return undefined;
  const { token, socket } = answer;
  const claims = parseJson(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'), TokenClaims);
  if (!claims) return 'a token whose permissions cannot be read';
  if (canWrite(claims.permissions)) return 'a token that may do more than read';
  if (!isSocketUrl(socket)) return 'a socket that is not wss://';
  return { url: socket, token, issuer: claims.iss, lifeMs: toLife(claims, Date.now()) };
}

function isSocketUrl(text: string): boolean {
  const url = URL.parse(text);
  if (!url || url.username || url.password || url.hash) return false;
  return url.protocol === 'wss:' || (url.protocol === 'ws:' && isLoopback(url.hostname));
}
