import type { Aliases } from '#contract/content.ts';
import type { Article } from './article.ts';
import type { CompiledCategory } from './category.ts';
import type { CategoryFolder, Content } from './content.ts';
import { suggest } from '../common/suggest.ts';

/** What a site is made of. */
export interface SiteParts {
  readonly categories: readonly CompiledCategory[];
  readonly content: Content;
  readonly aliases: Aliases;
}

/** All that the references of articles are checked against. */
export interface Site {
  readonly parts: SiteParts;
  /** Finds an article by its path, or by a former one. */
  readonly find: (path: string) => Article | undefined;
  readonly hasFolder: (path: string) => boolean;
  /** Whether there is a source file for an article of this path, though it may not be one that can be compiled. */
  readonly hasSource: (path: string) => boolean;
  /** Suggests a path for one that leads nowhere: one of that name in another folder, or of a like name in the same. */
  readonly suggest: (path: string) => string | undefined;
}

/** Puts together what the articles of a build can refer to. */
export function createSite(parts: SiteParts): Site {
  const { categories, content, aliases } = parts;
  const byPath = new Map(
    categories.flatMap(({ articles }) => articles.map((article) => [article.path, article] as const)),
  );
  const folders = new Set(
    content.categories.flatMap(({ collection, slug }) => [`/${collection.folder}`, `/${collection.folder}/${slug}`]),
  );
  let sources: Set<string> | undefined;
  return {
    parts,
    find: (path) => byPath.get(aliases[path] ?? path),
    hasFolder: (path) => folders.has(path.replace(/\/$/, '')),
    hasSource(path) {
      sources ??= new Set(content.categories.flatMap((category) => category.articles.map((file) => file.path)));
      return sources.has(`${path.slice(1)}.md`);
    },
    suggest: createSuggester(() => [...content.media.keys(), ...byPath.keys(), ...Object.keys(aliases)]),
  };
}

/** Whether the same references lead to the same in two sites, so that what was found in one holds for the other. */
export function isSameSite(one: SiteParts, other: SiteParts): boolean {
  return (
    isEach(one.categories, other.categories, hasSameTargets) &&
    isEach(one.content.categories, other.content.categories, isSameFolder) &&
    isEach([...one.content.media.keys()], [...other.content.media.keys()], Object.is) &&
    JSON.stringify(one.aliases) === JSON.stringify(other.aliases)
  );
}

function hasSameTargets(one: CompiledCategory, other: CompiledCategory): boolean {
  return one === other || isEach(one.articles, other.articles, isSameTarget);
}

function isSameTarget(one: Article, other: Article): boolean {
  if (one === other) return true;
  if (one.path !== other.path || one.state !== other.state) return false;
  const { ids, due } = one.outline;
  return one.outline === other.outline || (due === other.outline.due && isEach(ids, other.outline.ids, Object.is));
}

function isSameFolder(one: CategoryFolder, other: CategoryFolder): boolean {
  if (one === other) return true;
  if (one.collection !== other.collection || one.slug !== other.slug) return false;
  return isEach(one.articles, other.articles, (file, before) => file.path === before.path);
}

function isEach<Item>(one: readonly Item[], other: readonly Item[], isSame: (a: Item, b: Item) => boolean): boolean {
  return one.length === other.length && one.every((item, index) => isSame(item, other[index]!));
}

function createSuggester(list: () => readonly string[]): (path: string) => string | undefined {
  let index: { byName: Map<string, string[]>; byFolder: Map<string, string[]> } | undefined;
  const hints = new Map<string, string | undefined>();
  const find = (written: string): string | undefined => {
    const path = written.replace(/\/$/, '');
    const paths = index ? [] : list();
    index ??= { byName: Map.groupBy(paths, nameOf), byFolder: Map.groupBy(paths, folderOf) };
    const moved = index.byName.get(nameOf(path));
    if (moved?.length === 1) return `did you mean "${moved[0]}"?`;
    const folder = folderOf(path);
    const names = (index.byFolder.get(folder) ?? []).map(nameOf);
    return suggest(nameOf(path), names)?.replace('"', `"${folder}/`);
  };
  return (path) => {
    if (!hints.has(path)) hints.set(path, find(path));
    return hints.get(path);
  };
}

const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);
const folderOf = (path: string): string => path.slice(0, path.lastIndexOf('/'));
