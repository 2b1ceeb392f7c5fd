import { gzipSync } from 'node:zlib';
import type { KnowledgeBaseSummary } from '#contract/articles.ts';
import { processTerm, searchOptions } from '#contract/search.ts';
import { toJsonText } from '#contract/endpoints.ts';
import type MiniSearch from 'minisearch';
import project from '../../package.json' with { type: 'json' };
import { toPlainText } from '../markdown/text.ts';
import { compareText } from '../source/diagnostics.ts';
import type { Article, ReadHtml } from './article.ts';

/** The gzip size above which the index leaves out the texts of articles. */
const maxGzipBytes = 1_000_000;
/** Longer texts always exceed that limit: 800 real articles take 0.16 bytes for each character. */
export const maxTextLength = 8_000_000;

/** Selects the entries of the index, with texts up to a total length of `maxLength`. */
export function selectSearch(articles: readonly Article[], maxLength: number) {
  const hasText = articles.reduce((sum, { metadata }) => sum + metadata.textLength, 0) <= maxLength;
  // By path: a changed title must not renumber all articles.
  const sorted = articles.toSorted((a, b) => compareText(a.path, b.path));
  const entries = sorted.map(({ output, metadata: { item, headings, fields, encodings } }) => ({
    ...(item as KnowledgeBaseSummary),
    headings: headings.join('\n'),
    tags: fields.tags?.join(' ') ?? '',
    file: output,
    /** The hash of the file: it changes with the text. */
    text: hasText ? encodings!.identity : '',
  }));
  return { hasText, entries };
}

type Selected = ReturnType<typeof selectSearch>;

/** Renders the search index. */
export type SearchRenderer = ReturnType<typeof createSearchRenderer>;

/** Creates a stateful renderer: the next rendering only applies changes to the index. */
export function createSearchRenderer() {
  let index: Awaited<ReturnType<typeof createIndex>> | undefined;
  const render = async (entries: Selected['entries'], hasText: boolean, readHtml: ReadHtml): Promise<string> => {
    if (index?.hasText !== hasText) index = await createIndex(hasText);
    index.update(entries, readHtml);
    return index.render();
  };
  return async ({ hasText, entries }: Selected, readHtml: ReadHtml): Promise<string> => {
    const withText = hasText ? await render(entries, true, readHtml) : undefined;
    const isSmall =
      withText && (Buffer.byteLength(withText) <= maxGzipBytes || gzipSync(withText).length <= maxGzipBytes);
    return isSmall ? withText : render(entries, false, readHtml);
  };
}

async function createIndex(hasText: boolean) {
  // Lazy: most builds take the index from the memo.
  const { default: Index } = await import('minisearch');
  const fields = searchOptions.fields.filter((field) => hasText || field !== 'text');
  const options = { ...searchOptions, fields, storeFields: [...searchOptions.storeFields] };
  const terms = new Map<string, string>();
  const toTerm = (word: string): string => {
    // The same as the documented `processTerm`, cached: most words occur many times.
    if (!terms.has(word)) terms.set(word, word.normalize('NFKD').replace(/\p{M}/gu, '').toUpperCase().toLowerCase());
    return terms.get(word)!;
  };
  const index: MiniSearch<Selected['entries'][number]> = new Index({ ...options, processTerm: toTerm });
  /** The indexed entries, by path. */
  const indexed = new Map<string, { readonly input: string; readonly entry: Selected['entries'][number] }>();
  return {
    hasText,
    /** Adds, replaces and removes articles; the order of entries numbers new ones. */
    update(entries: Selected['entries'], readHtml: ReadHtml): void {
      const missing = new Set(indexed.keys());
      for (const article of entries) {
        const { path } = article;
        missing.delete(path);
        const input = JSON.stringify(hasText ? article : { ...article, text: '' });
        const before = indexed.get(path);
        if (before?.input === input) continue;
        const entry = { ...article, text: hasText ? toPlainText(readHtml(article.file)).text : '' };
        if (before) index.remove(before.entry);
        index.add(entry);
        indexed.set(path, { input, entry });
      }
      for (const path of missing) {
        index.remove(indexed.get(path)!.entry);
        indexed.delete(path);
      }
    },
    render(): string {
      const { minisearch } = project.dependencies;
      return toJsonText('getKnowledgeBaseSearch', { minisearch, hasText, processTerm, options, index: index.toJSON() });
    },
  };
}
