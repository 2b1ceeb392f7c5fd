import type { Aliases } from '#contract/content.ts';
import type { Article } from './article.ts';
import type { Content } from './content.ts';
import type { PictureSizes } from './media.ts';
import type { Size } from '../source/media/facts.ts';
import { suggest } from '../common/suggest.ts';

/** The parts of a site. */
export interface SiteParts {
  readonly articles: readonly Article[];
  readonly content: Content;
  readonly aliases: Aliases;
  readonly pictures: PictureSizes;
}

/** The targets that references of articles may have. */
export interface Site {
  readonly hasMedia: (path: string) => boolean;
  /** The size of a picture, if it is known. */
  readonly sizeOf: (path: string) => Size | undefined;
  /** Finds an article by its path or a former path. */
  readonly find: (path: string) => Article | undefined;
  readonly hasFolder: (path: string) => boolean;
  /** Whether an article of this path has a source file, even one that does not compile. */
  readonly hasSource: (path: string) => boolean;
  /** Suggests a path for a dead one: the same name in another folder, or a similar name in the same folder. */
  readonly suggest: (path: string) => string | undefined;
}

/** Creates the index of all targets of a build. */
export function createSite(parts: SiteParts): Site {
  const { articles, content, aliases, pictures } = parts;
  const byPath = new Map(articles.map((article) => [article.path, article]));
  const folders = new Set(
    content.categories.flatMap(({ collection, slug }) => [`/${collection.folder}`, `/${collection.folder}/${slug}`]),
  );
  let sources: Set<string> | undefined;
  return {
    hasMedia: (path) => content.media.has(path),
    sizeOf: (path) => pictures.get(path),
    find: (path) => byPath.get(aliases[path] ?? path),
    hasFolder: (path) => folders.has(path.replace(/\/$/, '')),
    hasSource(path) {
      sources ??= new Set(content.categories.flatMap((category) => category.articles.map((file) => file.path)));
      return sources.has(`${path.slice(1)}.md`);
    },
    suggest: createSuggester(() => [...content.media.keys(), ...byPath.keys(), ...Object.keys(aliases)]),
  };
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
