import type { AnyCollection, CommonFrontMatter, ListItem } from './collections/collection.ts';
import type { CategoryFolder } from './content.ts';
import type { Diagnostics } from '../source/diagnostics.ts';
import { parseFrontMatter } from '../source/front-matter.ts';
import type { SplitArticle } from '../source/front-matter.ts';
import { MarkdownError } from '../markdown/limits.ts';
import { placeOf, readText } from '../source/load.ts';
import type { SourceFile } from '../source/load.ts';
import type { Rendered } from '../markdown/render.ts';
import type { Reference } from '../markdown/plugins/rehype-links.ts';
import { fileOf } from '#contract/resources.ts';
import type { Compression } from '../release/compress.ts';
import type { Checked } from '../source/yaml.ts';

/**
 * What is known of an article without its text: all that lists and checks need. Plain JSON, so that a later build can
 * take it up where the source file has not changed. Lines and columns are those of the file.
 */
export interface Outline {
  /** The SHA-256 of its file in a release and of the compressed forms; undefined where these were not asked for. */
  readonly forms?: FormHashes | undefined;
  /** The display name of its category. */
  readonly category: string;
  /** The same as its front matter gives it, if it does. */
  readonly declared?: Located | undefined;
  readonly draft: boolean;
  /** The day from which it is published, where it has one. */
  readonly due?: string | undefined;
  readonly item: ListItem;
  readonly aliases: readonly Located[];
  /** Media that the front matter shows. */
  readonly media: readonly Located[];
  /** Links and images that lead to this site. */
  readonly references: readonly Reference[];
  /** The ids that links can lead to. */
  readonly ids: readonly string[];
}

/** Proves the file of an article. */
export interface FormHashes {
  readonly compression: Compression;
  readonly identity: string;
  readonly gz: string;
  readonly br: string;
}

/** A text of the front matter, and where it stands. */
export interface Located {
  readonly text: string;
  readonly line: number;
  readonly column: number;
}

/** An article in this build. */
export interface Article {
  readonly folder: CategoryFolder;
  readonly file: SourceFile;
  /** `/blog/<category>/<slug>` or `/knowledgebase/<category>/<slug>`. */
  readonly path: string;
  /** The path of its file in a release. */
  readonly output: string;
  /** One that is broken has no sound front matter: it is only there to be checked. */
  readonly state: 'published' | 'draft' | 'scheduled' | 'broken';
  readonly outline: Outline;
}

/** An article whose file was opened: it is known from an earlier build, or its front matter was read. */
export interface OpenedArticle {
  readonly file: SourceFile;
  readonly known: Outline | undefined;
  readonly parsed: Parsed | undefined;
}

/** An article's front matter, where it is sound, and its Markdown. */
type Parsed = SplitArticle<CommonFrontMatter>;

/** A category whose articles were opened, and the display name that they agree on. */
export interface OpenedCategory {
  readonly folder: CategoryFolder;
  readonly name: string;
  readonly articles: readonly OpenedArticle[];
}

/**
 * Opens the articles of a category, and reads those that are not known. Reports what is broken, and leaves it out.
 */
export function openCategory(
  folder: CategoryFolder,
  read: (file: SourceFile) => Outline | undefined,
  diagnostics: Diagnostics,
): OpenedCategory {
  const articles = folder.articles.flatMap((file): OpenedArticle[] => {
    const known = read(file);
    const parsed = known ? undefined : parseArticle(file, folder.collection, diagnostics);
    return known || parsed ? [{ file, known, parsed }] : [];
  });
  return { folder, name: nameOf(folder, articles, diagnostics), articles };
}

/** Reads the front matter of an article. Reports what is broken; returns undefined where there is nothing to go on with. */
export function parseArticle(
  file: SourceFile,
  { frontMatter }: AnyCollection,
  diagnostics: Diagnostics,
): Parsed | undefined {
  const text = readText(file, diagnostics);
  return text === undefined ? undefined : parseFrontMatter(text, frontMatter, file.display, diagnostics);
}

function declaredBy({ known, parsed }: OpenedArticle): Located | undefined {
  if (!parsed) return known?.declared;
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
  return (
    name ??
    folder.slug
      .split('-')
      .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
      .join(' ')
      .trim()
  );
}

/** Where an article of a category stands in the site. */
export function addressOf({ collection, slug: category }: CategoryFolder, file: SourceFile) {
  const slug = file.path.slice(file.path.lastIndexOf('/') + 1, -'.md'.length);
  return {
    path: `/${collection.folder}/${category}/${slug}`,
    output: fileOf(collection.articleResource, { category, slug }),
  };
}

/** Places an article in a build of the day `now`, YYYY-MM-DD. */
export function toArticle(folder: CategoryFolder, file: SourceFile, outline: Outline, now: string): Article {
  const { draft, due } = outline;
  const state = draft ? 'draft' : due !== undefined && due > now ? 'scheduled' : 'published';
  const { path, output } = addressOf(folder, file);
  return { folder, file, path, output, state, outline };
}

/** Makes the outline of an article whose body was rendered. Without front matter it holds what the body tells. */
export function toOutline(
  { folder, name }: Pick<OpenedCategory, 'folder' | 'name'>,
  file: SourceFile,
  parsed: Parsed,
  rendered: Rendered,
): Outline {
  const { collection } = folder;
  const { frontMatter, bodyLine } = parsed;
  const { path } = addressOf(folder, file);
  const outline: Outline = {
    category: name,
    draft: false,
    item: { path },
    aliases: [],
    media: [],
    references: rendered.references.map((reference) => ({ ...reference, line: reference.line + bodyLine - 1 })),
    ids: rendered.ids,
    ...(frontMatter && {
      declared: declaredBy({ file, known: undefined, parsed }),
      draft: frontMatter.value.draft ?? false,
      due: collection.dueOn(frontMatter.value),
      item: collection.toItem(frontMatter.value, { path, category: name, words: rendered.words }),
      aliases: (frontMatter.value.aliases ?? []).map((alias, at) => locate(frontMatter, alias, ['aliases', at])),
      media: Object.entries(collection.media(frontMatter.value)).map(([field, text]) =>
        locate(frontMatter, text, [field]),
      ),
    }),
  };
  // A copy: parts of a text, as V8 makes them, keep the whole text in memory, and an outline outlives its article.
  return JSON.parse(JSON.stringify(outline)) as Outline;
}

function locate({ place }: Checked<CommonFrontMatter>, text: string, field: readonly PropertyKey[]): Located {
  const { line, column } = place(field);
  return { text, line, column };
}

/** Renders the body of an article. Reports one that cannot be rendered or is empty, and then returns undefined. */
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
