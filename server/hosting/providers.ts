import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import { readVariable } from '#common/environment.ts';
import type { Environment } from '#common/environment.ts';
import { parseYaml } from '#common/yaml.ts';
import { nameProvider } from '../upstream/client.ts';
import type { Logger } from '../log.ts';
import type { CreateBucket } from '../token-bucket.ts';
import { HetznerSettings, createHetzner } from './providers/hetzner.ts';
import { createGroupsLock } from './providers/local/groups.ts';
import { createLocal } from './providers/local/index.ts';
import { localSettings } from './providers/local/process.ts';
import { createProxmox, proxmoxSettings } from './providers/proxmox.ts';
import { PterodactylSettings, createPterodactyl } from './providers/pterodactyl/index.ts';
import type { Provider, StateClock } from './providers/types.ts';

/** The settings of a provider, by its type. */
export type ProviderSettings = z.infer<ReturnType<typeof toSchema>>;

/** The schema of a provider in PROVIDERS_FILE; paths are relative to the file's folder. */
function toSchema(folder: string, environment: Environment) {
  const certificates = z.string().transform((path, context) => {
    try {
      const pem = readFileSync(resolve(folder, path), 'utf8');
      void new X509Certificate(pem);
      return pem;
    } catch {
      context.addIssue('must be the path of a readable file with certificates in PEM');
      return z.NEVER;
    }
  });
  return z.discriminatedUnion('type', [
    PterodactylSettings,
    HetznerSettings,
    proxmoxSettings(certificates),
    localSettings(folder, environment),
  ]);
}

const providerName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, 'must be letters, digits, dots, hyphens and underscores');

/** An invalid PROVIDERS_FILE; the message has a line for each problem, and never holds a value. */
export class ProvidersError extends Error {
  override readonly name = 'ProvidersError';
}

/** Loads PROVIDERS_FILE, with "${NAME}" of the environment. Throws a {@link ProvidersError} with every problem. */
export function loadProviders(file: string, environment: Environment): Record<string, ProviderSettings> {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    throw new ProvidersError(`PROVIDERS_FILE: ${file} cannot be read`);
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
  throw new ProvidersError(lines.join('\n'));
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

interface ProvidersOptions {
  readonly dataDir: string;
  readonly log: Logger;
  /** For one exchange with an upstream; default 20 s, since a panel waits 15 s for its node (GUZZLE_TIMEOUT). */
  readonly timeoutMs?: number;
  readonly createBucket?: CreateBucket;
  readonly clock?: StateClock;
}

/** Creates the providers by name. They send no request yet. */
export function createProviders(
  config: Readonly<Record<string, ProviderSettings>>,
  { dataDir, log, timeoutMs = 20_000, createBucket, clock }: ProvidersOptions,
): Map<string, Provider> {
  const folder = join(dataDir, 'local');
  const lock = createGroupsLock(folder, log);
  const create = (name: string, settings: ProviderSettings): Provider => {
    const options = { timeoutMs, log: log.child({ provider: name }), upstream: nameProvider(name), clock };
    if (settings.type === 'hetzner') return createHetzner(settings, options);
    if (settings.type === 'proxmox') return createProxmox(settings, options);
    if (settings.type === 'pterodactyl') return createPterodactyl(settings, { ...options, createBucket });
    return createLocal(settings, { ...options, name, folder, lock });
  };
  return new Map(Object.entries(config).map(([name, settings]) => [name, create(name, settings)]));
}
