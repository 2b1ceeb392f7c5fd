import { gzipSync } from 'node:zlib';
import type { KnowledgeBaseSummary } from '#contract/knowledge-base.ts';
import { processTerm } from '#contract/search.ts';
import type { KnowledgeBaseSearch } from '#contract/search.ts';
import { toJsonText } from '#contract/static-files.ts';
import type MiniSearch from 'minisearch';
import project from '../../package.json' with { type: 'json' };
import { toPlainText } from '../markdown/text.ts';

/** The articles of the search index, in the order of their numbers. */
interface Searched {
  /** Whether their texts are searched, if the file is small enough with them. */
  readonly hasText: boolean;
  readonly entries: readonly Entry[];
}

/** An article as MiniSearch reads it; here, its text is a hash by which it is read. */
interface Entry extends KnowledgeBaseSummary {
  readonly headings: string;
  readonly tags: string;
  readonly text: string;
}

type ReadText = (sha256: string) => Promise<{ readonly html: string } | undefined>;

/** The file has the texts of articles only if it is not larger, compressed with gzip. */
const maxGzipBytes = 1_000_000;
/** Of longer texts it is never small enough: for 800 real articles it takes 0.16 bytes for each character. */
export const maxTextLength = 8_000_000;

/** Creates an index of the knowledge base, which keeps what it indexed, so that the next rendering only adds what changed. */
export function createSearchIndex() {
  let index: Awaited<ReturnType<typeof createIndex>> | undefined;
  const renderIndex = async (entries: Searched['entries'], hasText: boolean, readText: ReadText): Promise<Buffer> => {
    if (index?.hasText !== hasText) index = await createIndex(hasText);
    await index.update(entries, readText);
    return Buffer.from(index.render());
  };
  return {
    /** Renders the file of the release. */
    async render({ hasText, entries }: Searched, readText: ReadText): Promise<Buffer> {
      const withText = hasText ? await renderIndex(entries, true, readText) : undefined;
      const isSmall = withText && (withText.length <= maxGzipBytes || gzipSync(withText).length <= maxGzipBytes);
      return isSmall ? withText : renderIndex(entries, false, readText);
    },
  };
}

async function createIndex(hasText: boolean) {
  // Loaded here, since most builds reuse the file of the previous release.
  const { default: Index } = await import('minisearch');
  const options: KnowledgeBaseSearch['options'] = {
    idField: 'path',
    fields: ['title', 'description', 'headings', 'tags', ...(hasText ? (['text'] as const) : [])],
    storeFields: ['title', 'description', 'category'],
    searchOptions: { boost: { title: 3, tags: 3, headings: 3, description: 2 }, prefix: true, fuzzy: 0.2 },
  };
  const index: MiniSearch<Entry> = new Index({ ...options, processTerm: memoize(toTerm) });
  /** What is indexed, by path. */
  const indexed = new Map<string, { readonly input: string; readonly entry: Entry }>();
  return {
    hasText,
    /** Adds new articles in their order, replaces changed ones and removes all others. */
    async update(entries: Searched['entries'], readText: ReadText): Promise<void> {
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

/** What {@link processTerm} says. */
function toTerm(word: string): string {
  return word.normalize('NFKD').replace(/\p{M}/gu, '').toUpperCase().toLowerCase();
}

/** Most words occur many times. */
function memoize(convert: (word: string) => string): (word: string) => string {
  const results = new Map<string, string>();
  return (word) => {
    let result = results.get(word);
    if (result === undefined) results.set(word, (result = convert(word)));
    return result;
  };
}
