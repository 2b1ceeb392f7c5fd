import { runInThisContext } from 'node:vm';
import { gzipSync } from 'node:zlib';
import type { KnowledgeBaseSummary } from '#contract/articles.ts';
import { processTerm, searchOptions } from '#contract/search.ts';
import { toJsonText } from '#contract/endpoints.ts';
import type MiniSearch from 'minisearch';
import project from '../../package.json' with { type: 'json' };
import { toPlainText } from '../markdown/text.ts';
import { compareText } from '../source/diagnostics.ts';
import type { Article, ReadHtml } from './article.ts';

/** The gzip size above which the index leaves out the code in articles, then the texts. */
const maxGzipBytes = 1_000_000;
/** Longer texts always exceed that limit: 800 real articles take 0.16 bytes for each character. */
export const maxTextLength = 8_000_000;

/** The texts in the index besides headings: with code, without code, or none. */
const extents = ['code', 'text', 'none'] as const;
type Extent = (typeof extents)[number];

/** Selects the entries of the index, with code and texts up to a total length of `maxLength`. */
export function selectSearch(articles: readonly Article[], maxLength: number) {
  const lengthOf = (of: 'textLength' | 'codeLength') => articles.reduce((sum, { metadata }) => sum + metadata[of], 0);
  const text = lengthOf('textLength');
  const extent: Extent = text > maxLength ? 'none' : text + lengthOf('codeLength') > maxLength ? 'text' : 'code';
  // By path: a changed title must not renumber all articles.
  const sorted = articles.toSorted((a, b) => compareText(a.path, b.path));
  const entries = sorted.map(({ output, metadata: { item, headings, fields, encodings } }) => ({
    ...(item as KnowledgeBaseSummary),
    headings: headings.join('\n'),
    tags: fields.tags?.join(' ') ?? '',
    file: output,
    /** The hash of the file: it changes with the text. */
    text: extent === 'none' ? '' : encodings!.identity,
  }));
  return { extent, entries };
}

type Selected = ReturnType<typeof selectSearch>;

/** Compresses quickly first: most indexes are small enough even then. */
const isSmall = (text: string): boolean => [1, 6].some((level) => gzipSync(text, { level }).length <= maxGzipBytes);

/** Renders the search index. */
export type SearchRenderer = ReturnType<typeof createSearchRenderer>;

/** Creates a stateful renderer: the next rendering only applies changes to the index. */
export function createSearchRenderer() {
  let index: Awaited<ReturnType<typeof createIndex>> | undefined;
  const render = async ({ extent, entries }: Selected, readHtml: ReadHtml): Promise<string> => {
    if (index?.extent !== extent) index = await createIndex(extent);
    index.update(entries, readHtml);
    const text = index.render();
    const smaller = extents[extents.indexOf(extent) + 1];
    return smaller === undefined || isSmall(text) ? text : render({ extent: smaller, entries }, readHtml);
  };
  return render;
}

const toQueryTerms = runInThisContext(processTerm) as (term: string) => string[];

/** Renders the terms as `index.toJSON()` has them: V8 takes several times as long for objects whose keys are numbers. */
function renderTerms(index: MiniSearch): string {
  const terms = Array.from(index['_index'], ([term, fields]) => {
    const sorted = [...fields].toSorted(([a], [b]) => a - b);
    const counts = sorted.map(([field, articles]) => {
      return `"${field}":{${Array.from(articles, ([id, count]) => `"${id}":${count}`).join()}}`;
    });
    return `[${JSON.stringify(term)},{${counts.join()}}]`;
  });
  return `[${terms.join()}]`;
}

async function createIndex(extent: Extent) {
  // Lazy: most builds take the index from the memo.
  const { default: Index } = await import('minisearch');
  const hasText = extent !== 'none';
  const fields = searchOptions.fields.filter((field) => hasText || field !== 'text');
  const options = { ...searchOptions, fields, storeFields: [...searchOptions.storeFields] };
  const terms = new Map<string, string[]>();
  const toTerms = (word: string): string[] => {
    // Whole words too, for websites with the `processTerm` of version 0.2. Cached: most words occur many times.
    const whole = () => word.normalize('NFKD').replace(/\p{M}/gu, '').toUpperCase().toLowerCase();
    if (!terms.has(word)) terms.set(word, [...new Set([whole(), ...toQueryTerms(word)])].filter(Boolean));
    return terms.get(word)!;
  };
  const index: MiniSearch<Selected['entries'][number]> = new Index({ ...options, processTerm: toTerms });
  /** The indexed entries, by path. */
  const indexed = new Map<string, { readonly input: string; readonly entry: Selected['entries'][number] }>();
  return {
    extent,
    /** Adds, replaces and removes articles; the order of entries numbers new ones. */
    update(entries: Selected['entries'], readHtml: ReadHtml): void {
      const missing = new Set(indexed.keys());
      for (const article of entries) {
        const { path } = article;
        missing.delete(path);
        const input = JSON.stringify(hasText ? article : { ...article, text: '' });
        const before = indexed.get(path);
        if (before?.input === input) continue;
        const { text, code } = hasText ? toPlainText(readHtml(article.file)) : { text: '', code: '' };
        const entry = { ...article, text: extent === 'code' ? `${text}\n${code}` : text };
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
      const head = (Object.create(index, { _index: { value: [] } }) as typeof index).toJSON();
      const text = toJsonText('getKnowledgeBaseSearch', { minisearch, hasText, processTerm, options, index: head });
      return text.replace('"index":[]', () => `"index":${renderTerms(index)}`);
    },
  };
}
