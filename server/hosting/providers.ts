import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { kindOf } from '#contract/api-keys.ts';
import type { ServerKind } from '#contract/api-keys.ts';
import { readVariable } from '#common/environment.ts';
import type { Environment } from '#common/environment.ts';
import { didYouMean } from '#common/suggest.ts';
import { parseYaml } from '#common/yaml.ts';
import { nameProvider } from '../upstream/client.ts';
import { OperatorError } from '../problem.ts';
import type { ServerRecord, Store } from '../store/types.ts';
import { hetzner } from './providers/hetzner.ts';
import { createGroupsLock } from './providers/local/groups.ts';
import { local } from './providers/local/index.ts';
import type { LocalOptions } from './providers/local/index.ts';
import { proxmox } from './providers/proxmox.ts';
import { pterodactyl } from './providers/pterodactyl/index.ts';
import type { Provider, ProviderOptions, ProviderType } from './providers/types.ts';

/** The types of providers, by their names in PROVIDERS_FILE. */
export const providerTypes = { pterodactyl, hetzner, proxmox, local };

type TypeName = keyof typeof providerTypes;
type SettingsOf<Name extends TypeName> = Parameters<(typeof providerTypes)[Name]['create']>[0];

/** The settings of a provider, by its type. */
export type ProviderSettings = { [Name in TypeName]: { readonly type: Name } & SettingsOf<Name> }[TypeName];

const names = Object.keys(providerTypes) as TypeName[];

/** Creates the schema of a provider in PROVIDERS_FILE. */
function toSchema(folder: string, environment: Environment): z.ZodType<ProviderSettings> {
  const [first, ...others] = names.map((name) => {
    const { shape } = providerTypes[name].settings(folder, environment);
    return z.strictObject({ type: z.literal(name), ...shape });
  });
  return z.discriminatedUnion('type', [first!, ...others]) as unknown as z.ZodType<ProviderSettings>;
}

const providerName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, 'must be letters, digits, dots, hyphens and underscores');

/** Loads PROVIDERS_FILE, with "${NAME}" replaced. Throws an {@link OperatorError} with each problem, without values. */
export function loadProviders(file: string, environment: Environment): Record<string, ProviderSettings> {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    throw new OperatorError(`PROVIDERS_FILE: ${file} cannot be read`);
  }
  const provider = toSchema(dirname(resolve(file)), environment);
  const { value, findings } = parseYaml(text, z.strictObject({ providers: z.record(providerName, provider) }), {
    replaceText: (written, report) => replaceVariables(written, environment, report),
    hideSource: true,
  });
  if (value) return value.providers;
  const lines = findings.map(({ line, column, message, hint }) => {
    return `${file}:${line}:${column}  ${message}${hint === undefined ? '' : ` (${hint})`}`;
  });
  throw new OperatorError(lines.join('\n'));
}

function replaceVariables(text: string, environment: Environment, report: (message: string) => void): string {
  return text.replaceAll(/\$\{([^}]*)\}?/g, (whole, name: string) => {
    if (!whole.endsWith('}') || !/^[A-Za-z_]\w*$/.test(name)) {
      report('"${" must be followed by the name of an environment variable and "}"');
      return '';
    }
    if (!environment[name] && !environment[`${name}_FILE`]) report(`the environment variable ${name} is not set`);
    return readVariable(name, environment, report) ?? '';
  });
}

/** Creates the providers by name. They send no request yet. */
export function createProviders(
  config: Readonly<Record<string, ProviderSettings>>,
  { dataDir, log, timeoutMs, createBucket, clock }: Omit<ProviderOptions, 'upstream'> & { readonly dataDir: string },
): Map<string, Provider> {
  const folder = join(dataDir, 'local');
  const lock = createGroupsLock(folder, log);
  const types: { readonly [Name in TypeName]: ProviderType<SettingsOf<Name>, LocalOptions> } = providerTypes;
  const create = <Name extends TypeName>(name: string, type: Name, settings: SettingsOf<Name>): Provider => {
    const upstream = nameProvider(name);
    const options = { timeoutMs, log: log.child({ provider: name }), upstream, clock, createBucket };
    return types[type].create(settings, { ...options, name, folder, lock });
  };
  return new Map(Object.entries(config).map(([name, settings]) => [name, create(name, settings.type, settings)]));
}

