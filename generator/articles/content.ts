import { basename, dirname, extname } from 'node:path';
import { articleSources, mediaTypes } from '#contract/articles.ts';
import { MediaPath, Slug } from '#contract/primitives.ts';
import type { Diagnostics } from '../source/diagnostics.ts';
import { placeOf } from '../source/load.ts';
import type { SourceFile } from '../source/load.ts';
import { renameTo, toSlug } from '../source/slug.ts';
import { suggest } from '../common/suggest.ts';
import { authorsFile, readYaml, removedFile } from '../source/yaml.ts';
import { collections } from './collections.ts';
import type { AnyCollection } from './collections.ts';

/** A folder of articles. */
export interface CategoryFolder {
  readonly collection: AnyCollection;
  readonly slug: string;
  /** The name in its category.yaml, if there is one. */
  name?: string;
  readonly articles: SourceFile[];
}

/** The files of content/ by category and kind; only category.yaml files were read. */
export interface Content {
  readonly categories: readonly CategoryFolder[];
  /** Media by site path. */
  readonly media: ReadonlyMap<string, SourceFile>;
}

/** The files of content/ that are not in a folder. */
const ownFiles: readonly string[] = ['README.md', authorsFile, removedFile];

const misplaced = 'this file is out of place';
const inMedia = 'images and other files for readers belong in media/';

/** Groups the files of content/. Reports every file in a wrong folder or with a name that cannot be a path. */
export function groupContent(files: readonly SourceFile[], diagnostics: Diagnostics): Content {
  const categories = new Map<string, CategoryFolder | undefined>();
  const media = new Map<string, SourceFile>();
  const fail = (file: SourceFile, message: string, hint: string | undefined): void =>
    diagnostics.error(placeOf(file), message, hint);

  /** Checks the slug of a category, or of an article whose name ends in `ending`. */
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
      fail(file, 'the name of an article ends in .md', renameTo(toSlug(basename(name, extname(name))), '.md'));
    } else if (suggest(name, ['category.yaml'])) {
      fail(file, 'the settings of a category are in category.yaml', 'rename it to "category.yaml"');
    } else {
      fail(file, misplaced, inMedia);
    }
  };
  const addMedia = (file: SourceFile): void => {
    const type = extname(file.path);
    const lower = type.toLowerCase();
    if (!MediaPath.safeParse(`/${file.path}`).success) {
      const message = 'a media path may contain only letters, digits, dots, hyphens and underscores';
      fail(file, message, renameMedia(file.path));
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
        categories.set(key, checkSlug(slug, file) ? { collection, slug, articles: [] } : undefined);
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
  return { categories: [...categories.values()].filter((category) => category !== undefined), media };
}

/** The site path of an article. */
export const pathOf = ({ path }: SourceFile): string => `/${path.slice(0, -'.md'.length)}`;

/** The name of a category that has none: its slug in title case. */
export function toTitleCase(slug: string): string {
  return slug
    .split('-')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join(' ')
    .trim();
}

/** Says how to name the first folder of a media path that cannot be in it, or else the file. */
function renameMedia(path: string): string | undefined {
  const folder = dirname(path)
    .split('/')
    .find((name) => !MediaPath.safeParse(`/media/${name}`).success);
  if (folder === undefined) return renameTo(toSlug(basename(path, extname(path))), extname(path).toLowerCase());
  return toSlug(folder) && `rename the folder "${folder}" to "${toSlug(folder)}"`;
}
