import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import type { ServerName } from '#contract/api-keys.ts';
import type { Store } from '../store/types.ts';
import type { Environment } from '../settings.ts';
import { didYouMean, toPrintable } from './text.ts';

/** Describes a server that does not exist, with the nearest name; undefined if it exists. */
export async function describeUnknownServer(store: Store, server: ServerName): Promise<string | undefined> {
  if (await store.servers.find(server)) return undefined;
  // Without a hint if another record is damaged.
  const records = await store.servers.list().catch(() => []);
  const names = records.map((record) => record.server);
  return `there is no server ${server}${didYouMean(server, names)}`;
}

const ProvidersFile = z.object({ providers: z.record(z.string(), z.unknown()) });

/** Describes a provider that PROVIDERS_FILE does not name, with the nearest; undefined if it does or is not set. */
export function describeUnknownProvider({ PROVIDERS_FILE: file }: Environment, provider: string): string | undefined {
  if (!file) return undefined;
  let names: string[];
  try {
    // Only the names: the operator's environment may lack the credentials that the file refers to.
    names = Object.keys(ProvidersFile.parse(parse(readFileSync(file, 'utf8'))).providers);
  } catch {
    return toPrintable(`PROVIDERS_FILE ${file} cannot be read, so the provider ${provider} is not checked`);
  }
  if (names.includes(provider)) return undefined;
  return toPrintable(`PROVIDERS_FILE has no provider ${provider}${didYouMean(provider, names)}`);
}
