import { keyProblems } from '#contract/problem.ts';
import { handle } from '../http/handle.ts';
import { Problem } from '../problem.ts';
import type { Store } from '../store/types.ts';

/** A rate limit of each API key. */
interface KeyLimit {
  readonly requests_per_second: number;
  readonly burst: number;
}

/** Dependencies of the routes of API keys. */
export interface KeyRoutesOptions {
  readonly apiKeys: Pick<Store['apiKeys'], 'find'>;
  readonly keyLimits: { readonly power: KeyLimit; readonly read: KeyLimit };
}

/** The routes of API keys. */
export function keyRoutes({ apiKeys, keyLimits }: KeyRoutesOptions) {
  return {
    getKey: handle('getKey', async ({ caller }) => {
      const key = await apiKeys.find(caller.keyId);
      // It was there when the request was authenticated.
      if (!key) throw new Problem('unauthorized', keyProblems.unknown);
      const { id, label, scopes, servers, createdAt, expiresAt } = key;
      const times = { created_at: toTime(createdAt), expires_at: expiresAt === null ? null : toTime(expiresAt) };
      return { status: 200, body: { id, label, scopes, servers, ...times, limits: keyLimits } };
    }),
  };
}

function toTime(at: number): string {
  return new Date(at).toISOString();
}
