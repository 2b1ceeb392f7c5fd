import type { Environment } from '#common/environment.ts';
import type { Env } from '../env.ts';
import type { Provider } from '../hosting/providers/types.ts';
import type { Logger } from '../log.ts';
import type { Release } from '../releases/service.ts';
import { installedSettings, nameCommands } from '../settings.ts';
import type { Store } from '../store/types.ts';
import { createPoller } from '../upstream/poller.ts';
import { askProviders, judgeClock } from './installation.ts';
import type { Installation } from './installation.ts';
import { installationChecks } from './local.ts';
import { runChecks, skipped } from './run.ts';
import type { NamedResult } from './run.ts';

/** The parts of a running server that the checks need. */
export interface Watched {
  readonly env: Env;
  readonly environment: Environment;
  readonly log: Logger;
  readonly store: Pick<Store, 'servers' | 'readClock'>;
  readonly releases: { readonly current: () => Release };
  readonly providers: ReadonlyMap<string, Provider>;
  /** In `npm run dev`, check only the settings, and once: the release changes at each save. */
  readonly isPreview: boolean;
}

/** The pause between rounds of checks. */
const pauseMs = 5 * 60_000;
/** Log a lasting fault again after this time. */
const repeatMs = 24 * 3_600_000;

const watchedChecks = [
  'settings',
  'clock',
  'store',
  'disk',
  'rights',
  'release age',
  'providers',
  'servers',
  'shared servers',
] as const;

/** Logs each fault at its start, once a day and at its end; returns a function that stops watching. */
export function watchInstallation(watched: Watched): () => void {
  const { env, environment, log, store, releases, providers, isPreview } = watched;
  const faults = new Map<string, { readonly fault: NamedResult; readonly since: number; readonly loggedAt: number }>();
  let isFirstRound = true;
  let isStopped = false;

  const installation: Installation = {
    env,
    environment,
    installed: installedSettings,
    release: async () => ({ value: releases.current(), results: [] }),
    async store() {
      const results = store.readClock ? [await judgeClock(store.readClock)] : [];
      return { value: { servers: await store.servers.list(), apiKeys: [], operators: [] }, results };
    },
    server: async () => ({ value: true, results: [] }),
    async providers() {
      const { value: reports } = await askProviders(providers);
      const results = reports.flatMap((report) => {
        // After the start, a silent upstream is no news about its credential.
        if (isFirstRound || report.answers) return report.results;
        return { check: `provider ${report.name}`, ...skipped('the upstream does not answer') };
      });
      const accepted = isFirstRound && !isStopped ? results.filter(({ state }) => state === 'ok') : [];
      // The demo begins with its addresses.
      for (const { check, seen } of accepted) log[check === 'provider demo' ? 'debug' : 'info']({ check }, seen);
      return { results };
    },
  };

  /** Logs faults that begin, last or end; a skipped check changes nothing. */
  const logChanges = (results: readonly NamedResult[]): void => {
    // While the server closes its resources, checks fail.
    if (isStopped) return;
    const now = performance.now();
    const toSeconds = (since: number): number => Math.round((now - since) / 1000);
    const current = new Set<string>();
    for (const fault of results.filter(({ state }) => state === 'fault')) {
      const { check, seen } = fault;
      const advice = nameCommands(fault.advice!, environment.PATH);
      // While a fault lasts, `seen` may change, `advice` does not.
      const id = `${check}: ${advice}`;
      const before = faults.get(id);
      const { since, loggedAt } = before ?? { since: now, loggedAt: -Infinity };
      const isDue = now - loggedAt >= repeatMs;
      if (isDue) log.warn({ check, ...(before && { seconds: toSeconds(since) }), advice }, seen);
      faults.set(id, { fault, since, loggedAt: isDue ? now : loggedAt });
      current.add(id);
    }
    for (const [id, { fault, since }] of faults) {
      const { check, seen } = fault;
      const same = results.filter((result) => result.check === check);
      if (current.has(id) || same.length === 0 || same.some(({ state }) => state === 'skipped')) continue;
      faults.delete(id);
      log.info({ check, seconds: toSeconds(since) }, `over: ${seen}`);
    }
  };

  const onError = (error: unknown) => {
    // Only debug: the store, for instance, has its own log line while it does not answer.
    log.debug({ err: error }, 'a check of the installation failed');
    return skipped('the check failed');
  };
  const poller = createPoller({
    async read() {
      // Report each check separately: a silent provider must not delay the other results.
      const rounds = (isPreview ? (['settings'] as const) : watchedChecks).map((name) =>
        runChecks({ [name]: installationChecks[name] }, () => installation, onError).then(logChanges),
      );
      await Promise.all(rounds);
      isFirstRound = false;
    },
    everyMs: () => pauseMs,
  });
  void (isPreview ? poller.poll() : poller.start());
  return () => {
    isStopped = true;
    // Not awaited: a silent upstream must not delay the stop.
    void poller.stop();
  };
}
