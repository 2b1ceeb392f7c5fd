import { basename, extname, posix } from 'node:path';
import type { z } from 'zod';
import { BlogFrontMatter, KnowledgeBaseFrontMatter, articleSources, mediaTypes } from '#contract/articles.ts';
import type { ContentItem, KnowledgeBaseSummary } from '#contract/articles.ts';
import type { StaticFileName } from '#contract/endpoints.ts';
import { MediaPath, Slug } from '#contract/primitives.ts';
import { compareNames, compareText } from '../source/diagnostics.ts';
import type { Diagnostics } from '../source/diagnostics.ts';
import type { SourceFile, SourceFolder } from '../source/load.ts';
import { renameTo, toSlug } from '../source/slug.ts';
import { suggest } from '../common/suggest.ts';
import { authorsFile, readYaml, removedFile } from '../source/yaml.ts';

/** The front matter of any kind of article. */
export type FrontMatter = KnowledgeBaseFrontMatter & Partial<Pick<BlogFrontMatter, 'date' | 'author' | 'cover'>>;

/** An article in a list. */
export type ListedArticle = Pick<ContentItem, 'path'>;

/** A kind of article: its folder, its front matter and its list items. */
interface Collection<Fields extends FrontMatter, Item extends ListedArticle> {
  /** Its folder in content/, and the first segment of its paths. */
  readonly folder: string;
  readonly frontMatter: z.ZodType<Fields>;
  readonly articleFile: StaticFileName;
  /** Makes the list item; an article has the same fields plus `body` and `html`. */
  toListed(frontMatter: Fields, context: { path: string; category: string; words: number }): Item;
  /** The order of lists; no two articles compare as equal. */
  compare(a: Item, b: Item): number;
}

/** Any kind of article. */
export type AnyCollection = Collection<FrontMatter, ListedArticle>;

const wordsPerMinute = 200;

/** The blog: dated articles with an author and a cover, newest first. */
export const blog: Collection<BlogFrontMatter, ContentItem> = {
  folder: 'blog',
  frontMatter: BlogFrontMatter,
  articleFile: 'getBlogArticle',
  toListed: ({ title, description, date, author, cover }, { path, category, words }) => ({
    title,
    description,
    path,
    category,
    date,
    author,
    readTime: `${Math.max(1, Math.ceil(words / wordsPerMinute))} min read`,
    cover,
  }),
  compare: (a, b) => compareText(b.date, a.date) || compareText(a.path, b.path),
};

/** The knowledge base: articles by title. */
export const knowledgeBase: Collection<KnowledgeBaseFrontMatter, KnowledgeBaseSummary> = {
  folder: 'knowledgebase',
  frontMatter: KnowledgeBaseFrontMatter,
  articleFile: 'getKnowledgeBaseArticle',
  toListed: ({ title, description }, { path, category }) => ({ title, description, path, category }),
  compare: (a, b) => compareNames(a.title, b.title) || compareText(a.path, b.path),
};

/** Every kind of article. */
export const collections: readonly AnyCollection[] = [blog, knowledgeBase];

/** A folder of articles; `name` is from its category.yaml. */
export interface CategoryFolder {
  readonly collection: AnyCollection;
  readonly slug: string;
  name?: string;
  readonly articles: SourceFile[];
}

/** The files of content/: articles by category, media by site path. */
export type ContentFiles = ReturnType<typeof groupContent>;

const ownFiles: readonly string[] = ['README.md', authorsFile, removedFile];

const misplaced = 'this file is out of place';
const inMedia = 'images and other files for readers belong in media/';

