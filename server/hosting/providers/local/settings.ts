import { resolve } from 'node:path';
import { z } from 'zod';
import type { Environment } from '../../../settings.ts';

/** What a server gets of our own environment: never our settings, which hold the credentials of others. */
const inherited = ['PATH', 'HOME', 'USER', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR'];

const refPattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/** The settings of the servers that this machine runs itself, by their `ref`; paths count from a folder. */
export function localSettings(folder: string, environment: Environment) {
  const base = Object.fromEntries(
    inherited.flatMap((name) => (environment[name] === undefined ? [] : [[name, environment[name]]])),
  );
  const server = z.strictObject({
    kind: z.enum(['game', 'vps']),
    /** The program and its arguments; no shell is between. */
    command: z.array(z.string().min(1, 'must not be empty')).min(1, 'must name a program'),
    cwd: z
      .string()
      .default('.')
      .transform((path) => resolve(folder, path)),
    /** All that it gets of the environment. */
    env: z
      .record(z.string().regex(/^[A-Za-z_]\w*$/, 'must be the name of a variable'), z.string())
      .default({})
      .transform((env): Record<string, string> => ({ ...base, ...env })),
    /** Between SIGTERM and SIGKILL. */
    grace_seconds: z
      .int('must be a whole number')
      .min(0, 'must be at least 0')
      .max(600, 'must be at most 600')
      .default(10),
  });
  return z.strictObject({
    type: z.literal('local'),
    servers: z.record(z.string().regex(refPattern, 'must be letters, digits, dots, hyphens and underscores'), server),
  });
}

/** The settings, read and with their defaults. */
export type LocalSettings = z.infer<ReturnType<typeof localSettings>>;

/** A server that is a process of this machine. */
export type LocalServer = LocalSettings['servers'][string];
