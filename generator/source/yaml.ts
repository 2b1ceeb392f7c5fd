import type { z } from 'zod';
import { parseYaml } from '../common/yaml.ts';
import type { Diagnostics, Place } from './diagnostics.ts';

/** Validated YAML of a source file. */
export interface Checked<Value> {
  readonly value: Value;
  /** The position of the value at a path of keys, or of its nearest ancestor. */
  readonly place: (path: readonly PropertyKey[]) => Place;
}

/** Parses and validates the YAML of a source file. Reports all problems; returns undefined if there are any. */
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
