import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import type { ServerName } from '#contract/api-keys.ts';
import { CommandError } from '#common/command-line.ts';
import { refs } from '../hosting/providers/refs.ts';
import { EnvError, readSettings } from '../settings.ts';
import type { Environment } from '#common/environment.ts';
import type { ServerRecord } from '../store/types.ts';
import { didYouMean, toPrintable } from './text.ts';

/** A server's record that is to be added. */
type NewRecord = Omit<ServerRecord, 'suspendedAt'>;

/** Only the types and names: the operator's environment may lack the credentials that the file refers to. */
const Provider = z.discriminatedUnion('type', [
  z.object({ type: z.enum(['hetzner', 'proxmox', 'pterodactyl']) }),
  z.object({ type: z.literal('local'), servers: z.record(z.string(), z.object({ kind: z.enum(['game', 'vps']) })) }),
]);

const ProvidersFile = z.object({ providers: z.record(z.string(), z.unknown()) });

const ProvidersSetting = z.object({ PROVIDERS_FILE: z.string().optional() });

/**
 * Checks the provider and the ref of a record by PROVIDERS_FILE; throws a {@link CommandError} if they cannot be right.
 * Returns false if PROVIDERS_FILE is not set.
 */
export function checkRecord({ server, provider: name, ref }: NewRecord, settings: Environment): boolean {
  const { PROVIDERS_FILE: file } = readSettings(ProvidersSetting, settings);
  if (file === undefined) return false;
  const providers = readProviders(file);
  if (!Object.hasOwn(providers, name)) {
    throw new CommandError(`PROVIDERS_FILE has no provider ${name}${didYouMean(name, Object.keys(providers))}`);
  }
  const provider = Provider.safeParse(providers[name]).data;
  if (!provider)
    throw new CommandError(`PROVIDERS_FILE has a mistake in the provider ${name}: start the server to see it`);
  const kind = kindOf(server);
  if (provider.type === 'local') {
    checkLocal(provider.servers, kind, { name, ref });
    return true;
  }
  const { kind: runs, pattern, meaning } = refs[provider.type];
  if (runs !== kind) {
    throw new CommandError(
      `the provider ${name} (${provider.type}) runs no ${kind === 'vps' ? 'VPS' : 'game servers'}`,
    );
  }
  if (!pattern.test(ref)) throw new CommandError(`a ref of ${provider.type} is ${meaning}`);
  return true;
}

function readProviders(file: string): Readonly<Record<string, unknown>> {
  try {
    return ProvidersFile.parse(parse(readFileSync(file, 'utf8'))).providers;
  } catch {
    throw new EnvError('PROVIDERS_FILE: the file cannot be read, or is not YAML with providers');
  }
}

type Kind = keyof typeof nouns;

/** Each kind of server with its article. */
const nouns = { game: 'a game server', vps: 'a VPS' } as const;

function kindOf(server: ServerName): Kind {
  return server.startsWith('vps:') ? 'vps' : 'game';
}

function checkLocal(
  servers: Readonly<Record<string, { readonly kind: Kind }>>,
  kind: Kind,
  { name, ref }: { readonly name: string; readonly ref: string },
): void {
  if (!Object.hasOwn(servers, ref)) {
    throw new CommandError(`the provider ${name} has no server ${ref}${didYouMean(ref, Object.keys(servers))}`);
  }
  const found = servers[ref]!.kind;
  if (found === kind) return;
  throw new CommandError(`the server ${ref} of the provider ${name} is ${nouns[found]}, not ${nouns[kind]}`);
}

/** Whether two records name the same server of the same provider. */
export function isSameRecord(one: NewRecord, other: NewRecord): boolean {
  return one.provider === other.provider && one.ref === other.ref && one.logFile === other.logFile;
}

/** Says where a record leads. */
export function describeRecord({ provider, ref, logFile }: NewRecord): string {
  const log = logFile === null ? '' : `, with the log file ${logFile}`;
  return toPrintable(`${ref} of the provider ${provider}${log}`);
}
