import { onTestFinished } from 'vitest';
import { createProviders } from '../../server/hosting/providers.ts';
import type { ProviderSettings } from '../../server/hosting/providers.ts';
import { pterodactyl } from '../../server/hosting/providers/pterodactyl/index.ts';
import type { ConsoleTimings } from '../../server/hosting/providers/pterodactyl/session.ts';
import type { Provider, StateClock } from '../../server/hosting/providers/types.ts';
import { temporaryFolder } from './project.ts';
import { createTestLog } from './upstream.ts';

/** Opens a provider with a log until the test ends. Uses the given clock, or returns a stopped clock. */
export function openProvider(
  settings: ProviderSettings,
  given: { folder?: string; clock?: StateClock; timings?: Partial<ConsoleTimings> } = {},
) {
  const { folder = temporaryFolder(), timings } = given;
  const { log, ...written } = createTestLog();
  const clock = createStateClock();
  const options = { dataDir: folder, log, timeoutMs: 20_000, clock: given.clock ?? clock };
  const provider: Provider =
    settings.type === 'pterodactyl' && timings
      ? pterodactyl.create(settings, { ...options, upstream: 'one', timings: { quietMs: 0, ...timings } })
      : createProviders({ one: settings }, options).get('one')!;
  onTestFinished(() => provider.close());
  return { provider, game: provider.game!, vps: provider.vps!, clock, folder, ...written };
}

/** Creates a clock for reads of states that only `pass` and `sleep` advance; `sleep` takes no real time. */
function createStateClock() {
  let now = 1000;
  const pass = (ms: number): void => void (now += ms);
  return { now: () => now, sleep: (ms: number) => Promise.resolve(pass(ms)), pass };
}
