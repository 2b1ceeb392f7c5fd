import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '../log.ts';
import { StoreUnreachableError } from './error.ts';
import { healthy, toNextState } from './health-state.ts';
import type { HealthEvent } from './health-state.ts';

const everyMs = 1000;
/** A store that has not answered a check after this time counts as unreachable. */
const checkMs = 3000;

/** Creates the health of a store that answers: it is checked once a second, and its failures are logged once for all calls. */
export function createStoreHealth(log: Pick<Logger, 'error' | 'info'>, now: () => number = Date.now) {
  let state = healthy;
  let timer: NodeJS.Timeout | undefined;
  const apply = (type: HealthEvent['type'], error?: unknown): void => {
    const next = toNextState(state, { type, at: now() });
    ({ state } = next);
    if (!next.line) return;
    const { message, ...fields } = next.line;
    if (error === undefined) log.info(fields, message);
    else log.error({ reason: (error as Error).message, ...fields }, message);
  };
  /** Checks the store again and again, one check at a time. */
  const watch = (check: () => Promise<void>): void => {
    timer = setTimeout(() => {
      const pending = check();
      const late = delay(checkMs, undefined, { ref: false }).then(() => {
        throw new StoreUnreachableError(`a check was not answered within ${checkMs / 1000} s`);
      });
      const outcome = Promise.race([pending, late]).then(
        () => apply('check answered'),
        (error: unknown) => apply('check failed', error),
      );
      void Promise.allSettled([pending, outcome]).then(() => timer && watch(check));
    }, everyMs).unref();
  };
  return {
    answers: () => state.answers,
    /** Reports a call that the store did not answer. */
    onFailure: (error: StoreUnreachableError): void => apply('call failed', error),
    watch,
    stop(): void {
      clearTimeout(timer);
      timer = undefined;
    },
  };
}

/** Logs a failure, except a store that does not answer: its health logs that once for all calls. */
export const reportTo = (log: Logger, message: string) => (error: unknown) => {
  if (!(error instanceof StoreUnreachableError)) log.error({ err: error }, message);
};

/** Logs the loss of the outcome of an action, also while the store does not answer. */
export const reportLoss = (log: Logger, message: string) => (error: unknown) =>
  log.error(error instanceof StoreUnreachableError ? { reason: error.message } : { err: error }, message);
