import { z } from 'zod';
import { readSettings } from '../settings.ts';
import type { Environment } from '../settings.ts';
import { StoreError } from './error.ts';
import type { StoreOptions } from './index.ts';

/** The settings of the store, by the names of their environment variables. */
export const storeSettings = {
  DATA_DIR: z.string().default('.data'),
  DATABASE_URL: z
    .string()
    .refine(
      (text) => ['postgres:', 'postgresql:'].includes(URL.parse(text)?.protocol ?? ''),
      'must be a URL such as postgres://user:password@host/database',
    )
    .optional(),
};

const Settings = z.object(storeSettings);

/** Reads where the store is; throws a {@link StoreError} that has a line for each problem, and never holds a value. */
export function readStoreEnv(source: Environment): StoreOptions {
  const { settings, problems } = readSettings(Settings, source);
  if (!settings) throw new StoreError(problems.join('\n'));
  return { dataDir: settings.DATA_DIR, databaseUrl: settings.DATABASE_URL };
}
