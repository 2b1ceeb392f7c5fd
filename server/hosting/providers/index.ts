import { join } from 'node:path';
import type { Logger } from '../../log.ts';
import type { ProviderSettings } from './config.ts';
import { createHetzner } from './hetzner.ts';
import { createLocal } from './local/index.ts';
import { createProxmox } from './proxmox.ts';
import { createPterodactyl } from './pterodactyl/index.ts';
import type { Provider } from './types.ts';

/** What providers need beside their settings. */
export interface ProvidersOptions {
  /** Where they keep what they must; a folder of their own is made in it. */
  readonly dataDir: string;
  readonly log: Logger;
  /** For one exchange with an upstream, 20 s if left out: a panel gives its node 15 s (GUZZLE_TIMEOUT). */
  readonly timeoutMs?: number;
}

/** Creates the providers, by their names. Nothing is asked of them yet. */
export function createProviders(
  config: Readonly<Record<string, ProviderSettings>>,
  { dataDir, log, timeoutMs = 20_000 }: ProvidersOptions,
): Map<string, Provider> {
  const create = (name: string, settings: ProviderSettings): Provider => {
    const options = { timeoutMs, log: log.child({ provider: name }) };
    if (settings.type === 'hetzner') return createHetzner(settings, options);
    if (settings.type === 'proxmox') return createProxmox(settings, options);
    if (settings.type === 'pterodactyl') return createPterodactyl(settings, options);
    return createLocal(settings, { ...options, folder: join(dataDir, 'local', name) });
  };
  return new Map(Object.entries(config).map(([name, settings]) => [name, create(name, settings)]));
}
