import { join } from 'node:path';
import { nameProvider } from '../../upstream/calls.ts';
import type { WatchCalls } from '../../upstream/calls.ts';
import type { Logger } from '../../log.ts';
import type { CreateBucket } from '../../token-bucket.ts';
import type { ProviderSettings } from './config.ts';
import { createHetzner } from './hetzner.ts';
import { createLocal } from './local/index.ts';
import { createProxmox } from './proxmox.ts';
import { createPterodactyl } from './pterodactyl/index.ts';
import type { StateClock } from './state-reader.ts';
import type { Provider } from './types.ts';

/** Dependencies of the providers. */
export interface ProvidersOptions {
  /** The data folder; each local provider creates a subfolder. */
  readonly dataDir: string;
  readonly log: Logger;
  /** For one exchange with an upstream; default 20 s, since a panel waits 15 s for its node (GUZZLE_TIMEOUT). */
  readonly timeoutMs?: number;
  /** Creates the buckets of a panel's budgets; default in memory. */
  readonly createBucket?: CreateBucket;
  readonly watchCalls?: WatchCalls | undefined;
  /** The clock of reads of states; default the system's. */
  readonly clock?: StateClock;
}

/** Creates the providers by name. They send no request yet. */
export function createProviders(
  config: Readonly<Record<string, ProviderSettings>>,
  { dataDir, log, timeoutMs = 20_000, createBucket, watchCalls, clock }: ProvidersOptions,
): Map<string, Provider> {
  const create = (name: string, settings: ProviderSettings): Provider => {
    const watch = watchCalls && (() => watchCalls(nameProvider(name)));
    const options = { timeoutMs, log: log.child({ provider: name }), watchCalls: watch, clock };
    if (settings.type === 'hetzner') return createHetzner(settings, options);
    if (settings.type === 'proxmox') return createProxmox(settings, options);
    if (settings.type === 'pterodactyl') return createPterodactyl(settings, { ...options, createBucket });
    return createLocal(settings, { ...options, folder: join(dataDir, 'local', name) });
  };
  return new Map(Object.entries(config).map(([name, settings]) => [name, create(name, settings)]));
}
