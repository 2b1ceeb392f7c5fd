import type { Authors } from '#contract/site.ts';
import { sources } from '#contract/static-files.ts';
import type { Diagnostics } from './diagnostics.ts';
import { readText } from './load.ts';
import type { SourceFolder } from './load.ts';
import { checkYaml } from './yaml.ts';
import type { Checked } from './yaml.ts';

/** The file in content/ with the pictures and pages of authors. */
export const authorsFile = 'authors.yaml';

/** Reads the authors, by name. Reports every problem; returns undefined if there are any, or no such file. */
export function readAuthors({ files }: SourceFolder, diagnostics: Diagnostics): Checked<Authors> | undefined {
  const file = files.find(({ path }) => path === authorsFile);
  const text = file && readText(file, diagnostics);
  return text === undefined ? undefined : checkYaml(text, sources.authors, file!.display, diagnostics);
}
