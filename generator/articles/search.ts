import { gzipSync } from 'node:zlib';
import type { KnowledgeBaseSummary } from '#contract/articles.ts';
import { processTerm, searchOptions } from '#contract/search.ts';
import { toJsonText } from '#contract/endpoints.ts';
import type MiniSearch from 'minisearch';
import project from '../../package.json' with { type: 'json' };
import { toPlainText } from '../markdown/text.ts';
import { compareText } from '../source/diagnostics.ts';
import type { Article, ReadText } from './article.ts';

/** The file has the texts of articles only if it is not larger, compressed with gzip. */
const maxGzipBytes = 1_000_000;
/** Of longer texts it is never small enough: for 800 real articles it takes 0.16 bytes for each character. */
export const maxTextLength = 8_000_000;

/** What the index is made from: with the texts of articles if they have at most `maxLength` characters together. */
export function selectSearch(articles: readonly Article[], maxLength: number) {
  const hasText = articles.reduce((sum, { metadata }) => sum + metadata.textLength, 0) <= maxLength;
  // By path, so that a new title does not give all articles other numbers.
  const sorted = articles.toSorted((a, b) => compareText(a.path, b.path));
  const entries = sorted.map(({ metadata: { item, headings, fields, encodings } }) => ({
    ...(item as KnowledgeBaseSummary),
    headings: headings.join('\n'),
    tags: fields.tags?.join(' ') ?? '',
    /** The hash by which the text is read. */
    text: hasText ? encodings!.identity : '',
  }));
  return { hasText, entries };
}

type Search = ReturnType<typeof selectSearch>;

/** Creates a renderer of the index, which keeps what it indexed, so that the next rendering only adds what changed. */
export function createSearchIndex() {
  let index: Awaited<ReturnType<typeof createIndex>> | undefined;
  const render = async (entries: Search['entries'], hasText: boolean, readText: ReadText): Promise<Buffer> => {
    if (index?.hasText !== hasText) index = await createIndex(hasText);
    await index.update(entries, readText);
    return Buffer.from(index.render());
  };
  return async ({ hasText, entries }: Search, readText: ReadText): Promise<Buffer> => {
    const withText = hasText ? await render(entries, true, readText) : undefined;
    const isSmall = withText && (withText.length <= maxGzipBytes || gzipSync(withText).length <= maxGzipBytes);
    return isSmall ? withText : render(entries, false, readText);
  };
}

async function createIndex(hasText: boolean) {
  // Loaded here, since most builds reuse the file of the previous release.
  const { default: Index } = await import('minisearch');
  const fields = searchOptions.fields.filter((field) => hasText || field !== 'text');
  const options = { ...searchOptions, fields, storeFields: [...searchOptions.storeFields] };
  const terms = new Map<string, string>();
  const toTerm = (word: string): string => {
    // What `processTerm` says. Most words occur many times.
    if (!terms.has(word)) terms.set(word, word.normalize('NFKD').replace(/\p{M}/gu, '').toUpperCase().toLowerCase());
    return terms.get(word)!;
  };
  const index: MiniSearch<Search['entries'][number]> = new Index({ ...options, processTerm: toTerm });
  /** What is indexed, by path. */
  const indexed = new Map<string, { readonly input: string; readonly entry: Search['entries'][number] }>();
  return {
    hasText,
    /** Adds new articles in their order, replaces changed ones and removes all others. */
    async update(entries: Search['entries'], readText: ReadText): Promise<void> {
      const missing = new Set(indexed.keys());
      for (const article of entries) {
        const { path } = article;
        missing.delete(path);
        const input = JSON.stringify(hasText ? article : { ...article, text: '' });
        const before = indexed.get(path);
        if (before?.input === input) continue;
        // oxlint-disable-next-line no-await-in-loop -- In order: the same articles get the same numbers.
        const read = hasText ? await readText(article.text) : { html: '' };
        // Its source changed during the build, so this build fails.
        if (!read) continue;
        const entry = { ...article, text: toPlainText(read.html).text };
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
