import { sources } from '#contract/static-files.ts';
import type { Diagnostics, Place } from './diagnostics.ts';
import { readText } from './load.ts';
import type { SourceFolder } from './load.ts';
import { checkYaml } from './yaml.ts';

/** The file in content/ that lists the paths that are gone for good. */
export const removedFile = 'removed.yaml';

/** Reads the paths that are gone for good, each with its position. Reports every problem. */
export function readRemoved({ files }: SourceFolder, diagnostics: Diagnostics): ReadonlyMap<string, Place> {
  const file = files.find(({ path }) => path === removedFile);
  const text = file && readText(file, diagnostics);
  const checked = text === undefined ? undefined : checkYaml(text, sources.removed, file!.display, diagnostics);
  const removed = new Map<string, Place>();
  for (const [index, path] of checked?.value.entries() ?? []) {
    const place = checked!.place([index]);
    if (removed.has(path)) diagnostics.warning(place, `${path} is given twice`, 'keep one of the two');
    else removed.set(path, place);
  }
  return removed;
}
