import type { Aliases } from '#contract/content.ts';
import type { Article } from './articles.ts';
import type { Content } from './content.ts';
import type { Diagnostics, Place } from './diagnostics.ts';
import { placeOf } from './load.ts';
import { idPrefix, toSafeId } from './plugins/rehype-heading-ids.ts';
import { suggest } from './suggest.ts';

/** Checks every link, anchor, image and cover of the articles against what the release will hold. */
export function checkReferences(
  articles: readonly Article[],
  content: Content,
  aliases: Aliases,
  diagnostics: Diagnostics,
): void {
  const byPath = new Map(articles.map((article) => [article.path, article]));
  const nearby = createSuggester(() => [...content.media.keys(), ...byPath.keys(), ...Object.keys(aliases)]);
  // An article that could not be compiled is a problem of its own, not of those who link to it.
  let sources: Set<string> | undefined;
  const isBroken = (path: string): boolean => {
    sources ??= new Set(content.categories.flatMap((category) => category.articles.map((file) => file.path)));
    return sources.has(`${path.slice(1)}.md`);
  };
  const folders = new Set(
    content.categories.flatMap(({ collection, slug }) => [`/${collection.folder}`, `/${collection.folder}/${slug}`]),
  );
  for (const article of articles) {
    const { file, outline } = article;
    for (const { text: path, line, column } of outline.media) {
      if (content.media.has(path)) continue;
      diagnostics.deadReference(placeOf(file, line, column), `there is no ${path} in content/`, () => nearby(path));
    }
    // A draft is work in progress: what it leads to need not be there yet.
    if (article.state === 'draft') continue;
    for (const { path, id, url, line, column } of outline.references) {
      const place = placeOf(file, line, column);
      if (path === undefined) {
        diagnostics.deadReference(place, `the link "${url}" leads out of content/`);
      } else if (path.startsWith('/media/')) {
        if (!content.media.has(path))
          diagnostics.deadReference(place, `there is no ${path} in content/`, () => nearby(path));
      } else if (isArticlePath(path)) {
        const target = byPath.get(aliases[path] ?? path);
        if (target) checkTarget(article, target, id, place, diagnostics);
        else if (!folders.has(path.replace(/\/$/, '')) && !isBroken(path)) {
          diagnostics.deadReference(place, `there is no article ${path}`, () => nearby(path));
        }
      }
    }
  }
}

/** Suggests a path that was moved to another folder, or one of a like name in the same folder. */
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

function isArticlePath(path: string): boolean {
  return /^\/(?:blog|knowledgebase)(?:\/|$)/.test(path);
}

function checkTarget(from: Article, target: Article, id: string, place: Place, diagnostics: Diagnostics): void {
  const { ids } = target.outline;
  if (target.state !== 'published' && from.state === 'published') {
    const reason = target.state === 'draft' ? 'is a draft' : `is not published before ${target.outline.due}`;
    diagnostics.deadReference(place, `the article ${target.path} ${reason}`);
  } else if (id !== '' && id !== toSafeId('top') && !ids.includes(id)) {
    const anchor = id.replace(idPrefix, '');
    const findHint = (): string | undefined => {
      // The sanitiser prefixes the ids of raw HTML, which a link from another article has to name in full.
      if (ids.includes(idPrefix + id)) return `write #${idPrefix}${id}`;
      return suggest(
        anchor,
        ids.map((known) => known.replace(idPrefix, '')),
      );
    };
    diagnostics.deadReference(place, `there is no heading or anchor #${anchor} in ${target.path}`, findHint);
  }
}

/** Collects the former paths of published articles. Reports one that is taken, by an article or another alias. */
export function collectAliases(articles: readonly Article[], diagnostics: Diagnostics): Aliases {
  const taken = new Map(articles.map(({ path, file }) => [path, file.display]));
  const aliases = new Map<string, string>();
  for (const { path, outline, file, state } of articles) {
    for (const { text: alias, line, column } of outline.aliases) {
      const owner = taken.get(alias);
      if (owner !== undefined) {
        diagnostics.error(placeOf(file, line, column), `the alias ${alias} is taken by ${owner}`);
        continue;
      }
      taken.set(alias, file.display);
      if (state === 'published') aliases.set(alias, path);
    }
  }
  return Object.fromEntries([...aliases].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
