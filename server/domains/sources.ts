import type { Logger } from '../log.ts';
import type { CreateBucket } from '../token-bucket.ts';
import type { WatchCalls } from '../upstream/calls.ts';
import type { PriceSource, Registries } from './types.ts';
import { createFossBilling } from './prices/fossbilling.ts';
import { createRegistries } from './lookup/registries.ts';
import { createWhmcs } from './prices/whmcs.ts';

/** The settings of domain prices; those of the selected source are set. */
export interface PriceSettings {
  readonly DOMAIN_PRICES: 'catalog' | 'whmcs' | 'fossbilling';
  readonly WHMCS_URL?: string | undefined;
  readonly WHMCS_IDENTIFIER?: string | undefined;
  readonly WHMCS_SECRET?: string | undefined;
  readonly FOSSBILLING_URL?: string | undefined;
  readonly UPSTREAM_TIMEOUT_SECONDS: number;
}

/** Creates the configured source of domain prices; undefined if the catalog has them. */
export function createPriceSource(env: PriceSettings, log: Logger, watchCalls?: WatchCalls): PriceSource | undefined {
  const { WHMCS_URL: url, WHMCS_IDENTIFIER: identifier, WHMCS_SECRET: secret, FOSSBILLING_URL: fossUrl } = env;
  const warn = (message: string): void => log.warn({ prices: env.DOMAIN_PRICES }, message);
  const options = { timeoutMs: env.UPSTREAM_TIMEOUT_SECONDS * 1000, onCall: watchCalls?.(env.DOMAIN_PRICES), warn };
  if (env.DOMAIN_PRICES === 'whmcs') {
    return createWhmcs({ url: url!, identifier: identifier!, secret: secret! }, options);
  }
  return env.DOMAIN_PRICES === 'fossbilling' ? createFossBilling({ url: fossUrl! }, options) : undefined;
}

/** The settings of the domain search. */
export interface RegistrySettings {
  readonly DNS_SERVERS?: 'off' | readonly string[] | undefined;
  readonly RDAP_BOOTSTRAP_URL: string;
  readonly SERVICE_VERSION: string;
  readonly PUBLIC_URL?: string | undefined;
}

/**
 * Creates the registries. The User-Agent names this service and a contact URL for registry operators. The buckets pace the
 * queries; default in memory.
 */
export function createDomainRegistries(
  env: RegistrySettings,
  log: Logger,
  { createBucket, watchCalls }: { createBucket?: CreateBucket; watchCalls?: WatchCalls | undefined } = {},
): Registries {
  const { DNS_SERVERS: dnsServers, RDAP_BOOTSTRAP_URL: bootstrap, PUBLIC_URL: contact } = env;
  const bootstrapUrl = bootstrap === 'off' ? undefined : bootstrap;
  const userAgent = `hosting-api/${env.SERVICE_VERSION}${contact === undefined ? '' : ` (+${contact})`}`;
  return createRegistries({ dnsServers, bootstrapUrl, userAgent, log, createBucket, watchCalls });
}
