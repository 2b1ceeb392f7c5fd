import type { AnyCollection, CommonFrontMatter } from './collections/collection.ts';
import { toTitleCase } from './content.ts';
import type { CategoryFolder } from './content.ts';
import { locateCategory } from './metadata.ts';
import type { ArticleMetadata, Located } from './metadata.ts';
import type { Diagnostics } from '../source/diagnostics.ts';
import { parseFrontMatter } from '../source/front-matter.ts';
import type { SplitArticle } from '../source/front-matter.ts';
import { MarkdownError } from '../markdown/limits.ts';
import { placeOf, readText } from '../source/load.ts';
import type { SourceFile } from '../source/load.ts';
import type { Rendered } from '../markdown/render.ts';
import { fileOf } from '#contract/static-files.ts';

/** An article in this build. */
export interface Article {
  readonly folder: CategoryFolder;
  readonly file: SourceFile;
  /** `/blog/<category>/<slug>` or `/knowledgebase/<category>/<slug>`. */
  readonly path: string;
  /** The path of its file in a release. */
  readonly output: string;
  /** `broken` means invalid front matter or a body that cannot be rendered; such an article is checked only. */
  readonly state: 'published' | 'draft' | 'scheduled' | 'broken';
  /** Whether the release contains it: previews contain drafts and scheduled articles too. */
  readonly isIncluded: boolean;
  readonly metadata: ArticleMetadata;
}

/** An article whose metadata is cached or whose file was parsed. */
export interface OpenedArticle {
  readonly file: SourceFile;
  readonly cached: ArticleMetadata | undefined;
  readonly parsed: Parsed | undefined;
}

/** An article's front matter, if valid, and its Markdown. */
type Parsed = SplitArticle<CommonFrontMatter>;

/** A category, its opened articles and their common display name. */
export interface OpenedCategory {
  readonly folder: CategoryFolder;
  readonly name: string;
  readonly articles: readonly OpenedArticle[];
}

/** Opens the articles of a category and parses those that are not cached. Reports and omits unreadable ones. */
export function openCategory(
  folder: CategoryFolder,
  readCached: (file: SourceFile) => ArticleMetadata | undefined,
  diagnostics: Diagnostics,
): OpenedCategory {
  const articles = folder.articles.flatMap((file): OpenedArticle[] => {
    const cached = readCached(file);
    const parsed = cached ? undefined : parseArticle(file, folder.collection, diagnostics);
    return cached || parsed ? [{ file, cached, parsed }] : [];
  });
  return { folder, name: nameOf(folder, articles, diagnostics), articles };
}

/** Reads and parses an article. Reports its problems; returns undefined if it cannot be read or split. */
export function parseArticle(
  file: SourceFile,
  { frontMatter }: AnyCollection,
  diagnostics: Diagnostics,
): Parsed | undefined {
  const text = readText(file, diagnostics);
  return text === undefined ? undefined : parseFrontMatter(text, frontMatter, file.display, diagnostics);
}

function declaredBy({ cached, parsed }: OpenedArticle): Located | undefined {
  if (!parsed) return cached?.declared;
  return parsed.fields && locateCategory(parsed.fields);
}

function nameOf(folder: CategoryFolder, articles: readonly OpenedArticle[], diagnostics: Diagnostics): string {
  let { name } = folder;
  let source = 'category.yaml';
  for (const article of articles) {
    const declared = declaredBy(article);
    if (declared === undefined) continue;
    if (name === undefined) {
      name = declared.text;
      source = article.file.display;
    } else if (declared.text !== name) {
      const place = placeOf(article.file, declared.line, declared.column);
      diagnostics.error(place, `"category" must be the same in all of ${folder.slug}/`, `${source} says "${name}"`);
    }
  }
  return name ?? toTitleCase(folder.slug);
}

/** The site path of an article and the path of its file in a release. */
export function addressOf({ collection, slug: category }: CategoryFolder, file: SourceFile) {
  const slug = file.path.slice(file.path.lastIndexOf('/') + 1, -'.md'.length);
  return {
    path: `/${collection.folder}/${category}/${slug}`,
    output: fileOf(collection.articleFile, { category, slug }),
  };
}

/** What decides whether a release contains an article. */
export interface Schedule {
  /** The day of the build, YYYY-MM-DD: articles dated later are scheduled. */
  readonly now: string;
  /** Includes drafts and scheduled articles: a preview. */
  readonly withUnpublished?: boolean | undefined;
}

/** Creates an article of a build. */
export function toArticle(
  folder: CategoryFolder,
  file: SourceFile,
  metadata: ArticleMetadata,
  { now, withUnpublished = false }: Schedule,
): Article {
  const { draft, due } = metadata;
  const state = draft ? 'draft' : due !== undefined && due > now ? 'scheduled' : 'published';
  const { path, output } = addressOf(folder, file);
  return { folder, file, path, output, state, isIncluded: withUnpublished || state === 'published', metadata };
}

/** Renders the body of an article. Reports a body that cannot be rendered or is empty, and returns undefined for it. */
export async function renderBody(
  file: SourceFile,
  { body, bodyLine }: Parsed,
  render: (markdown: string) => Promise<Rendered>,
  diagnostics: Diagnostics,
): Promise<Rendered | undefined> {
  try {
    const rendered = await render(body);
    if (rendered.html !== '') return rendered;
    diagnostics.error(placeOf(file, bodyLine), 'the article has no text');
  } catch (error) {
    if (!(error instanceof MarkdownError)) throw error;
    diagnostics.error(placeOf(file, bodyLine + error.line - 1), error.message, error.hint);
  }
  return undefined;
}
