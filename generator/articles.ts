import { MarkdownError } from './limits.ts';
import type { Rendered } from './markdown.ts';
import type { CategoryFolder } from './content.ts';
import type { AnyCollection, CommonFrontMatter } from './collections/collection.ts';
import type { Diagnostics, Place } from './diagnostics.ts';
import { parseFrontMatter } from './front-matter.ts';
import { placeOf, readText } from './load.ts';
import type { SourceFile } from './load.ts';
import type { Checked } from './yaml.ts';

/** An article without its text: all that lists and checks need. */
export interface Article {
  readonly collection: AnyCollection;
  readonly path: string;
  readonly file: SourceFile;
  readonly state: 'published' | 'draft' | 'scheduled';
  /** The day on which a scheduled article is published. */
  readonly due: string | undefined;
  readonly item: { path: string };
  readonly aliases: readonly Located[];
  /** Media that the front matter shows. */
  readonly media: readonly Located[];
  readonly references: readonly (Rendered['references'][number] & { place: Place })[];
  readonly ids: ReadonlySet<string>;
}

/** A path that an article names, and where. */
export interface Located {
  readonly path: string;
  readonly place: Place;
}

/** An article and its text, as it is published. */
export interface Compiled {
  readonly article: Article;
  readonly params: { category: string; slug: string };
  readonly text: { body: string; html: string };
}

/** What the compilation of articles needs. */
export interface CompileOptions {
  /** The day of the build, YYYY-MM-DD. */
  readonly now: string;
  readonly diagnostics: Diagnostics;
  readonly render: (markdown: string, sitePath: string) => Rendered;
}

type Parsed = { file: SourceFile; frontMatter: Checked<CommonFrontMatter>; body: string; bodyLine: number };

/**
 * Compiles the articles of one category, one at a time, so that never more than one category's texts are in memory.
 * What is broken is reported and left out.
 */
export function* compileCategory(folder: CategoryFolder, options: CompileOptions): Generator<Compiled> {
  const { collection } = folder;
  const parsed = folder.articles.flatMap((file): Parsed[] => {
    const text = readText(file, options.diagnostics);
    if (text === undefined) return [];
    const split = parseFrontMatter(text, collection.frontMatter, file.display, options.diagnostics);
    return split ? [{ file, ...split }] : [];
  });
  const category = nameOf(folder, parsed, options.diagnostics);
  for (const article of parsed) {
    const compiled = compileArticle(folder, article, category, options);
    if (compiled) yield compiled;
  }
}

function nameOf(folder: CategoryFolder, parsed: readonly Parsed[], diagnostics: Diagnostics): string {
  let { name } = folder;
  let source = 'category.yaml';
  for (const { file, frontMatter } of parsed) {
    const { category } = frontMatter.value;
    if (category === undefined) continue;
    if (name === undefined) {
      name = category;
      source = file.display;
    } else if (category !== name) {
      const place = frontMatter.place(['category']);
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

function compileArticle(
  folder: CategoryFolder,
  parsed: Parsed,
  category: string,
  options: CompileOptions,
): Compiled | undefined {
  const { collection } = folder;
  const { file, frontMatter, body, bodyLine } = parsed;
  const { value, place } = frontMatter;
  const slug = file.path.slice(file.path.lastIndexOf('/') + 1, -'.md'.length);
  const path = `/${collection.folder}/${folder.slug}/${slug}`;
  const rendered = renderBody(parsed, path, options);
  if (!rendered) return undefined;
  const due = collection.dueOn(value);
  const article: Article = {
    collection,
    path,
    file,
    state: value.draft ? 'draft' : due !== undefined && due > options.now ? 'scheduled' : 'published',
    due,
    item: collection.toItem(value, { path, category, words: rendered.words }),
    aliases: (value.aliases ?? []).map((alias, index) => ({ path: alias, place: place(['aliases', index]) })),
    media: Object.entries(collection.media(value)).map(([field, url]) => ({ path: url, place: place([field]) })),
    references: rendered.references.map((reference) => ({
      ...reference,
      place: placeOf(file, reference.line + bodyLine - 1, reference.column),
    })),
    ids: new Set(rendered.ids),
  };
  return { article, params: { category: folder.slug, slug }, text: { body, html: rendered.html } };
}

function renderBody(
  { file, body, bodyLine }: Parsed,
  path: string,
  { render, diagnostics }: CompileOptions,
): Rendered | undefined {
  try {
    const rendered = render(body, path);
    if (rendered.html !== '') return rendered;
    diagnostics.error(placeOf(file, bodyLine), 'the article has no text');
  } catch (error) {
    if (!(error instanceof MarkdownError)) throw error;
    diagnostics.error(placeOf(file, bodyLine + error.line - 1), error.message, error.hint);
  }
  return undefined;
}
