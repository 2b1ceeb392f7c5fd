import type { AnyCollection, CommonFrontMatter, ListItem } from './collections/collection.ts';
import { toTitleCase } from './content.ts';
import type { CategoryFolder } from './content.ts';
import { placeholderDescription } from './template.ts';
import type { Diagnostics } from '../source/diagnostics.ts';
import { parseFrontMatter } from '../source/front-matter.ts';
import type { SplitArticle } from '../source/front-matter.ts';
import { MarkdownError } from '../markdown/limits.ts';
import { placeOf, readText } from '../source/load.ts';
import type { SourceFile } from '../source/load.ts';
import type { Rendered } from '../markdown/render.ts';
import type { Finding } from '../markdown/lint/rule.ts';
import type { Position } from '../common/yaml.ts';
import type { Reference } from '../markdown/plugins/rehype-links.ts';
import { fileOf } from '#contract/resources.ts';
import type { Compression } from '../release/compress.ts';
import type { Checked } from '../source/yaml.ts';

/**
 * The data of an article that lists and checks need, without its text. It is plain JSON, so that the cache can store it.
 * Lines and columns are those of the file.
 */
export interface ArticleMetadata {
  /** Hashes of its file in a release; undefined if it was only checked. */
  readonly encodings?: EncodingHashes | undefined;
  /** The display name of its category. */
  readonly category: string;
  /** The category name in its front matter, if there is one. */
  readonly declared?: Located | undefined;
  readonly draft: boolean;
  /** The first day of publication, if it has one. */
  readonly due?: string | undefined;
  /** The field that decides about publication: `draft` if it is true, else the date. */
  readonly publication: Position;
  readonly title: string;
  readonly item: ListItem;
  readonly aliases: readonly Located[];
  /** The description, if it is still the one of a new article. */
  readonly placeholder?: Located | undefined;
  /** Media in the front matter. */
  readonly media: readonly Located[];
  /** Links and images that point to this site. */
  readonly references: readonly Reference[];
  /** The IDs that links can point to. */
  readonly ids: readonly string[];
  /** Probable mistakes in the Markdown. */
  readonly findings: readonly Finding[];
}

/** The hashes of an article's file and of its compressed encodings. */
export interface EncodingHashes {
  readonly compression: Compression;
  readonly identity: string;
  readonly gz: string;
  readonly br: string;
}

/** A text of the front matter with its position. */
export interface Located extends Position {
  readonly text: string;
}

/** An article in this build. */
export interface Article {
  readonly folder: CategoryFolder;
  readonly file: SourceFile;
  /** `/blog/<category>/<slug>` or `/knowledgebase/<category>/<slug>`. */
  readonly path: string;
  /** The path of its file in a release. */
  readonly output: string;
  /** `broken` means invalid front matter; such an article is checked only. */
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
  const { frontMatter } = parsed;
  const category = frontMatter?.value.category;
  return category === undefined ? undefined : locate(frontMatter!, category, ['category']);
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
    output: fileOf(collection.articleResource, { category, slug }),
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

/** Creates the metadata of a rendered article. Without valid front matter it has only the data of the body. */
export function toMetadata(
  { folder, name }: Pick<OpenedCategory, 'folder' | 'name'>,
  file: SourceFile,
  parsed: Parsed,
  rendered: Rendered,
): ArticleMetadata {
  const { collection } = folder;
  const { frontMatter, bodyLine } = parsed;
  const { path } = addressOf(folder, file);
  const toFileLine = <Item extends { readonly line: number }>(item: Item): Item => ({
    ...item,
    line: item.line + bodyLine - 1,
  });
  const metadata: ArticleMetadata = {
    category: name,
    draft: false,
    publication: { line: 1, column: 1 },
    title: '',
    item: { path },
    aliases: [],
    media: [],
    references: rendered.references.map(toFileLine),
    ids: rendered.ids,
    findings: rendered.findings.map(toFileLine),
    ...(frontMatter && {
      declared: declaredBy({ file, cached: undefined, parsed }),
      draft: frontMatter.value.draft ?? false,
      due: collection.dueOn(frontMatter.value),
      publication: toPosition(frontMatter, [frontMatter.value.draft ? 'draft' : 'date']),
      title: frontMatter.value.title,
      item: collection.toItem(frontMatter.value, { path, category: name, words: rendered.words }),
      aliases: (frontMatter.value.aliases ?? []).map((alias, at) => locate(frontMatter, alias, ['aliases', at])),
      ...(frontMatter.value.description === placeholderDescription && {
        placeholder: locate(frontMatter, placeholderDescription, ['description']),
      }),
      media: Object.entries(collection.media(frontMatter.value)).map(([field, text]) =>
        locate(frontMatter, text, [field]),
      ),
    }),
  };
  // Copied, since V8's substrings keep the whole article text in memory.
  return JSON.parse(JSON.stringify(metadata)) as ArticleMetadata;
}

function locate(frontMatter: Checked<CommonFrontMatter>, text: string, field: readonly PropertyKey[]): Located {
  return { text, ...toPosition(frontMatter, field) };
}

function toPosition({ place }: Checked<CommonFrontMatter>, field: readonly PropertyKey[]): Position {
  const { line, column } = place(field);
  return { line, column };
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
