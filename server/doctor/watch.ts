import type { Environment } from '#common/environment.ts';
import type { Env } from '../env.ts';
import type { Provider } from '../hosting/providers/types.ts';
import type { Logger } from '../log.ts';
import type { Release } from '../releases/service.ts';
import { installedSettings } from '../settings.ts';
import type { Store } from '../store/types.ts';
import { createPoller } from '../upstream/poller.ts';
import { askProviders } from './installation.ts';
import type { Installation } from './installation.ts';
import { checks } from './local.ts';
import { runChecks, skipped } from './run.ts';
import type { Finding } from './run.ts';

/** What a running server is made of. */
export interface Watched {
  readonly env: Env;
  readonly environment: Environment;
  readonly log: Logger;
  readonly store: Pick<Store, 'servers'>;
  readonly releases: { readonly current: () => Release };
  readonly providers: ReadonlyMap<string, Provider>;
  /** Whether `npm run dev` runs it, whose release is rebuilt at each save: then only the settings are checked, once. */
  readonly isPreview: boolean;
  /** The time of day, and the time since the start, which no one sets, in milliseconds; the default is the machine's. */
  readonly readClocks?: () => { readonly wall: number; readonly monotonic: number };
  /** The pause between looks. */
  readonly pauseMs?: number;
}

const lookMs = 5 * 60_000;

/** While a fault lasts, it is logged again after this time. */
const repeatMs = 24 * 3_600_000;

const repeated = [
  'settings',
  'clock',
  'disk',
  'rights',
  'release age',
  'providers',
  'servers',
  'shared servers',
] as const;

/** Logs each fault when it begins, once a day while it lasts, and when it ends; returns a function that stops this. */
export function watchInstallation(watched: Watched): () => void {
  const { env, environment, log, store, releases, providers, isPreview, pauseMs = lookMs } = watched;
  const { readClocks = () => ({ wall: Date.now(), monotonic: performance.now() }) } = watched;
  const faults = new Map<string, { readonly finding: Finding; readonly since: number; readonly loggedAt: number }>();
  let isStart = true;
  let isStopped = false;

  const here: Installation = {
    env,
    environment,
    installed: installedSettings,
    now: () => readClocks().wall,
    release: async () => ({ value: releases.current(), outcomes: [] }),
    store: async () => ({ value: { servers: await store.servers.list(), apiKeys: [] }, outcomes: [] }),
    server: async () => ({ value: true, outcomes: [] }),
    async providers() {
      const isFirst = isStart;
      isStart = false;
      const { value: reports } = await askProviders(providers);
      const outcomes = reports.flatMap((report) => {
        // Later, an upstream that does not answer says nothing about its credential.
        if (isFirst || report.answers) return report.outcomes;
        return { check: `provider ${report.name}`, ...skipped('its upstream does not answer') };
      });
      // What is right is logged once.
      const good = isFirst && !isStopped ? outcomes.filter(({ state }) => state === 'ok') : [];
      for (const { check, seen } of good) log.info({ check }, seen);
      return { outcomes };
    },
  };

  /** Logs what the findings change. A fault stays as it was if its check was not made, or found nothing out. */
  const note = (findings: readonly Finding[]): void => {
    // What a check finds after the stop is that the server closes what it uses.
    if (isStopped) return;
    const now = readClocks().monotonic;
    const toSeconds = (since: number): number => Math.round((now - since) / 1000);
    const found = new Set<string>();
    for (const finding of findings.filter(({ state }) => state === 'fault')) {
      const { check, seen, advice } = finding;
      // What is seen of a fault changes from look to look, what to do about it does not.
      const id = `${check}: ${advice}`;
      const before = faults.get(id);
      const { since, loggedAt } = before ?? { since: now, loggedAt: -Infinity };
      const isDue = now - loggedAt >= repeatMs;
      if (isDue) log.warn({ check, ...(before && { seconds: toSeconds(since) }), advice }, seen);
      faults.set(id, { finding, since, loggedAt: isDue ? now : loggedAt });
      found.add(id);
    }
    for (const [id, { finding, since }] of faults) {
      const { check, seen } = finding;
      const same = findings.filter((one) => one.check === check);
      if (found.has(id) || same.length === 0 || same.some(({ state }) => state === 'skipped')) continue;
      faults.delete(id);
      log.info({ check, seconds: toSeconds(since) }, `over: ${seen}`);
    }
  };

  const onError = (error: unknown) => {
    // For instance while the store does not answer, which has its own line.
    log.debug({ err: error }, 'a check of the installation could not be made');
    return skipped('the check failed');
  };
  const poller = createPoller({
    async read() {
      // Each by itself: a provider that does not answer must not delay what the others found.
      const looks = (isPreview ? (['settings'] as const) : repeated).map((name) =>
        runChecks({ [name]: checks[name] }, () => here, onError).then(note),
      );
      await Promise.all(looks);
    },
    everyMs: () => pauseMs,
  });
  void (isPreview ? poller.poll() : poller.start());
  return () => {
    isStopped = true;
    // Not awaited: an upstream that does not answer must not delay the end.
    void poller.stop();
  };
}
