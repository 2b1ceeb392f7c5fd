import { readFileSync } from 'node:fs';
import type { z } from 'zod';

/** The environment of a process. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Settings that were read, or what is wrong with them: a line for each problem, which never holds a value. */
export type SettingsResult<Schema extends z.ZodObject> =
  | { readonly settings: z.output<Schema>; readonly problems: readonly [] }
  | { readonly settings?: never; readonly problems: readonly string[] };

/**
 * Reads settings, whose names are those of environment variables. Each may also be given as `<NAME>_FILE`, the path of
 * a file that holds it; an empty one counts as not set.
 */
export function readSettings<Schema extends z.ZodObject>(schema: Schema, source: Environment): SettingsResult<Schema> {
  const problems: string[] = [];
  const values: Record<string, string> = {};
  for (const name of Object.keys(schema.shape)) {
    const file = source[`${name}_FILE`];
    if (file && source[name]) problems.push(`${name}: is set twice, directly and by ${name}_FILE`);
    const value = file ? readSecret(file) : source[name];
    // An empty file is a mistake: to pass over it would be to start with another setting than was meant.
    if (file && !value) problems.push(`${name}_FILE: the file cannot be read, or is empty`);
    if (value) values[name] = value;
  }
  const result = schema.safeParse(values);
  for (const { path, message } of result.error?.issues ?? []) problems.push(`${path.join('.')}: ${message}`);
  return result.success && problems.length === 0 ? { settings: result.data, problems: [] } : { problems };
}

function readSecret(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    return undefined;
  }
}
