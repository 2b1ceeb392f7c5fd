import type { Base } from '../lifecycle.ts';
import type { Logger } from '../log.ts';
import { withTimeout } from '../timeout.ts';
import { createPoller } from '../upstream/poller.ts';
import { StoreError, isUnreachable } from './database.ts';
import type { StoreSettings } from './database.ts';
import { openStore } from './index.ts';
import type { Store } from './types.ts';

const everyMs = 1000;
/** The time limit of a check. */
const checkMs = 3000;
const repeatMs = 30_000;
/** After a refused write, this many checks in a row must find room. */
const neededPasses = 3;
/** An outage ends after this time without a failure: most checks only read and may pass while writes fail. */
const quietMs = 5000;

const secondsSince = (since: number): number => Math.round((performance.now() - since) / 1000);

/** Tracks the health of a store; logs an outage at its start, every 30 s and at its end. */
export function createStoreHealth(log: Pick<Logger, 'error' | 'info'>) {
  let answers = true;
  let missingPasses = 0;
  let outage: { since: number; failures: number; lastFailureAt: number; loggedAt: number } | undefined;
  let poller: ReturnType<typeof createPoller> | undefined;
  let isStopped = false;
  const onFailure = (error: Error): void => {
    // While the store closes, calls that are not awaited fail.
    if (isStopped) return;
    if (error instanceof StoreError && error.fault === 'no_writes') {
      answers = false;
      missingPasses = neededPasses;
    }
    const at = performance.now();
    outage ??= { since: at, failures: 0, lastFailureAt: at, loggedAt: -Infinity };
    outage.failures += 1;
    outage.lastFailureAt = at;
    if (at - outage.loggedAt < repeatMs) return;
    outage.loggedAt = at;
    const { failures, since } = outage;
    log.error({ reason: error.message, failures, seconds: secondsSince(since) }, 'the store does not answer');
  };
  const onAnswer = (): void => {
    missingPasses = Math.max(0, missingPasses - 1);
    answers = missingPasses === 0;
    if (!outage || performance.now() - outage.lastFailureAt < quietMs) return;
    log.info({ failures: outage.failures, seconds: secondsSince(outage.since) }, 'the store answers again');
    outage = undefined;
  };
  const checkOnce = async (check: Store['check']): Promise<void> => {
    const pending = check(missingPasses > 0);
    await withTimeout(pending, checkMs, () => {
      throw new StoreError(`a check was not answered within ${checkMs / 1000} s`, 'lost');
    }).then(onAnswer, (error: unknown) => {
      answers = false;
      onFailure(error as Error);
    });
    await pending.catch(() => undefined);
  };
  return {
    answers: () => answers,
    onFailure,
    watch(check: Store['check']): void {
      poller = createPoller({ read: () => checkOnce(check), everyMs: () => everyMs });
      void poller.start();
    },
    stop(): void {
      isStopped = true;
      // Not awaited: a check of a hanging store must not delay the stop.
      void poller?.stop();
    },
  };
}

/** Opens the store of a server and its health, without watching yet; both close with the server. */
export async function openWatchedStore({ env, log, opened }: Base<StoreSettings>) {
  const health = createStoreHealth(log);
  const store = await openStore(env, health.onFailure, (fields, message) => log.error(fields, message));
  // Until the last writes are stored, an outage is logged.
  opened.defer(() => store.close(() => health.stop()));
  return { store, answers: health.answers, watch: () => health.watch((needsRoom) => store.check(needsRoom)) };
}

/** Logs a failure, except an unreachable store, which the health of the store logs. */
export const reportTo = (log: Logger) => (message: string) => (error: unknown) => {
  if (!isUnreachable(error)) log.error({ err: error }, message);
};
