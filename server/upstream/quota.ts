import type { Client, Reply } from './client.ts';
import { toRefusal } from './reply.ts';

/** The requests that an upstream allows an account in a fixed window, as its answers tell. */
export interface QuotaState {
  /** Undefined until an answer names it. */
  readonly limit: number | undefined;
  /** What the newest answer left. */
  readonly left: number;
  /** Requests without an answer yet, which may reduce what is left. */
  readonly running: number;
  /** The latest time at which the window ends. */
  readonly endsAt: number;
}

/** The events of a quota, with the time in milliseconds. */
export type QuotaEvent =
  | { readonly type: 'sent' }
  | { readonly type: 'failed' }
  | {
      readonly type: 'answered';
      readonly at: number;
      readonly limit: number | undefined;
      readonly left: number;
      /** The end of the window in milliseconds from now, if the answer names it. */
      readonly endsInMs?: number | undefined;
    };

/** The window of a panel (Laravel, `Limit::perMinute`). It starts with its first request. */
const windowMs = 60_000;

/** The part that is kept for power actions. */
const powerReserve = 1 / 4;

/** The initial state: nothing is known, so nothing is refused. */
export const unknownQuota: QuotaState = { limit: undefined, left: 0, running: 0, endsAt: 0 };

/** The next state of a quota after an event. */
export function toNextState(state: QuotaState, event: QuotaEvent): QuotaState {
  if (event.type === 'sent') return { ...state, running: state.running + 1 };
  const running = state.running - 1;
  if (event.type === 'failed') return { ...state, running, left: state.left - 1 };
  const { at, limit, left, endsInMs } = event;
  if (limit === undefined) return { ...state, running };
  // Answers may arrive in another order than they were counted, so only a larger step up is a new window.
  const isNew = at >= state.endsAt || limit !== state.limit || left > state.left + state.running;
  const endsAt = endsInMs !== undefined || isNew ? at + Math.min(endsInMs ?? windowMs, windowMs) : state.endsAt;
  return { limit, left: isNew ? left : Math.min(left, state.left), running, endsAt };
}

/** Whether a request leaves the reserve untouched. */
export function leavesReserve({ limit, left, running, endsAt }: QuotaState, now: number): boolean {
  return limit === undefined || (now < endsAt ? left : limit) - running > limit * powerReserve;
}

/** The clients of one account. */
export interface SharedAccount {
  /** For power actions: it is never refused here. */
  readonly power: Client;
  /** For all else: it refuses a request that would use the reserve of the power actions. */
  readonly others: Client;
  /** Whether `others` would send a request now. */
  readonly hasRoom: () => boolean;
}

/**
 * Shares the budget of an account, by the rate limit headers of its upstream. It counts the requests of all instances, so
 * what it says is left is the same for all of them.
 */
export function shareAccount(client: Client, now: () => number = () => performance.now()): SharedAccount {
  let state = unknownQuota;
  const power: Client = {
    ...client,
    async request(...parameters) {
      state = toNextState(state, { type: 'sent' });
      try {
        const reply = await client.request(...parameters);
        state = toNextState(state, { type: 'answered', at: now(), ...readHeaders(reply) });
        return reply;
      } catch (error) {
        state = toNextState(state, { type: 'failed' });
        throw error;
      }
    },
  };
  const hasRoom = (): boolean => leavesReserve(state, now());
  const others: Client = {
    ...client,
    async request(...parameters) {
      if (hasRoom()) return await power.request(...parameters);
      throw toRefusal(`the rest of the budget of ${state.limit} requests is kept for power actions`);
    },
  };
  return { power, others, hasRoom };
}

/** Reads the headers of a panel (Laravel), or of Hetzner, whose budget fills up all the time. */
function readHeaders({ status, headers }: Reply) {
  const read = (name: string) => toCount(headers.get(`x-ratelimit-${name}`) ?? headers.get(`ratelimit-${name}`));
  const limit = read('limit');
  // The 429 of Laravel may come without what is left.
  const left = status === 429 ? 0 : read('remaining');
  if (limit === undefined || left === undefined) return { limit: undefined, left: 0 };
  const seconds = status === 429 ? toCount(headers.get('retry-after')) : undefined;
  return { limit, left, endsInMs: seconds === undefined ? undefined : seconds * 1000 };
}

function toCount(text: string | null): number | undefined {
  return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}
