import { readFileSync } from 'node:fs';
import { z } from 'zod';
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

/**
 * Reads where the store is. Each setting may also be given as `<NAME>_FILE`, the path of a file that holds it; an empty
 * one counts as not set. Throws a {@link StoreError} that has a line for each problem, and never holds a value.
 */
export function readStoreEnv(source: Readonly<Record<string, string | undefined>>): StoreOptions {
  const problems: string[] = [];
  const values: Record<string, string> = {};
  for (const name of Object.keys(storeSettings)) {
    const file = source[`${name}_FILE`];
    if (file && source[name]) problems.push(`${name}: is set twice, directly and by ${name}_FILE`);
    const value = file ? readSecret(file) : source[name];
    // A file without a value is a mistake, and to pass over it would be to start on another database.
    if (file && !value) problems.push(`${name}_FILE: the file cannot be read, or is empty`);
    if (value) values[name] = value;
  }
  const result = Settings.safeParse(values);
  for (const { path, message } of result.error?.issues ?? []) problems.push(`${path.join('.')}: ${message}`);
  if (problems.length > 0 || !result.success) throw new StoreError(problems.join('\n'));
  return { dataDir: result.data.DATA_DIR, databaseUrl: result.data.DATABASE_URL };
}

function readSecret(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    return undefined;
  }
}
