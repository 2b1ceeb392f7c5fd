import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { parseYaml } from '#common/yaml.ts';
import { HetznerSettings } from './hetzner.ts';
import { localSettings } from './local/settings.ts';
import type { LocalSettings } from './local/settings.ts';
import { proxmoxSettings } from './proxmox.ts';
import type { ProxmoxSettings } from './proxmox.ts';
import { PterodactylSettings } from './pterodactyl/index.ts';
import { readVariable } from '#common/environment.ts';
import type { Environment } from '#common/environment.ts';

/** The settings of a provider, by its type. */
export type ProviderSettings = HetznerSettings | ProxmoxSettings | PterodactylSettings | LocalSettings;

/** An invalid PROVIDERS_FILE; the message has a line for each problem, and never holds a value. */
export class ProvidersError extends Error {
  override readonly name = 'ProvidersError';
}

const providerName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, 'must be letters, digits, dots, hyphens and underscores');

/**
 * Loads PROVIDERS_FILE. "${NAME}" in a text is replaced from the environment, or from the file that `<NAME>_FILE` names; paths
 * are relative to the file's folder.
 * Throws a {@link ProvidersError} that names every problem as `file:line:column  message`.
 */
export function loadProviders(file: string, environment: Environment): Record<string, ProviderSettings> {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    throw new ProvidersError(`PROVIDERS_FILE: ${file} cannot be read`);
  }
  const folder = dirname(resolve(file));
  const provider = z.discriminatedUnion('type', [
    PterodactylSettings,
    HetznerSettings,
    proxmoxSettings(certificatesOf(folder)),
    localSettings(folder, environment),
  ]);
  const result = parseYaml(text, z.strictObject({ providers: z.record(providerName, provider) }), {
    replaceText: (value, report) => replaceVariables(value, environment, report),
    hideSource: true,
  });
  if ('value' in result) return result.value.providers;
  const lines = result.problems.map(({ line, column, message, hint }) => {
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

/** Creates a schema that reads certificates from the file at a path. */
function certificatesOf(folder: string) {
  return z.string().transform((path, context) => {
    try {
      const pem = readFileSync(resolve(folder, path), 'utf8');
      void new X509Certificate(pem);
      return pem;
    } catch {
      context.addIssue('must be the path of a readable file with certificates in PEM');
      return z.NEVER;
    }
  });
}

/** The settings of the provider that runs the demo servers as child processes. */
export function demoProviders(environment: Environment): Record<string, LocalSettings> {
  const settings = localSettings(import.meta.dirname, environment).parse({
    type: 'local',
    servers: {
      'game-demo': { kind: 'game', command: toCommand(new URL('../demo/game-server.ts', import.meta.url)) },
      'vps-demo': { kind: 'vps', command: toCommand(new URL('../demo/vps.ts', import.meta.url)) },
    },
  });
  return { demo: settings };
}

function toCommand(program: URL): string[] {
  return [process.execPath, fileURLToPath(program)];
}
