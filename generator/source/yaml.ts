import type { z } from 'zod';
import { parseYaml } from '../common/yaml.ts';
import type { CheckedYaml, YamlProblem } from '../common/yaml.ts';
import type { Diagnostics, Place } from './diagnostics.ts';

/** Validated YAML of a source file. */
export interface Checked<Value> {
  readonly value: Value;
  /** The position of the value at a path of keys, or of its nearest ancestor. */
  readonly place: (path: readonly PropertyKey[]) => Place;
}

/** The YAML of a source file, as far as it is valid. */
export interface CheckedFields<Value> {
  /** Undefined if there is any problem. */
  readonly checked: Checked<Value> | undefined;
  /** The top-level fields without a problem; undefined if there are no fields. */
  readonly fields: Checked<Partial<Value>> | undefined;
  readonly warnings: readonly YamlProblem[];
}

/** Parses and validates the YAML of a source file. Reports all problems; returns undefined if there are any. */
export function checkYaml<Schema extends z.ZodType>(
  text: string,
  schema: Schema,
  file: string,
  diagnostics: Diagnostics,
): Checked<z.infer<Schema>> | undefined {
  const { checked, warnings } = checkFields(text, schema, file, diagnostics);
  for (const { message, hint, ...position } of warnings) diagnostics.warning({ file, ...position }, message, hint);
  return checked;
}

/** As {@link checkYaml}, but returns the fields without a problem too, and the warnings instead of reporting them. */
export function checkFields<Schema extends z.ZodType>(
  text: string,
  schema: Schema,
  file: string,
  diagnostics: Diagnostics,
): CheckedFields<z.infer<Schema>> {
  const result = parseYaml(text, schema);
  const { warnings } = result;
  const inFile = <Value>({ value, place }: CheckedYaml<Value>): Checked<Value> => ({
    value,
    place: (path) => ({ file, ...place(path) }),
  });
  if ('value' in result) {
    const checked = inFile(result);
    return { checked, fields: checked, warnings };
  }
  for (const { message, hint, ...position } of result.problems) diagnostics.error({ file, ...position }, message, hint);
  return { checked: undefined, fields: result.fields && inFile(result.fields), warnings };
}
