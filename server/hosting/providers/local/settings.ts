import { resolve } from 'node:path';
import { z } from 'zod';
import type { Environment } from '#common/environment.ts';

/** The environment variables that a server inherits: never our settings, which hold credentials. */
const inherited = ['PATH', 'HOME', 'USER', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR'];

const refPattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/** The settings of local servers by `ref`; paths are relative to a folder. */
export function localSettings(folder: string, environment: Environment) {
  const base = Object.fromEntries(
    inherited.flatMap((name) => (environment[name] === undefined ? [] : [[name, environment[name]]])),
  );
  const server = z.strictObject({
    kind: z.enum(['game', 'vps']),
    /** The program and its arguments, run without a shell. */
    command: z.array(z.string().min(1, 'must not be empty')).min(1, 'must name a program'),
    cwd: z
      .string()
      .default('.')
      .transform((path) => resolve(folder, path)),
    /** Additional environment variables. */
    env: z
      .record(z.string().regex(/^[A-Za-z_]\w*$/, 'must be the name of a variable'), z.string())
      .default({})
      .transform((env): Record<string, string> => ({ ...base, ...env })),
    /** The time between SIGTERM and SIGKILL. */
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

/** The settings with defaults applied. */
export type LocalSettings = z.infer<ReturnType<typeof localSettings>>;

/** The settings of one local server. */
export type LocalServer = LocalSettings['servers'][string];
