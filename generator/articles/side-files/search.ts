import { hash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { fileOf } from '#contract/resources.ts';
import type { Stage } from '../../release/stage.ts';
import { compareText } from '../../source/diagnostics.ts';
import type { Article } from '../article.ts';
import { createSearchIndex } from './search-index.ts';
import type { SearchIndex } from './search-index.ts';
import type { SideFileInput } from './side-file.ts';

/** Writes the search index of the knowledge base into releases. */
export interface SearchWriter {
  /**
   * Writes the file, or reuses it if its input is that of the previous release. Returns a hash of the input, for the next
   * release.
   */
  write(site: SideFileInput, stage: Stage, previousInput: string | undefined): Promise<string>;
}

/** The file has the texts of articles only if it is not larger, compressed with gzip. */
const maxGzipBytes = 1_000_000;
/** Of longer texts it is never small enough: for 800 real articles it takes 0.16 bytes for each character. */
const maxTextLength = 8_000_000;

/**
 * Creates a writer, which tries the texts of articles if they have at most `maxLength` characters together. It keeps the
 * index, so that `dev` adds to it only what a save changed.
 */
export function createSearchWriter(maxLength = maxTextLength): SearchWriter {
  let index: SearchIndex | undefined;
  const render = async (articles: readonly Article[], site: SideFileInput, hasText: boolean): Promise<Buffer> => {
    if (index?.hasText !== hasText) index = await createSearchIndex(hasText);
    await index.update(articles, site.readText);
    return Buffer.from(index.render());
  };
  return {
    async write(site, stage, previousInput) {
      const file = fileOf('knowledgeBaseSearch', {});
      // By path, so that a new title does not give all articles other numbers.
      const articles = site.knowledgeBase.toSorted((a, b) => compareText(a.path, b.path));
      const mayHaveText = articles.reduce((sum, { metadata }) => sum + metadata.textLength, 0) <= maxLength;
      const input = hashInput(articles, mayHaveText);
      if (input === previousInput && stage.reuse(file)) return input;
      const withText = mayHaveText ? await render(articles, site, true) : undefined;
      const isSmall = withText && (withText.length <= maxGzipBytes || gzipSync(withText).length <= maxGzipBytes);
      await stage.write(file, isSmall ? withText : await render(articles, site, false));
      return input;
    },
  };
}

/** Hashes what the index is made from: with texts, that is the source of each article. */
function hashInput(articles: readonly Article[], withText: boolean): string {
  const inputs = articles.map(({ file, metadata: { item, tags, headings } }) => [
    item,
    tags,
    headings,
    withText && file.sha256,
  ]);
  return hash('sha256', JSON.stringify(inputs));
}
