import type { Env } from '../env.ts';
import type { Environment } from '#common/environment.ts';
import type { Provider } from '../hosting/providers/types.ts';
import type { Logger } from '../log.ts';
import type { Releases } from '../releases/service.ts';
import type { Store } from '../store/types.ts';
import { createPoller } from '../upstream/poller.ts';
import { toFirstState, toNextState as toNextClock, toOutcome } from './clock-state.ts';
import type { ClockReading } from './clock-state.ts';
import type { Finding } from './finding.ts';
import { checkClock } from './local/clock.ts';
import { checkDisks } from './local/disk.ts';
import { checkCredentials, checkProviders } from './local/providers.ts';
import { checkReleaseAge } from './local/release.ts';
import { checkRights } from './local/rights.ts';
import { checkServers } from './local/servers.ts';
import { checkSettings } from './local/settings.ts';
import { noFaults, toNextState } from './watch-state.ts';
import type { WatchLine } from './watch-state.ts';

/** What a running server is made of. */
export interface Watched {
  readonly env: Env;
  readonly environment: Environment;
  readonly log: Logger;
  readonly store: Pick<Store, 'servers'>;
  readonly releases: Pick<Releases, 'current'>;
  readonly providers: ReadonlyMap<string, Provider>;
  /** Whether `npm run dev` runs it, whose release is rebuilt at each save. */
  readonly isPreview: boolean;
  /** The clocks; the default is those of the machine. */
  readonly readClocks?: () => ClockReading;
  /** The pause between looks; a default for each. */
  readonly pauseMs?: number;
}

const minuteMs = 60_000;

const machineClocks = (): ClockReading => ({ wall: Date.now(), monotonic: performance.now() });

/**
 * Logs once what is wrong with an installation at its start, and from then on what goes wrong while it runs. It does so in
 * the background: nothing waits for it. Returns a function that stops it.
 */
export function watchInstallation(watched: Watched): () => void {
  const { env, environment, log, store, releases, providers, isPreview, pauseMs } = watched;
  const { readClocks = machineClocks } = watched;
  let state = noFaults;
  let isStopped = false;
  const look = (findings: readonly Finding[]): void => {
    // What a check finds after the stop is that the server closes what it uses.
    if (isStopped) return;
    const next = toNextState(state, { at: readClocks().monotonic, findings });
    ({ state } = next);
    for (const line of next.lines) write(log, line);
  };
  const once = async (check: () => Promise<readonly Finding[]>): Promise<void> => {
    try {
      look(await check());
    } catch (error) {
      // For instance while the store does not answer, which has its own line.
      log.debug({ err: error }, 'a check of the installation could not be made');
    }
  };
  look(checkSettings(env, environment));
  if (isPreview) return () => undefined;

  let clock = toFirstState(readClocks());
  void once(async () => [{ check: 'clock', ...(await checkClock(env.DIST_DIR, () => readClocks().wall)) }]);
  void once(() => checkRights(env, environment));
  void once(async () => await checkServers(await store.servers.list(), env.PROVIDERS_FILE));
  const often = createPoller({
    async read() {
      const reading = readClocks();
      clock = toNextClock(clock, reading);
      look([{ check: 'clock jump', ...toOutcome(clock) }, checkReleaseAge(releases.current(), reading.wall)]);
      await once(() => checkDisks(env));
    },
    everyMs: () => pauseMs ?? minuteMs,
  });
  let isFirst = true;
  const seldom = createPoller({
    async read() {
      const isStart = isFirst;
      isFirst = false;
      await once(async () => {
        const findings = isStart ? await checkAtStart(providers) : await checkCredentials(providers);
        if (isStart && !isStopped) logGoodNews(log, findings);
        return findings;
      });
    },
    everyMs: () => pauseMs ?? 5 * minuteMs,
  });
  void often.start();
  if (providers.size > 0) void seldom.start();
  return () => {
    isStopped = true;
    // Not awaited: an upstream that does not answer must not delay the end.
    void often.stop();
    void seldom.stop();
  };
}

/** Checks the providers at the start, when it is a fault too if one cannot be reached. */
async function checkAtStart(providers: Watched['providers']): Promise<readonly Finding[]> {
  return (await checkProviders(providers)).flatMap((report) => report.findings);
}

/** Logs what is right, once. */
function logGoodNews(log: Logger, findings: readonly Finding[]): void {
  for (const { check, state, seen } of findings) if (state === 'ok') log.info({ check }, seen);
}

function write(log: Logger, { type, finding: { check, seen, advice }, seconds }: WatchLine): void {
  if (type === 'ends') log.info({ check, seconds }, `over: ${seen}`);
  else log.warn({ check, ...(type === 'lasts' && { seconds }), advice }, seen);
}
