import type { KnowledgeBaseSummary } from '#contract/knowledge-base.ts';
import { processTerm } from '#contract/search.ts';
import type { KnowledgeBaseSearch } from '#contract/search.ts';
import project from '../../../package.json' with { type: 'json' };
import { toPlainText } from '../../markdown/plain-text.ts';
import type { Article } from '../article.ts';
import type { ArticleMetadata } from '../metadata.ts';
import type { SideFileInput } from './side-file.ts';

/** A MiniSearch index of articles. */
export interface SearchIndex {
  /** Whether the texts of articles are in it. */
  readonly hasText: boolean;
  /** Adds new articles in their order, replaces changed ones and removes all others. */
  update(articles: readonly Article[], readText: SideFileInput['readText']): Promise<void>;
  /** Renders the file of the release. */
  render(): string;
}

/** An article as MiniSearch reads it. */
interface Entry extends KnowledgeBaseSummary {
  readonly headings: string;
  readonly tags: string;
  readonly text: string;
}

/** Creates an empty index. */
export async function createSearchIndex(hasText: boolean): Promise<SearchIndex> {
  // Loaded here, since most builds reuse the file of the previous release.
  const { default: MiniSearch } = await import('minisearch');
  const options: KnowledgeBaseSearch['options'] = {
    idField: 'path',
    fields: ['title', 'description', 'headings', 'tags', ...(hasText ? (['text'] as const) : [])],
    storeFields: ['title', 'description', 'category'],
    searchOptions: { boost: { title: 3, tags: 3, headings: 3, description: 2 }, prefix: true, fuzzy: 0.2 },
  };
  const index = new MiniSearch<Entry>({ ...options, processTerm: memoize(toTerm) });
  const known = new Map<string, { readonly metadata: ArticleMetadata; readonly entry: Entry }>();
  return {
    hasText,
    async update(articles, readText) {
      const missing = new Set(known.keys());
      for (const article of articles) {
        const { path, metadata } = article;
        missing.delete(path);
        const before = known.get(path);
        // The cache returns the same object for an unchanged article.
        if (before?.metadata === metadata) continue;
        // oxlint-disable-next-line no-await-in-loop -- In order: the same articles get the same numbers.
        const read = hasText ? await readText(article) : { html: '' };
        // Its source was changed meanwhile, so this build fails.
        if (!read) continue;
        const entry = toEntry(metadata, toPlainText(read.html).text);
        if (before) index.remove(before.entry);
        index.add(entry);
        known.set(path, { metadata, entry });
      }
      for (const path of missing) {
        index.remove(known.get(path)!.entry);
        known.delete(path);
      }
    },
    render() {
      const file: KnowledgeBaseSearch = {
        minisearch: project.dependencies.minisearch,
        hasText,
        processTerm,
        options,
        index: index.toJSON() as KnowledgeBaseSearch['index'],
      };
      // Not `toFile`, which checks the schema: for 8,000 articles that takes 0.7 s.
      return `${JSON.stringify(file)}\n`;
    },
  };
}

function toEntry({ item, headings, tags }: ArticleMetadata, text: string): Entry {
  return { ...(item as KnowledgeBaseSummary), headings: headings.join('\n'), tags: tags.join(' '), text };
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
