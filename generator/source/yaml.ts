import type { z } from 'zod';
import type { Authors } from '#contract/site.ts';
import { sources } from '#contract/static-files.ts';
import { parseYaml } from '../common/yaml.ts';
import type { Diagnostics, Place } from './diagnostics.ts';
import { readText } from './load.ts';
import type { SourceFile, SourceFolder } from './load.ts';

/** The valid YAML of a source file. */
export interface Checked<Value> {
  readonly value: Value;
  /** The position of the value at a path of keys, or of its nearest ancestor. */
  readonly place: (path: readonly PropertyKey[]) => Place;
}

/** Reads and validates a file. Reports every problem; returns undefined if there is an error, or no file. */
export function readYaml<Schema extends z.ZodType>(
  file: SourceFile | undefined,
  schema: Schema,
  diagnostics: Diagnostics,
): Checked<z.infer<Schema>> | undefined {
  const text = file && readText(file, diagnostics);
  if (text === undefined) return undefined;
  const { value, findings, place } = parseYaml(text, schema);
  diagnostics.report(file!.display, findings);
  if (value === undefined) return undefined;
  return { value, place: (path) => ({ file: file!.display, ...place(path) }) };
}

/** The file in content/ with the pictures and pages of authors. */
export const authorsFile = 'authors.yaml';

/** Reads the authors, by name; undefined if there is an error, or no such file. */
export function readAuthors({ files }: SourceFolder, diagnostics: Diagnostics): Checked<Authors> | undefined {
  const file = files.find(({ path }) => path === authorsFile);
  return readYaml(file, sources.authors, diagnostics);
}

/** The file in content/ that lists the paths that are gone for good. */
export const removedFile = 'removed.yaml';

/** Reads the paths that are gone for good, each with its position. */
export function readRemoved({ files }: SourceFolder, diagnostics: Diagnostics): ReadonlyMap<string, Place> {
  const file = files.find(({ path }) => path === removedFile);
  const { value = [], place } = readYaml(file, sources.removed, diagnostics) ?? {};
  const removed = new Map<string, Place>();
  for (const [index, path] of value.entries()) {
    const at = place!([index]);
    if (removed.has(path)) diagnostics.warning(at, `${path} is given twice`, 'keep one of the two');
    else removed.set(path, at);
  }
  return removed;
}
