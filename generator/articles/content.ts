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

/** Groups the files of content/. Reports every file in a wrong folder or with a name that cannot be a path. */
export function groupContent(files: readonly SourceFile[], diagnostics: Diagnostics): Content {
  const categories = new Map<string, CategoryFolder | undefined>();
  const media = new Map<string, SourceFile>();
  for (const file of files) {
    const [top, ...rest] = file.path.split('/');
    const collection = collections.find(({ folder }) => folder === top);
    if (top === 'media') {
      if (isMedia(file, diagnostics)) media.set(`/${file.path}`, file);
    } else if (collection && rest.length === 2) {
      const key = `${top}/${rest[0]}`;
      if (!categories.has(key)) {
        const isValid = checkSlug(rest[0]!, file, diagnostics);
        categories.set(key, isValid ? { collection, slug: rest[0]!, articles: [] } : undefined);
      }
      const category = categories.get(key);
      if (category) addToCategory(category, file, diagnostics);
    } else if (!ownFiles.includes(file.path)) {
      const similar = rest.length === 0 ? suggest(file.path, [authorsFile, removedFile]) : undefined;
      const place = file.path.endsWith('.md')
        ? `articles are ${collections.map(({ folder }) => `${folder}/<category>/<slug>.md`).join(' or ')}`
        : 'images and other files for readers belong in media/';
      diagnostics.error(placeOf(file), 'this file is out of place', similar ?? place);
    }
  }
  return { categories: [...categories.values()].filter((category) => category !== undefined), media };
}

/** The name of a category that has none: its slug in title case. */
export function toTitleCase(slug: string): string {
  return slug
    .split('-')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join(' ')
    .trim();
}

function addToCategory(category: CategoryFolder, file: SourceFile, diagnostics: Diagnostics): void {
  const name = basename(file.path);
  if (name === 'category.yaml') {
    const checked = readYaml(file, articleSources.category, diagnostics);
    if (checked) category.name = checked.value.name;
  } else if (name.endsWith('.md')) {
    if (checkSlug(name.slice(0, -'.md'.length), file, diagnostics, '.md')) category.articles.push(file);
  } else if (/\.(?:md|markdown)$/i.test(name)) {
    const hint = renameTo(toSlug(basename(name, extname(name))), '.md');
    diagnostics.error(placeOf(file), 'the name of an article ends in .md', hint);
  } else if (suggest(name, ['category.yaml'])) {
    const message = 'the settings of a category are in category.yaml';
    diagnostics.error(placeOf(file), message, 'rename it to "category.yaml"');
  } else {
    const hint = 'images and other files for readers belong in media/';
    diagnostics.error(placeOf(file), 'this file is out of place', hint);
  }
}

/** Checks the slug of a category, or of an article whose name ends in `ending`. */
function checkSlug(slug: string, file: SourceFile, diagnostics: Diagnostics, ending = ''): boolean {
  const { success, error } = Slug.safeParse(slug);
  if (success) return true;
  diagnostics.error(placeOf(file), `"${slug}" ${error.issues[0]!.message}`, renameTo(toSlug(slug), ending));
  return false;
}

function isMedia(file: SourceFile, diagnostics: Diagnostics): boolean {
  const { success } = MediaPath.safeParse(`/${file.path}`);
  const type = extname(file.path);
  const isSupported = Object.hasOwn(mediaTypes, type.slice(1));
  if (!success) {
    const message = 'a media path may contain only letters, digits, dots, hyphens and underscores';
    diagnostics.error(placeOf(file), message, renameMedia(file.path));
  } else if (!isSupported) {
    const lower = type.toLowerCase();
    const hint = Object.hasOwn(mediaTypes, lower.slice(1))
      ? renameTo(basename(file.path, type), lower)
      : `use ${Object.keys(mediaTypes).join(', ')}`;
    diagnostics.error(placeOf(file), `"${type}" is not a media type`, hint);
  }
  return success && isSupported;
}

/** Says how to name the first folder of a media path that cannot be in it, or else the file. */
function renameMedia(path: string): string | undefined {
  const folder = dirname(path)
    .split('/')
    .find((name) => !MediaPath.safeParse(`/media/${name}`).success);
  if (folder === undefined) return renameTo(toSlug(basename(path, extname(path))), extname(path).toLowerCase());
  return toSlug(folder) && `rename the folder "${folder}" to "${toSlug(folder)}"`;
}
