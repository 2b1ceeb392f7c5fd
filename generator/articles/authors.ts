import type { Authors } from '#contract/site.ts';
import { suggest } from '../common/suggest.ts';
import { authorsFile } from '../source/authors.ts';
import type { Diagnostics } from '../source/diagnostics.ts';
import { placeOf } from '../source/load.ts';
import type { Checked } from '../source/yaml.ts';
import { checkMedia } from './checks.ts';
import { createSite } from './site.ts';
import type { SiteParts } from './site.ts';

/**
 * Checks that the pictures of authors exist, and that the authors of articles are in the list. Another name is a warning: an
 * author may be missing, and a mistake in a name harms no reader.
 */
export function checkAuthors({ value, place }: Checked<Authors>, parts: SiteParts, diagnostics: Diagnostics): void {
  const site = createSite(parts);
  for (const [name, { picture }] of Object.entries(value)) {
    const fault = picture === undefined ? undefined : checkMedia(picture, 'picture', site);
    if (fault) diagnostics.deadReference(place([name, 'picture']), fault.message, fault.findHint);
  }
  const names = Object.keys(value);
  for (const { file, metadata } of parts.articles) {
    const { author, draft } = metadata;
    if (!author || draft || Object.hasOwn(value, author.text)) continue;
    const message = `the author ${author.text} is not in ${authorsFile}`;
    const hint = suggest(author.text, names) ?? `add there: ${JSON.stringify(author.text)}: {}`;
    diagnostics.warning(placeOf(file, author.line, author.column), message, hint);
  }
}