/** The providers as they are written in PROVIDERS_FILE, by name. */
export type WrittenProviders = Readonly<Record<string, unknown>>;

/** Reads PROVIDERS_FILE without replacing "${NAME}"; undefined if the file is invalid. */
export function readProviders(file: string): WrittenProviders | undefined {
  try {
    const File = z.object({ providers: z.record(z.string(), z.unknown()) });
    return File.parse(parse(readFileSync(file, 'utf8'))).providers;
  } catch {
    return undefined;
  }
}

const secretFields = new Set<string>(Object.values(providerTypes).flatMap(({ secrets }) => secrets));

/** Returns true if a credential is written as text instead of "${NAME}". */
export function holdsSecret(providers: WrittenProviders): boolean {
  const fields = Object.values(providers).flatMap((provider) => Object.entries(Object(provider)));
  return fields.some(([name, value]) => secretFields.has(name) && !/^\$\{\w+\}$/.test(String(value)));
}

const typeOf = (written: unknown): TypeName | undefined => {
  const { type } = Object(written) as { readonly type?: unknown };
  return names.find((name) => name === type);
};

/** Converts a ref to the form in which it is stored. A provider of unknown type may be a panel. */
export function normalizeRef(provider: string, ref: string, providers: WrittenProviders | undefined): string {
  return providerTypes[typeOf(providers?.[provider]) ?? 'pterodactyl'].normalizeRef?.(ref) ?? ref;
}

/** Finds another record of the same server; early versions stored refs as they were written. */
export async function findTwin(
  records: Store['servers'],
  { server, provider, ref }: Pick<ServerRecord, 'server' | 'provider' | 'ref'>,
  providers: WrittenProviders | undefined,
): Promise<ServerRecord | undefined> {
  const normalize = (other: string): string => normalizeRef(provider, other, providers);
  const alike = await records.findAlike({ provider, ref });
  return alike.find((other) => other.server !== server && normalize(other.ref) === normalize(ref));
}

/** Explains why a record cannot have a server; undefined if the provider may have it. */
export function findRecordProblem(
  { server, provider: name, ref }: Pick<ServerRecord, 'server' | 'provider' | 'ref'>,
  providers: WrittenProviders,
): string | undefined {
  if (!Object.hasOwn(providers, name)) {
    return `PROVIDERS_FILE has no provider ${name}${didYouMean(name, Object.keys(providers))}`;
  }
  const mistake = `the provider ${name} in PROVIDERS_FILE is invalid: run \`npm run doctor\` to see the mistake`;
  const type = typeOf(providers[name]);
  if (!type) return mistake;
  const kind = kindOf(server);
  const { refs } = providerTypes[type];
  if ('pattern' in refs) {
    if (refs.kind !== kind) return `the provider ${name} (${type}) runs no ${kind === 'vps' ? 'VPS' : 'game servers'}`;
    return refs.pattern.test(ref) ? undefined : `the ref ${ref} is invalid for ${type}: use ${refs.meaning}`;
  }
  const servers = refs.list(providers[name]);
  if (!servers) return mistake;
  if (!Object.hasOwn(servers, ref)) {
    return `the provider ${name} has no server ${ref}${didYouMean(ref, Object.keys(servers))}`;
  }
  const found = servers[ref]!.kind;
  if (found === kind) return undefined;
  return `the server ${ref} of the provider ${name} is ${nouns[found]}, not ${nouns[kind]}`;
}

const nouns: Readonly<Record<ServerKind, string>> = { game: 'a game server', vps: 'a VPS' };
