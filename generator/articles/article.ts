import type { Finding, Position } from '../common/finding.ts';
import { toPlainText } from '../markdown/text.ts';
import type { Reference } from '../markdown/plugins/links.ts';
import type { Rendered } from '../markdown/render.ts';
import type { Compression } from '../release/compress.ts';
import { placeholderDescription } from '../source/yaml.ts';
import type { SourceArticle } from '../source/yaml.ts';
import type { SourceFile } from '../source/load.ts';
import type { PictureSizes, Size } from '../source/media.ts';
import type { AnyCollection, FrontMatter, ListedArticle } from './collections.ts';
import type { CategoryFolder } from './content.ts';

/** A compiled article in this build. */
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

/**
 * Reads the text of an included article by the hash of its file. Returns undefined if the source changed during the build, which
 * fails the build.
 */
export type ReadText = (sha256: string) => Promise<{ readonly html: string } | undefined>;

/**
 * What the cache keeps of a compiled article: all that lists and checks need, without its text. It is plain JSON. Lines and
 * columns are those of the file.
 */
export interface ArticleMetadata {
  /** The hashes of its file in a release and of the compressed encodings; undefined if it was only checked. */
  readonly encodings?: { compression: Compression; identity: string; gz: string; br: string } | undefined;
  /** The display name of its category. */
  readonly category: string;
  /** The category name in its front matter, if there is one. */
  readonly declared?: Located | undefined;
  readonly draft: boolean;
  /** The first day of publication, YYYY-MM-DD, if it has one. */
  readonly due?: string | undefined;
  /** The field that decides about publication: `draft` if it is true, else the date. */
  readonly publication: Position;
  readonly title: string;
  readonly titlePlace: Position;
  readonly item: ListedArticle;
  readonly author?: Located | undefined;
  readonly cover?: Located | undefined;
  readonly aliases: readonly Located[];
  /** The day of the last significant change, YYYY-MM-DD. */
  readonly updated?: string | undefined;
  readonly tags: readonly string[];
  /** The texts of its headings. */
  readonly headings: readonly string[];
  /** The number of characters of its other text. */
  readonly textLength: number;
  /** The description, if it is still the one of a new article. */
  readonly placeholder?: Located | undefined;
  /** The pictures of this site in its HTML, each with the size that it had, if that was known. */
  readonly pictures: readonly { readonly path: string; readonly size?: Size | undefined }[];
  /** Links, pictures, videos and sounds that point to this site. */
  readonly references: readonly Reference[];
  /** The IDs that links can point to. */
  readonly ids: readonly string[];
  /** What is wrong with its front matter and its Markdown. */
  readonly findings: readonly Finding[];
}

/** A text of the front matter with its position. */
interface Located extends Position {
  readonly text: string;
}

/**
 * Creates the metadata of an article. Of invalid front matter it has the fields without a problem; of a body that cannot
 * be rendered it has nothing.
 */
export function toMetadata(
  { collection, category, path }: { collection: AnyCollection; category: string; path: string },
  { value, fields = {}, findings, place, bodyLine }: SourceArticle<FrontMatter>,
  rendered: Rendered | undefined,
  sizes: PictureSizes,
): ArticleMetadata {
  const { draft = false, title = '', description, date, author, cover, aliases = [], tags = [], updated } = fields;
  const locate = (text: string | undefined, ...field: PropertyKey[]): Located | undefined =>
    text === undefined ? undefined : { text, ...place(field) };
  const toFileLine = <Item extends Position>(item: Item): Item => ({ ...item, line: item.line + bodyLine - 1 });
  const { headings, text } = toPlainText(rendered?.html ?? '');
  const mistake = {
    severity: 'warning' as const,
    ...place(['updated']),
    message: '"updated" is before "date"',
    hint: 'write the day of the last change, or remove the line',
  };
  const metadata: ArticleMetadata = {
    category,
    declared: locate(fields.category, 'category'),
    draft,
    due: value?.date,
    publication: place([draft ? 'draft' : 'date']),
    title,
    titlePlace: place(['title']),
    item: value ? collection.toListed(value, { path, category, words: rendered?.words ?? 0 }) : { path },
    author: locate(author, 'author'),
    cover: locate(cover, 'cover'),
    aliases: aliases.map((alias, at) => locate(alias, 'aliases', at)!),
    updated,
    tags,
    headings,
    textLength: text.length,
    placeholder: description === placeholderDescription ? locate(description, 'description') : undefined,
    pictures: (rendered?.pictures ?? []).map(({ path: picture }) => ({ path: picture, size: sizes.get(picture) })),
    references: (rendered?.references ?? []).map(toFileLine),
    ids: rendered?.ids ?? [],
    findings: [
      ...findings,
      ...(date !== undefined && updated !== undefined && updated < date ? [mistake] : []),
      ...(rendered?.findings ?? []).map(toFileLine),
    ],
  };
  // Copied, since V8's substrings keep the whole article text in memory.
  return JSON.parse(JSON.stringify(metadata)) as ArticleMetadata;
}
