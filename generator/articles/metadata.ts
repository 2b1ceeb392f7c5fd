import type { CommonFrontMatter, AnyCollection, ListItem } from './collections/collection.ts';
import { placeholderDescription } from './template.ts';
import type { PictureSizes } from './media.ts';
import type { Position } from '../common/yaml.ts';
import type { Finding } from '../markdown/lint/rule.ts';
import { toPlainText } from '../markdown/plain-text.ts';
import type { Reference } from '../markdown/plugins/rehype-links.ts';
import type { Rendered } from '../markdown/render.ts';
import type { Compression } from '../release/compress.ts';
import type { SplitArticle } from '../source/front-matter.ts';
import type { Size } from '../source/media/facts.ts';
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
  /** The name of its author, if this kind of article has one. */
  readonly author?: Located | undefined;
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
  /** Media in the front matter. */
  readonly media: readonly Located[];
  /** The own pictures in its HTML, each with the size that it had. */
  readonly pictures: readonly SizedPicture[];
  /** Links, pictures, videos and sounds that point to this site. */
  readonly references: readonly Reference[];
  /** The IDs that links can point to. */
  readonly ids: readonly string[];
  /** Probable mistakes in the front matter and in the Markdown. */
  readonly findings: readonly Omit<Finding, 'rule'>[];
}

/** A picture by its site path; without a size if that is not known. */
export interface SizedPicture {
  readonly path: string;
  readonly size?: Size | undefined;
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

/** The fields of a front matter that have no problem. */
type Fields = Checked<Partial<CommonFrontMatter>>;

/** What is known of an article beside its text. */
interface ArticleOrigin {
  readonly collection: AnyCollection;
  /** The display name of its category. */
  readonly category: string;
  readonly path: string;
}

/**
 * Creates the metadata of an article. Of invalid front matter it has the fields without a problem; of a body that cannot
 * be rendered it has nothing.
 */
export function toMetadata(
  { collection, category, path }: ArticleOrigin,
  { frontMatter, fields, warnings, bodyLine }: SplitArticle<CommonFrontMatter>,
  rendered: Rendered | undefined,
  sizes: PictureSizes,
): ArticleMetadata {
  const toFileLine = <Item extends { readonly line: number }>(item: Item): Item => ({
    ...item,
    line: item.line + bodyLine - 1,
  });
  const { headings, text } = toPlainText(rendered?.html ?? '');
  const metadata: ArticleMetadata = {
    category,
    draft: false,
    publication: { line: 1, column: 1 },
    title: '',
    item: { path },
    aliases: [],
    tags: [],
    headings,
    textLength: text.length,
    media: [],
    ...(fields && toFieldMetadata(collection, fields)),
    ...(frontMatter && {
      due: collection.dueOn(frontMatter.value),
      item: collection.toItem(frontMatter.value, { path, category, words: rendered?.words ?? 0 }),
    }),
    pictures: (rendered?.pictures ?? []).map(({ path: picture }) => ({ path: picture, size: sizes.get(picture) })),
    references: (rendered?.references ?? []).map(toFileLine),
    ids: rendered?.ids ?? [],
    findings: [
      ...warnings.map((warning) => ({ severity: 'warning' as const, ...warning })),
      ...(fields ? findMistakes(collection, fields) : []),
      ...(rendered?.findings ?? []).map(toFileLine),
    ],
  };
  // Copied, since V8's substrings keep the whole article text in memory.
  return JSON.parse(JSON.stringify(metadata)) as ArticleMetadata;
}

function toFieldMetadata(collection: AnyCollection, fields: Fields): Partial<ArticleMetadata> {
  const { draft = false, title = '', description, author, aliases = [], tags = [], updated } = fields.value;
  return {
    declared: locateCategory(fields),
    draft,
    publication: toPosition(fields, [draft ? 'draft' : 'date']),
    title,
    ...(author !== undefined && { author: locate(fields, author, ['author']) }),
    aliases: aliases.map((alias, at) => locate(fields, alias, ['aliases', at])),
    tags,
    updated,
    ...(description === placeholderDescription && {
      placeholder: locate(fields, placeholderDescription, ['description']),
    }),
    media: Object.entries(collection.media(fields.value)).flatMap(([field, text]) =>
      text === undefined ? [] : [locate(fields, text, [field])],
    ),
  };
}

function findMistakes(collection: AnyCollection, fields: Fields): ArticleMetadata['findings'] {
  return collection.findMistakes(fields.value).map(({ field, message, hint }) => {
    return { severity: 'warning', message, hint, ...toPosition(fields, [field]) };
  });
}

/** The category name in a front matter, if there is one. */
export function locateCategory(fields: Fields): Located | undefined {
  const { category } = fields.value;
  return category === undefined ? undefined : locate(fields, category, ['category']);
}

function locate(fields: Fields, text: string, field: readonly PropertyKey[]): Located {
  return { text, ...toPosition(fields, field) };
}

function toPosition({ place }: Fields, field: readonly PropertyKey[]): Position {
  const { line, column } = place(field);
  return { line, column };
}
