import type { Finding, Position } from '../common/finding.ts';
import { toPlainText } from '../markdown/text.ts';
import type { Reference } from '../markdown/plugins/trusted.ts';
import type { Rendered } from '../markdown/render.ts';
import type { Compression } from '../release/compress.ts';
import type { SourceArticle } from '../source/yaml.ts';
import type { SourceFile } from '../source/load.ts';
import type { PictureSizes, Size } from '../source/media.ts';
import type { AnyCollection, CategoryFolder, FrontMatter, ListedArticle } from './content.ts';

/** A compiled article in this build. */
export interface Article {
  readonly folder: CategoryFolder;
  readonly file: SourceFile;
  /** `/blog/<category>/<slug>` or `/knowledgebase/<category>/<slug>`. */
  readonly path: string;
  /** The path of its file in a release. */
  readonly output: string;
  /** `broken`: invalid front matter or a body that cannot be rendered. */
  readonly state: 'published' | 'draft' | 'scheduled' | 'broken';
  /** The release contains the article; previews contain drafts and scheduled articles, too. */
  readonly isIncluded: boolean;
  /** The day of the last change, YYYY-MM-DD; undefined before that day. */
  readonly updated: string | undefined;
  /** The references to this site. */
  readonly references: readonly Reference[];
  readonly metadata: ArticleMetadata;
}

/** Reads the HTML of an article from its file in the release. */
export type ReadHtml = (file: string) => string;

/** The metadata for lists and checks, in plain JSON, with lines of the source file. */
export interface ArticleMetadata {
  /** The hashes of its file and encodings; undefined if only checked. */
  readonly encodings?: { compression: Compression; identity: string; gz: string; br: string } | undefined;
  readonly category: string;
  /** The front matter, without fields that have a problem. */
  readonly fields: Partial<FrontMatter>;
  /** The positions of these fields. */
  readonly places: Readonly<Partial<Record<keyof FrontMatter, Position>>>;
  readonly aliasPlaces: readonly Position[];
  /** The day of publication, YYYY-MM-DD; undefined without a date, or with invalid front matter. */
  readonly due?: string | undefined;
  readonly item: ListedArticle;
  readonly headings: readonly string[];
  /** The number of characters of the text between the headings, without code blocks. */
  readonly textLength: number;
  readonly codeLength: number;
  /** Pictures of this site, with the sizes written into the HTML. */
  readonly pictures: readonly { readonly path: string; readonly size?: Size | undefined }[];
  readonly references: readonly Reference[];
  readonly ids: readonly string[];
  readonly findings: readonly Finding[];
}

/** Collects the metadata of a rendered article. */
export function toMetadata(
  { collection, category, path }: { collection: AnyCollection; category: string; path: string },
  { value, fields = {}, findings, place, bodyLine }: SourceArticle<FrontMatter>,
  rendered: Rendered,
  sizes: PictureSizes,
): ArticleMetadata {
  const { date, updated, aliases = [] } = fields;
  const toFileLine = <Item extends Position>(item: Item): Item => ({ ...item, line: item.line + bodyLine - 1 });
  const { headings, text, code } = toPlainText(rendered.html);
  const hint = 'write the day of the last change, or remove the line';
  const mistake = { severity: 'warning', ...place(['updated']), message: '"updated" is before "date"', hint } as const;
  const metadata: ArticleMetadata = {
    category,
    fields,
    places: Object.fromEntries(Object.keys(fields).map((name) => [name, place([name])])),
    aliasPlaces: aliases.map((_, index) => place(['aliases', index])),
    due: value?.date,
    item: value ? collection.toListed(value, { path, category, words: rendered.words }) : { path },
    headings,
    textLength: text.length,
    codeLength: code.length,
    pictures: rendered.pictures.map(({ path: picture }) => ({ path: picture, size: sizes.get(picture) })),
    references: rendered.references.map(toFileLine),
    ids: rendered.ids,
    findings: [
      ...findings,
      ...(date !== undefined && updated !== undefined && updated < date ? [mistake] : []),
      ...rendered.findings.map(toFileLine),
    ],
  };
  // A copy: V8's substrings would keep the whole article text in memory.
  return JSON.parse(JSON.stringify(metadata)) as ArticleMetadata;
}
