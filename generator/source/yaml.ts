import type { z } from 'zod';
import { parseYaml } from '../common/yaml.ts';
import type { Diagnostics, Place } from './diagnostics.ts';

/** Checked YAML of a source file. */
export interface Checked<Value> {
  readonly value: Value;
  /** The place of the value at a path of keys, or of the nearest one above it. */
  readonly place: (path: readonly PropertyKey[]) => Place;
}

/** Parses the YAML of a source file and checks it. Reports every problem, and then returns undefined. */
export function checkYaml<Schema extends z.ZodType>(
  text: string,
  schema: Schema,
  file: string,
  diagnostics: Diagnostics,
): Checked<z.infer<Schema>> | undefined {
  const result = parseYaml(text, schema);
  if ('problems' in result) {
    for (const { message, hint, ...position } of result.problems)
      diagnostics.error({ file, ...position }, message, hint);
    return undefined;
  }
  const { value, place } = result;
  return { value, place: (path) => ({ file, ...place(path) }) };
}
