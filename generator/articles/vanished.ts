import type { Aliases } from '#contract/content.ts';
import { findSimilar } from '../common/suggest.ts';
import type { Online } from '../release/online.ts';
import type { Diagnostics, Place } from '../source/diagnostics.ts';
import { displayIn, placeOf } from '../source/load.ts';
import { removedFile } from '../source/yaml.ts';
import type { Article } from './article.ts';
import { baseNameOf, whyUnpublished } from './checks.ts';

/** The paths of a build. */
export interface Paths {
  readonly articles: readonly Article[];
  readonly aliases: Aliases;
  /** The paths that are gone for good. */
  readonly removed: ReadonlyMap<string, Place>;
}

/** Reports the paths that are online, and neither in this build nor gone for good; returns whether there are any. */
export function checkVanished(
  { articles, aliases, removed }: Paths,
  online: Online,
  content: { readonly display: string },
  diagnostics: Diagnostics,
): boolean {
  const published = articles.filter(({ state }) => state === 'published');
  const next = { articles: new Map(published.map(({ path }) => [path, ''])), aliases };
  const vanished = findVanished(online, next, removed);
  if (vanished.length === 0) return false;
  if (vanished.length > 10 && vanished.length === online.articles.size + Object.keys(online.aliases).length) {
    const message = `none of the ${vanished.length} paths that are online is in this build`;
    const hint = 'if this is another site, build it: the next build compares with this one; else look at CONTENT_DIR';
    diagnostics.warning(placeOf(content), message, hint);
    return true;
  }
  const file = displayIn(content, removedFile);
  const unpublished = new Map(
    articles
      .filter(({ state }) => state !== 'published')
      .flatMap((article) =>
        [article.path, ...article.metadata.aliases.map(({ text }) => text)].map((path) => [path, article]),
      ),
  );
  const findSuccessor = createSuccessorSearch(published, online, vanished.length);
  for (const path of vanished) {
    const message = `${path} is online, and this build no longer has it`;
    const article = unpublished.get(path);
    if (article) {
      const { line, column } = article.metadata.publication;
      const hint = `if that is intended, add to ${file}: - ${path}`;
      diagnostics.warning(
        placeOf(article.file, line, column),
        `${message}: its article ${whyUnpublished(article)}`,
        hint,
      );
      continue;
    }
    const successor = findSuccessor(path);
    if (successor) {
      const line = successor.metadata.aliases.length > 0 ? `to its aliases: ${path}` : `here: aliases: [${path}]`;
      const hint = `if this article replaces it, add ${line}; if it is gone for good, add to ${file}: - ${path}`;
      diagnostics.warning(placeOf(successor.file), message, hint);
    } else {
      const moved = `if it moved, add to the front matter of its article: aliases: [${path}]`;
      diagnostics.warning(placeOf({ display: file }), message, `if it is gone for good, add here: - ${path}; ${moved}`);
    }
  }
  return true;
}

type OnlinePaths = Pick<Online, 'articles' | 'aliases'>;

/** The paths that are online, and neither in the next release nor gone for good. */
export function findVanished(online: OnlinePaths, next: OnlinePaths, removed: ReadonlyMap<string, unknown>): string[] {
  return [...online.articles.keys(), ...Object.keys(online.aliases)].filter(
    (path) => !next.articles.has(path) && !Object.hasOwn(next.aliases, path) && !removed.has(path),
  );
}

/** Reports paths that are said to be gone for good, and that this build has. */
export function checkRemoved({ articles, aliases, removed }: Paths, diagnostics: Diagnostics): void {
  if (removed.size === 0) return;
  const byPath = new Map(articles.map((article) => [article.path, article]));
  for (const [path, place] of removed) {
    const target = Object.hasOwn(aliases, path) ? byPath.get(aliases[path]!) : undefined;
    const reason = target
      ? `an alias in ${target.file.display}`
      : byPath.get(path)?.state === 'published' && 'an article';
    if (reason) diagnostics.warning(place, `${path} is ${reason}`, 'remove this line');
  }
}

/** More comparisons of names would take seconds. */
const maxComparisons = 1_000_000;

/**
 * Creates a search for the article that replaces a vanished path: the target of the alias, else an article that is not
 * online yet and has the same name, the same title or a similar name.
 */
function createSuccessorSearch(published: readonly Article[], { articles, aliases }: Online, vanished: number) {
  const byPath = new Map(published.map((article) => [article.path, article]));
  const added = published.filter(({ path }) => !articles.has(path));
  const byName = new Map(added.map((article) => [keyOf(article.path, baseNameOf(article.path)), article]));
  const byTitle = new Map(added.map((article) => [keyOf(article.path, article.metadata.title), article]));
  return (path: string): Article | undefined => {
    const alias = Object.hasOwn(aliases, path) ? byPath.get(aliases[path]!) : undefined;
    const same =
      alias ?? byName.get(keyOf(path, baseNameOf(path))) ?? byTitle.get(keyOf(path, articles.get(path) ?? ''));
    if (same || added.length * vanished > maxComparisons) return same;
    const names = added.flatMap((article) => (kindOf(article.path) === kindOf(path) ? baseNameOf(article.path) : []));
    const similar = findSimilar(baseNameOf(path), names);
    return similar === undefined ? undefined : byName.get(keyOf(path, similar));
  };
}

/** An alias leads to an article of the same kind. */
const keyOf = (path: string, text: string): string => `${kindOf(path)} ${text}`;
const kindOf = (path: string): string => path.split('/', 2)[1]!;
