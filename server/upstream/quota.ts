import { Problem } from '../problem.ts';
import { toRefusal, toRetryAfter } from './client.ts';
import type { Quota, Reply } from './client.ts';

/** The window of a panel (Laravel, `Limit::perMinute`), which starts with the first request. */
const windowMs = 60_000;

/** The share of the limit that is kept for actions. */
const actionReserve = 1 / 4;
/** The share of what is left that the actions of one key may cost. */
const keyShare = 1 / 4;

/** Creates the quota of an account from the rate limit headers of its upstream, which count all instances. */
export function createQuota(now: () => number = () => performance.now()): Quota {
  // Undefined until a reply names the limit; until then nothing is refused.
  let limit: number | undefined;
  let left = 0;
  // Requests without a reply yet, which may reduce `left`.
  let running = 0;
  let windowEndsAt = 0;
  /** The requests for actions of each API key in this window. */
  const spent = new Map<string, number>();

  const count = (budget: NonNullable<ReturnType<typeof readBudget>>): void => {
    // Replies may arrive in another order than they were counted, so only a larger step up is a new window.
    const isNew = now() >= windowEndsAt || budget.limit !== limit || budget.left > left + running;
    if (budget.endsInMs !== undefined || isNew) windowEndsAt = now() + Math.min(budget.endsInMs ?? windowMs, windowMs);
    left = isNew ? budget.left : Math.min(budget.left, left);
    if (isNew) spent.clear();
    ({ limit } = budget);
  };
  const countFree = (all: number): number => (now() < windowEndsAt ? left : all) - running;
  const hasRoom = (): boolean => limit === undefined || countFree(limit) > limit * actionReserve;

  return {
    begin() {
      running += 1;
      return (reply) => {
        const budget = reply && readBudget(reply);
        if (budget) count(budget);
        if (!reply) left -= 1;
        running -= 1;
      };
    },
    hasRoom,
    assertRoom() {
      if (hasRoom()) return;
      const detail = `the rest of the budget of ${limit} requests is kept for actions`;
      throw toRefusal(detail, undefined, windowEndsAt - now());
    },
    charge(key, requests = 1) {
      if (now() >= windowEndsAt) spent.clear();
      const cost = spent.get(key) ?? 0;
      if (limit !== undefined && cost > countFree(limit) * keyShare) {
        throw new Problem('rate_limited', undefined, {
          headers: toRetryAfter(windowEndsAt - now()),
          reason: `the actions of the key cost ${cost} of ${limit} requests in this minute`,
        });
      }
      spent.set(key, cost + requests);
    },
  };
}

/** Reads the rate limit headers of a panel (Laravel) or of Hetzner; `endsInMs` is the time left in the window. */
function readBudget({ status, headers }: Pick<Reply, 'status' | 'headers'>) {
  const read = (...names: readonly string[]): number | undefined => {
    const text = names.map((name) => headers.get(name)).find((value) => value !== null) ?? '';
    return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
  };
  const limit = read('x-ratelimit-limit', 'ratelimit-limit');
  // A 429 of Laravel may lack the remaining requests.
  const left = status === 429 ? 0 : read('x-ratelimit-remaining', 'ratelimit-remaining');
  if (limit === undefined || left === undefined) return undefined;
  const seconds = status === 429 ? read('retry-after') : undefined;
  return { limit, left, endsInMs: seconds === undefined ? undefined : seconds * 1000 };
}
