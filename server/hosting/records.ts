import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import { kindOf } from '#contract/api-keys.ts';
import type { ServerKind } from '#contract/api-keys.ts';
import { didYouMean } from '#common/suggest.ts';
import type { ServerRecord } from '../store/types.ts';
import { refs } from './providers/types.ts';

/** Only the types and names: the operator's environment may lack the credentials that the file refers to. */
const Provider = z.discriminatedUnion('type', [
  z.object({ type: z.enum(['hetzner', 'proxmox', 'pterodactyl']) }),
  z.object({ type: z.literal('local'), servers: z.record(z.string(), z.object({ kind: z.enum(['game', 'vps']) })) }),
]);

/** The providers of a PROVIDERS_FILE as they are written, by name. */
export type WrittenProviders = Readonly<Record<string, unknown>>;

/** Reads the providers of a PROVIDERS_FILE, without their credentials; undefined if it is none. */
export function readProviders(file: string): WrittenProviders | undefined {
  try {
    const File = z.object({ providers: z.record(z.string(), z.unknown()) });
    return File.parse(parse(readFileSync(file, 'utf8'))).providers;
  } catch {
    return undefined;
  }
}

/** Says why a record leads to no server; undefined if its provider may have it. */
export function findRecordProblem(
  { server, provider: name, ref }: Pick<ServerRecord, 'server' | 'provider' | 'ref'>,
  providers: WrittenProviders,
): string | undefined {
  if (!Object.hasOwn(providers, name)) {
    return `PROVIDERS_FILE has no provider ${name}${didYouMean(name, Object.keys(providers))}`;
  }
  const provider = Provider.safeParse(providers[name]).data;
  if (!provider) return `PROVIDERS_FILE has a mistake in the provider ${name}: start the server to see it`;
  const kind = kindOf(server);
  if (provider.type === 'local') {
    const { servers } = provider;
    if (!Object.hasOwn(servers, ref)) {
      return `the provider ${name} has no server ${ref}${didYouMean(ref, Object.keys(servers))}`;
    }
    const found = servers[ref]!.kind;
    if (found === kind) return undefined;
    return `the server ${ref} of the provider ${name} is ${nouns[found]}, not ${nouns[kind]}`;
  }
  const { kind: runs, pattern, meaning } = refs[provider.type];
  if (runs !== kind) {
    return `the provider ${name} (${provider.type}) runs no ${kind === 'vps' ? 'VPS' : 'game servers'}`;
  }
  return pattern.test(ref) ? undefined : `a ref of ${provider.type} is ${meaning}`;
}

const nouns: Readonly<Record<ServerKind, string>> = { game: 'a game server', vps: 'a VPS' };
