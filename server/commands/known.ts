import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import type { ServerName } from '#contract/api-keys.ts';
import type { Store } from '../store/types.ts';
import type { Environment } from '../settings.ts';
import { didYouMean, toPrintable } from './text.ts';

/** What there is to say of a server that no command has added, with the nearest; undefined where it is known. */
export async function doubtServer(store: Store, server: ServerName): Promise<string | undefined> {
  if (await store.servers.find(server)) return undefined;
  // A hint only: that another record is damaged must not stand in the way.
  const records = await store.servers.list().catch(() => []);
  const known = records.map((record) => record.server);
  return `no server ${server} is known${didYouMean(server, known)}`;
}

const ProvidersFile = z.object({ providers: z.record(z.string(), z.unknown()) });

/** What there is to say of a provider that PROVIDERS_FILE, where it is set, does not name; undefined where it does. */
export function doubtProvider({ PROVIDERS_FILE: file }: Environment, provider: string): string | undefined {
  if (!file) return undefined;
  let known: string[];
  try {
    // Only the names: the credentials that the file takes from the server's environment need not be in the operator's.
    known = Object.keys(ProvidersFile.parse(parse(readFileSync(file, 'utf8'))).providers);
  } catch {
    return toPrintable(`PROVIDERS_FILE ${file} cannot be read, so ${provider} is not looked up`);
  }
  if (known.includes(provider)) return undefined;
  return toPrintable(`PROVIDERS_FILE has no provider ${provider}${didYouMean(provider, known)}`);
}