/** Groups the files of content/, and reads category.yaml files. Reports misplaced files and invalid names. */
export function groupContent({ files, refused: unread }: SourceFolder, diagnostics: Diagnostics) {
  const categories = new Map<string, CategoryFolder | undefined>();
  const media = new Map<string, SourceFile>();
  const refused = new Set<string>();
  const refuse = (path: string): void => {
    const written = `/${path.replace(/\.(?:md|markdown)$/i, '')}`;
    refused.add(written).add(written.replace(/[^/.]+/g, toSlug));
  };
  for (const path of unread) refuse(path);
  const fail = (file: SourceFile, message: string, hint?: string): void => {
    refuse(file.path);
    diagnostics.error(file, message, hint);
  };
  /** Checks whether a site path belongs to a refused file or folder, as written or with a valid name. */
  const isRefused = (path: string): boolean => refused.has(path) || (path !== '/' && isRefused(posix.dirname(path)));

  const checkSlug = (slug: string, file: SourceFile, ending = ''): boolean => {
    const { success, error } = Slug.safeParse(slug);
    if (!success) fail(file, `"${slug}" ${error.issues[0]!.message}`, renameTo(toSlug(slug), ending));
    return success;
  };
  const addToCategory = (category: CategoryFolder, file: SourceFile): void => {
    const name = basename(file.path);
    if (name === 'category.yaml') {
      const checked = readYaml(file, articleSources.category, diagnostics);
      if (checked) category.name = checked.value.name;
    } else if (name.endsWith('.md')) {
      if (checkSlug(name.slice(0, -'.md'.length), file, '.md')) category.articles.push(file);
    } else if (/\.(?:md|markdown)$/i.test(name)) {
      fail(file, 'the file name of an article must end in .md', renameTo(toSlug(basename(name, extname(name))), '.md'));
    } else if (suggest(name, ['category.yaml'])) {
      fail(file, 'the settings of a category belong in category.yaml', 'rename it to "category.yaml"');
    } else {
      fail(file, misplaced, inMedia);
    }
  };
  const addMedia = (file: SourceFile): void => {
    const type = extname(file.path);
    const lower = type.toLowerCase();
    if (!MediaPath.safeParse(`/${file.path}`).success) {
      const message = 'a media path may contain only letters, digits, dots, hyphens and underscores';
      const isNamed = MediaPath.safeParse(`/media/${basename(file.path)}`).success;
      fail(file, message, isNamed ? 'rename the folder' : renameTo(toSlug(basename(file.path, type)), lower));
    } else if (Object.hasOwn(mediaTypes, type.slice(1))) {
      media.set(`/${file.path}`, file);
    } else {
      const isKnown = Object.hasOwn(mediaTypes, lower.slice(1));
      const hint = isKnown ? renameTo(basename(file.path, type), lower) : `use ${Object.keys(mediaTypes).join(', ')}`;
      fail(file, `"${type}" is not a media type`, hint);
    }
  };

  for (const file of files) {
    const [top, slug = '', ...rest] = file.path.split('/');
    const collection = collections.find(({ folder }) => folder === top);
    if (top === 'media') {
      addMedia(file);
    } else if (collection && rest.length === 1) {
      const key = `${top}/${slug}`;
      if (!categories.has(key)) {
        const isValid = checkSlug(slug, file);
        if (!isValid) refuse(key);
        categories.set(key, isValid ? { collection, slug, articles: [] } : undefined);
      }
      const category = categories.get(key);
      if (category) addToCategory(category, file);
    } else if (!ownFiles.includes(file.path)) {
      const places = collections.map(({ folder }) => `${folder}/<category>/<slug>.md`).join(' or ');
      const place = file.path.endsWith('.md') ? `articles are ${places}` : inMedia;
      const similar = file.path === top ? suggest(top, [authorsFile, removedFile]) : undefined;
      fail(file, misplaced, similar ?? place);
    }
  }
  const valid = [...categories.values()].filter((category) => category !== undefined);
  return { categories: valid, media, isRefused, hasRefused: refused.size > 0 };
}

/** The site path of an article. */
export const sitePathOf = ({ path }: SourceFile): string => `/${path.slice(0, -'.md'.length)}`;

/** Converts a slug to title case, the default name of a category. */
export function toTitleCase(slug: string): string {
  return slug
    .split('-')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join(' ')
    .trim();
}
