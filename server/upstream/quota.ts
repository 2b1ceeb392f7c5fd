import { toRefusal } from './client.ts';
import type { Client, Reply } from './client.ts';

/** The window of a panel (Laravel, `Limit::perMinute`). It starts with its first request. */
const windowMs = 60_000;

/** The part that is kept for power actions. */
const powerReserve = 1 / 4;

/** Shares the budget of an account, by the rate limit headers of its upstream, which counts for all instances. */
export function shareAccount(client: Client, now: () => number = () => performance.now()) {
  // Undefined until an answer names it; until then nothing is refused.
  let limit: number | undefined;
  let left = 0;
  // Requests without an answer yet, which may reduce what is left.
  let running = 0;
  let windowEndsAt = 0;

  const count = (budget: NonNullable<ReturnType<typeof readBudget>>): void => {
    // Answers may arrive in another order than they were counted, so only a larger step up is a new window.
    const isNew = now() >= windowEndsAt || budget.limit !== limit || budget.left > left + running;
    if (budget.endsInMs !== undefined || isNew) windowEndsAt = now() + Math.min(budget.endsInMs ?? windowMs, windowMs);
    left = isNew ? budget.left : Math.min(budget.left, left);
    ({ limit } = budget);
  };
  const hasRoom = (): boolean =>
    limit === undefined || (now() < windowEndsAt ? left : limit) - running > limit * powerReserve;

  const request: Client['request'] = async (...parameters) => {
    running += 1;
    try {
      const reply = await client.request(...parameters);
      const budget = readBudget(reply);
      if (budget) count(budget);
      return reply;
    } catch (error) {
      left -= 1;
      throw error;
    } finally {
      running -= 1;
    }
  };
  return {
    /** For power actions: it is never refused here. */
    power: { ...client, request } satisfies Client,
    /** For all else: it refuses a request that would use the reserve of the power actions. */
    others: {
      ...client,
      async request(...parameters) {
        if (hasRoom()) return await request(...parameters);
        throw toRefusal(`the rest of the budget of ${limit} requests is kept for power actions`);
      },
    } satisfies Client,
    hasRoom,
  };
}

/** Reads the headers of a panel (Laravel), or of Hetzner; `endsInMs` is the time to the end of the window, if named. */
function readBudget({ status, headers }: Reply) {
  const read = (...names: readonly string[]): number | undefined => {
    const text = names.map((name) => headers.get(name)).find((value) => value !== null) ?? '';
    return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
  };
  const limit = read('x-ratelimit-limit', 'ratelimit-limit');
  // The 429 of Laravel may come without what is left.
  const left = status === 429 ? 0 : read('x-ratelimit-remaining', 'ratelimit-remaining');
  if (limit === undefined || left === undefined) return undefined;
  const seconds = status === 429 ? read('retry-after') : undefined;
  return { limit, left, endsInMs: seconds === undefined ? undefined : seconds * 1000 };
}
