import type { ServerName } from '#contract/api-keys.ts';
import { CommandError } from '#common/command-line.ts';
import type { Store } from '../store/types.ts';
import { didYouMean } from './text.ts';

/** Describes a server that does not exist, with the nearest name; undefined if it exists. */
export async function describeUnknownServer(store: Store, server: ServerName): Promise<string | undefined> {
  if (await store.servers.find(server)) return undefined;
  // Without a hint if another record is damaged.
  const records = await store.servers.list().catch(() => []);
  const names = records.map((record) => record.server);
  return `there is no server ${server}${didYouMean(server, names)}`;
}

/** The error for an API key that does not exist, with the nearest id. */
export async function unknownKey(store: Store, id: string): Promise<CommandError> {
  // Without a hint if another record is damaged.
  const keys = await store.apiKeys.list().catch(() => []);
  const ids = keys.map((key) => key.id);
  return new CommandError(`no API key has the id ${id}${didYouMean(id, ids)}`);
}
