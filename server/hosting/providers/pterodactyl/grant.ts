import { z } from 'zod';
import type { Client, Reply } from '../../../upstream/client.ts';
import { notAvailable, parseJson } from '../../../upstream/reply.ts';
import { isLoopback } from '../../../upstream/settings.ts';

/** The URL of a console, and a token for it. */
export interface Granted {
  readonly type: 'granted';
  readonly url: string;
  readonly token: string;
  readonly lifeMs: number;
}

/** The panel's answer to a request for a console. */
export type Grant =
  | Granted
  /** Permanent; the reason is safe for clients, the detail is for the log. */
  | { readonly type: 'refused'; readonly reason: string; readonly detail: string }
  /** Temporary. */
  | { readonly type: 'failed'; readonly retryAfterMs: number; readonly detail: string };

const Answer = z.object({ data: z.object({ token: z.string().min(1), socket: z.string() }) });
const Claims = z.object({
  exp: z.number().optional(),
  iat: z.number().optional(),
  permissions: z.array(z.string()).optional(),
});

/** The lifetime of a Wings token, which is fixed in its code. */
const defaultLifeMs = 600_000;

/** Whether permissions of a panel allow writing to a console. */
export function canWrite(permissions: readonly string[]): boolean {
  return permissions.some((permission) => permission === '*' || permission.startsWith('control.'));
}

/** Requests a console token from the panel. Never throws. */
export async function readGrant(client: Client, path: string): Promise<Grant> {
  let reply: Reply;
  try {
    reply = await client.request('GET', `${path}/websocket`);
  } catch (error) {
    return { type: 'failed', retryAfterMs: 0, detail: String((error as Error).cause ?? error) };
  }
  const detail = reply.describe();
  if (reply.status === 409) return { type: 'refused', reason: 'the server is not available', detail };
  // A wrong key, a missing permission or an unknown server: retrying does not help.
  if ([401, 403, 404].includes(reply.status)) return { type: 'refused', reason: notAvailable, detail };
  if (reply.status === 429) return { type: 'failed', retryAfterMs: toRetryAfter(reply), detail };
  const answer = reply.status === 200 ? parseJson(reply.text, Answer)?.data : undefined;
  if (!answer) return { type: 'failed', retryAfterMs: 0, detail };

  const claims = readClaims(answer.token);
  if (canWrite(claims.permissions ?? [])) {
    return { type: 'refused', reason: notAvailable, detail: `${detail}, with a token that may do more than read` };
  }
  if (!isSocketUrl(answer.socket)) {
    return { type: 'refused', reason: notAvailable, detail: `${detail}, with a socket that is not wss://` };
  }
  return { type: 'granted', url: answer.socket, token: answer.token, lifeMs: toLife(claims, Date.now()) };
}

function readClaims(token: string): z.infer<typeof Claims> {
  return parseJson(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'), Claims) ?? {};
}

/** The remaining lifetime of a new token. If its age is not 0 to 5 s, the clocks differ, and ours is ignored. */
function toLife({ exp, iat }: z.infer<typeof Claims>, now: number): number {
  if (exp === undefined) return defaultLifeMs;
  if (iat === undefined) return exp * 1000 > now ? exp * 1000 - now : defaultLifeMs;
  const age = now - iat * 1000;
  return (exp - iat) * 1000 - (age > 0 && age < 5000 ? age : 0);
}

/** When to renew a token: 2 minutes before it expires, or after half of a short lifetime. */
export function toRenewal(lifeMs: number): number {
  return Math.max(lifeMs > 240_000 ? lifeMs - 120_000 : lifeMs / 2, 250);
}

function toRetryAfter({ headers }: Reply): number {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  return Math.min(Number.isInteger(seconds) && seconds >= 0 ? seconds : 60, 600) * 1000;
}

function isSocketUrl(text: string): boolean {
  const url = URL.parse(text);
  if (!url || url.username || url.password || url.hash) return false;
  return url.protocol === 'wss:' || (url.protocol === 'ws:' && isLoopback(url.hostname));
}
