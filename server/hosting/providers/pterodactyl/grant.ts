import { z } from 'zod';
import type { Client, Reply } from '../../../upstream/client.ts';
import { notAvailable, parseJson } from '../../../upstream/reply.ts';
import { isLoopback } from '../../../upstream/settings.ts';

/** The way to a console, and the token for it. */
export interface Granted {
  readonly type: 'granted';
  readonly url: string;
  readonly token: string;
  readonly lifeMs: number;
}

/** What the panel says to the wish for a console. */
export type Grant =
  | Granted
  /** For good; the reason is fit for clients, the detail for the log. */
  | { readonly type: 'refused'; readonly reason: string; readonly detail: string }
  /** For now. */
  | { readonly type: 'failed'; readonly retryAfterMs: number; readonly detail: string };

const Answer = z.object({ data: z.object({ token: z.string().min(1), socket: z.string() }) });
const Claims = z.object({
  exp: z.number().optional(),
  iat: z.number().optional(),
  permissions: z.array(z.string()).optional(),
});

/** The life of a token of Wings, which is fixed in its code. */
const usualLifeMs = 600_000;

/** Whether permissions of a panel allow to change anything that a console can change. */
export function canWrite(permissions: readonly string[]): boolean {
  return permissions.some((permission) => permission === '*' || permission.startsWith('control.'));
}

/** Asks the panel for a console of a server. Never throws. */
export async function readGrant(client: Client, path: string): Promise<Grant> {
  let reply: Reply;
  try {
    reply = await client.request('GET', `${path}/websocket`);
  } catch (error) {
    return { type: 'failed', retryAfterMs: 0, detail: String((error as Error).cause ?? error) };
  }
  const detail = reply.describe();
  if (reply.status === 409) return { type: 'refused', reason: 'the server is not available', detail };
  // A wrong key, one without the permission, and a server that it does not see: time changes none of them.
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

/** How long a token lives from now on. Where it seems not to be new, the clocks differ, and ours is left out. */
function toLife({ exp, iat }: z.infer<typeof Claims>, now: number): number {
  if (exp === undefined) return usualLifeMs;
  if (iat === undefined) return exp * 1000 > now ? exp * 1000 - now : usualLifeMs;
  const age = now - iat * 1000;
  return (exp - iat) * 1000 - (age > 0 && age < 5000 ? age : 0);
}

/** When a token is renewed: 2 minutes before its end, or at half of a life that is short for that. */
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
