import { basename, extname } from 'node:path';
import { Category, mediaTypes } from '#contract/content.ts';
import { MediaPath, Slug } from '#contract/primitives.ts';
import { collections } from './collections/index.ts';
import type { AnyCollection } from './collections/collection.ts';
import type { Diagnostics } from '../source/diagnostics.ts';
import { placeOf, readText } from '../source/load.ts';
import type { SourceFile } from '../source/load.ts';
import { suggest } from '../common/suggest.ts';
import { removedFile } from '../source/removed.ts';
import { checkYaml } from '../source/yaml.ts';

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

/** Groups the files of content/. Reports every file in a wrong folder or with a name that cannot be a path. */
export function groupContent(files: readonly SourceFile[], diagnostics: Diagnostics): Content {
  const categories = new Map<string, CategoryFolder>();
  const media = new Map<string, SourceFile>();
  for (const file of files) {
    const [top, ...rest] = file.path.split('/');
    const collection = collections.find(({ folder }) => folder === top);
    if (top === 'media') {
      if (isMedia(file, diagnostics)) media.set(`/${file.path}`, file);
    } else if (collection && rest.length === 2) {
      const key = `${top}/${rest[0]}`;
      let category = categories.get(key);
      if (!category && checkSlug(rest[0]!, file, diagnostics)) {
        category = { collection, slug: rest[0]!, articles: [] };
        categories.set(key, category);
      }
      if (category) addToCategory(category, file, diagnostics);
    } else if (file.path !== 'README.md' && file.path !== removedFile) {
      const similar = rest.length === 0 ? suggest(file.path, [removedFile]) : undefined;
      const place = file.path.endsWith('.md')
        ? `articles are ${collections.map(({ folder }) => `${folder}/<category>/<slug>.md`).join(' or ')}`
        : 'images and other files for readers belong in media/';
      diagnostics.error(placeOf(file), 'this file is out of place', similar ?? place);
    }
  }
  return { categories: [...categories.values()], media };
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
    const text = readText(file, diagnostics);
    const checked = text === undefined ? undefined : checkYaml(text, Category, file.display, diagnostics);
    if (checked) category.name = checked.value.name;
  } else if (!name.endsWith('.md')) {
    const hint = suggest(name, ['category.yaml']) ?? 'images and other files for readers belong in media/';
    diagnostics.error(placeOf(file), 'this file is out of place', hint);
  } else if (checkSlug(name.slice(0, -'.md'.length), file, diagnostics)) {
    category.articles.push(file);
  }
}

function checkSlug(slug: string, file: SourceFile, diagnostics: Diagnostics): boolean {
  const { success, error } = Slug.safeParse(slug);
  if (success) return true;
  const suggestion = slug
    .normalize('NFKD')
    .toLowerCase()
    .replace(/\p{M}/gu, '')
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');
  const hint = suggestion && `rename it to "${suggestion}"`;
  diagnostics.error(placeOf(file), `"${slug}" ${error.issues[0]!.message}`, hint);
  return false;
}

function isMedia(file: SourceFile, diagnostics: Diagnostics): boolean {
  const { success } = MediaPath.safeParse(`/${file.path}`);
  const isSupported = Object.hasOwn(mediaTypes, extname(file.path).slice(1));
  if (!success) {
    diagnostics.error(placeOf(file), 'a media path may contain only letters, digits, dots, hyphens and underscores');
  } else if (!isSupported) {
    diagnostics.error(
      placeOf(file),
      `"${extname(file.path)}" is not a media type`,
      `use ${Object.keys(mediaTypes).join(', ')}`,
    );
  }
  return success && isSupported;
}
