import { distance } from 'fastest-levenshtein';
import type { Aliases, Authors } from '#contract/articles.ts';
import { findSimilar, suggest } from '../common/suggest.ts';
import { copyIt, findSitePath, idPrefix, toSafeId } from '../markdown/plugins/links.ts';
import type { Reference, ReferenceUse } from '../markdown/plugins/links.ts';
import type { Online } from '../release/online.ts';
import type { Diagnostics, Place } from '../source/diagnostics.ts';
import { displayIn, placeOf } from '../source/load.ts';
import type { PictureSizes } from '../source/media.ts';
import { authorsFile, removedFile } from '../source/yaml.ts';
import type { readAuthors } from '../source/yaml.ts';
import type { Article } from './article.ts';
import { pathOf } from './content.ts';
import type { Content } from './content.ts';
import { mediaKindOf } from './media.ts';

/** The site that a build makes: all that a reference can lead to. */
export interface Site {
  /** The day of the build, YYYY-MM-DD. */
  readonly now: string;
  readonly articles: readonly Article[];
  readonly content: Content;
  readonly aliases: Aliases;
  readonly pictures: PictureSizes;
  /** The entries of `authors.yaml`; undefined if it has an error, or does not exist. */
  readonly authors: ReturnType<typeof readAuthors>;
  /** The paths that are gone for good. */
  readonly removed: ReadonlyMap<string, Place>;
}

/** Reports why a reference is dead, with a hint or a search for a similar target. */
type ReportDead = (message: string, hint?: string | (() => string | undefined)) => void;

const mailbox = /^[\w.+-]+@[\w-]+(?:\.[\w-]+)+$/;
/** No name of an article has a dot. */
const host = /^(?:www\.|(?:[a-z0-9-]+\.)+(?:com|net|org|io|dev|app|eu|de|nl|fr|uk|us|ch|at|be|info)(?:[/?#]|$))/i;
const elsewhere = 'of another part of the website, write the whole address';

/** Lists and link previews cut other shapes off. */
const coverSize = { width: 1200, height: 630 };

/**
 * Checks that every link, anchor, image and cover of the articles and every picture of an author has a target in the
 * release, and that the authors of articles are in the list; and their dates, titles and categories.
 */
export function checkSite(site: Site, diagnostics: Diagnostics): void {
  const { articles, content, aliases, pictures, authors } = site;
  const byPath = new Map(articles.map((article) => [article.path, article]));
  const folders = new Set(
    content.categories.flatMap(({ collection, slug }) => [`/${collection.folder}`, `/${collection.folder}/${slug}`]),
  );
  /** The articles that have a source file, even one that does not compile. */
  const sources = new Set(content.categories.flatMap(({ articles: files }) => files.map(pathOf)));
  const suggestPath = createSuggester(() => [...content.media.keys(), ...byPath.keys(), ...Object.keys(aliases)]);
  const reportAt =
    (place: Place, isDraft = false): ReportDead =>
    (message, hint) => {
      const findHint = (): string | undefined =>
        (typeof hint === 'function' ? hint() : hint) ?? (isDraft ? 'until it exists, leave it out' : undefined);
      diagnostics.deadReference(place, message, findHint, isDraft);
    };

  const checkReference = (from: Article, { path, use, id, url }: Reference, dead: ReportDead): void => {
    if (url === '' && use === 'picture') return dead('the picture has no address', 'write it between the parentheses');
    const scheme = mailbox.test(url) ? 'mailto:' : host.test(url) && 'https://';
    if (scheme) return dead(`the link "${url}" has no scheme`, `write ${scheme}${url}`);
    if (/\\|%5C/i.test(url)) {
      const written = url.replace(/%5C/gi, '\\');
      return dead(`the address "${written}" has backslashes`, `write / instead; ${copyIt}`);
    }
    if (path === undefined) return checkOutside(url, dead);
    if (path.startsWith('/media/')) return checkMedia(path, use, dead);
    const similar = (): string | undefined => suggestPath(path);
    if (use === 'picture') return dead(`the image "${url}" is not in content/media/`, similar);
    if (!/^\/(?:blog|knowledgebase)(?:\/|$)/.test(path)) return undefined;
    const target = byPath.get(aliases[path] ?? path);
    if (target) return checkTarget(from, target, id, dead);
    // An article that does not compile is reported once, not again for each link to it.
    if (folders.has(path.replace(/\/$/, '')) || sources.has(path)) return undefined;
    return dead(`there is no article ${path}`, similar);
  };

  /** Checks an address below the root of the site that is no article and no file of content/media/. */
  const checkOutside = (url: string, dead: ReportDead): void => {
    const meant = findSitePath(url);
    if (meant !== undefined) return dead(`"${url}" works only on your computer`, `write ${meant}`);
    if (!url.startsWith('/')) return dead(`the link "${url}" leads out of content/`);
    const similar = (): string => suggestPath(url.replace(/\.md(?:[?#].*)?$/, '')) ?? elsewhere;
    return dead(`there is no file ${url} in content/`, similar);
  };

  const checkMedia = (path: string, use: ReferenceUse, dead: ReportDead): void => {
    if (!content.media.has(path)) return dead(`there is no ${path} in content/`, () => suggestPath(path));
    const kind = mediaKindOf(path);
    if (use === 'picture' && kind !== 'image') {
      const instead = kind === 'application' ? `[text](${path})` : `<${kind} src="${path}"></${kind}>`;
      dead(`${path} is not a picture`, `write ${instead}`);
    } else if (use === 'player' && kind !== 'video' && kind !== 'audio') {
      const instead = kind === 'image' ? `![what it shows](${path})` : `[text](${path})`;
      dead(`${path} is neither a video nor a sound`, `write ${instead}`);
    }
    return undefined;
  };

  /** Larger covers of the same shape are sharper, and vector pictures have no size. */
  const checkCover = (path: string, place: Place): void => {
    checkMedia(path, 'link', reportAt(place));
    if (!content.media.has(path)) return;
    if (mediaKindOf(path) !== 'image') diagnostics.error(place, 'the cover is not a picture', 'use a picture');
    const size = pictures.get(path);
    if (!size) return;
    const isLargeEnough = size.width >= coverSize.width || path.endsWith('.svg');
    const hasShape = Math.abs((size.width / size.height) * (coverSize.height / coverSize.width) - 1) < 0.01;
    if (isLargeEnough && hasShape) return;
    const message = `the cover is ${size.width} x ${size.height} pixels, not ${coverSize.width} x ${coverSize.height}`;
    diagnostics.warning(place, message, hasShape ? 'use a larger one' : 'crop it to that shape');
  };

  for (const article of articles) {
    const { file, metadata } = article;
    const { cover, placeholder, author, draft } = metadata;
    const at = ({ line, column }: { line: number; column: number }): Place => placeOf(file, line, column);
    if (cover) checkCover(cover.text, at(cover));
    for (const reference of metadata.references) checkReference(article, reference, reportAt(at(reference), draft));
    if (placeholder && !draft) {
      const hint = 'write one or two sentences for lists and search engines';
      diagnostics.warning(at(placeholder), 'the description is the one of the template', hint);
    }
    // A warning: an author may be missing, and a mistake in a name harms no reader.
    if (author && authors && !draft && !Object.hasOwn(authors.value, author.text)) {
      const message = `the author ${author.text} is not in ${authorsFile}`;
      diagnostics.warning(at(author), message, adviseAuthor(author.text, authors.value));
    }
  }
  for (const [name, { picture }] of Object.entries(authors?.value ?? {})) {
    if (picture !== undefined) checkMedia(picture, 'picture', reportAt(authors!.place([name, 'picture'])));
  }
  checkNames(site, diagnostics);
}

/** Warns of dates, titles and names of categories that are probably mistyped or copied. */
function checkNames({ articles, content, now }: Site, diagnostics: Diagnostics): void {
  const inTwoYears = `${Number(now.slice(0, 4)) + 2}${now.slice(4)}`;
  const byTitle = new Map<string, Article>();
  for (const article of articles) {
    const { path, file, metadata } = article;
    const { draft, due, publication, title, titlePlace } = metadata;
    if (draft) continue;
    if (due !== undefined && (due < '2000' || due > inTwoYears)) {
      const hint = 'write the day of publication, or draft: true until it is known';
      const when = due < '2000' ? 'before the year 2000' : 'more than two years ahead';
      diagnostics.warning(placeOf(file, publication.line, publication.column), `"date" is ${when}`, hint);
    }
    const key = `${folderOf(path)} ${title}`;
    const first = byTitle.get(key);
    byTitle.set(key, first ?? article);
    if (!first || title === '') continue;
    const message = `${first.file.display} has the same title`;
    diagnostics.warning(placeOf(file, titlePlace.line, titlePlace.column), message, 'say in one of them what differs');
  }
  for (const { collection, slug, name, articles: files } of content.categories) {
    if (name !== undefined || !files[0]) continue;
    const similar = content.categories.find((other) => {
      const isRarer = files.length < other.articles.length || (files.length === other.articles.length && other.name);
      // Short words are codes of languages and countries.
      const own = slug.split('-').find((word) => !other.slug.split('-').includes(word));
      return isRarer && other.collection === collection && own && own.length > 3 && distance(slug, other.slug) === 1;
    });
    if (!similar) continue;
    const hint = `move its articles to ${similar.slug}/, or say its name in category.yaml`;
    diagnostics.warning(placeOf(files[0]), `the category ${slug} is one letter from ${similar.slug}`, hint);
  }
}

/** Says how to write an author that is not in the list. */
export function adviseAuthor(author: string, authors: Authors): string | undefined {
  // YAML keys of these names are refused.
  return (
    suggest(author, Object.keys(authors)) ?? (author in {} ? undefined : `add there: ${JSON.stringify(author)}: {}`)
  );
}

function checkTarget(from: Article, target: Article, id: string, dead: ReportDead): void {
  const { ids } = target.metadata;
  if (from.state === 'published' && (target.state === 'draft' || target.state === 'scheduled')) {
    return dead(`the article ${target.path} ${whyUnpublished(target)}`);
  }
  if (id === '' || id === toSafeId('top') || ids.includes(id)) return undefined;
  // Its body may be broken, which is reported once, not again for each link to one of its headings.
  if (target.state === 'broken' && ids.length === 0) return undefined;
  const anchor = id.replace(idPrefix, '');
  return dead(`there is no heading or anchor #${anchor} in ${target.path}`, () =>
    // The sanitiser prefixes the IDs of raw HTML; a link from another article needs the full ID.
    ids.includes(idPrefix + id)
      ? `write #${idPrefix}${id}`
      : suggest(
          anchor,
          ids.map((name) => name.replace(idPrefix, '')),
        ),
  );
}

/** Why a release does not contain a draft or a scheduled article. */
function whyUnpublished({ state, metadata }: Article): string {
  return state === 'draft' ? 'is a draft' : `is not published before ${metadata.due}`;
}

/** The name of a file or article in its path. */
const baseNameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);
const kindOf = (path: string): string => path.split('/', 2)[1]!;
const keyOf = (path: string, text: string): string => `${kindOf(path)} ${text}`;
const folderOf = (path: string): string => path.slice(0, path.lastIndexOf('/'));

/** Suggests a path for a dead one: the same name in another folder, or a similar name in the same folder. */
function createSuggester(list: () => readonly string[]): (path: string) => string | undefined {
  let index: { byName: Map<string, string[]>; byFolder: Map<string, string[]> } | undefined;
  const hints = new Map<string, string | undefined>();
  const find = (path: string): string | undefined => {
    const paths = index ? [] : list();
    index ??= { byName: Map.groupBy(paths, baseNameOf), byFolder: Map.groupBy(paths, folderOf) };
    const moved = index.byName.get(baseNameOf(path));
    if (moved?.length === 1) return `did you mean "${moved[0]}"?`;
    const folder = folderOf(path);
    const names = (index.byFolder.get(folder) ?? []).map(baseNameOf);
    return suggest(baseNameOf(path), names)?.replace('"', `"${folder}/`);
  };
  return (path) => {
    if (!hints.has(path)) hints.set(path, find(path.replace(/\/$/, '')));
    return hints.get(path);
  };
}

/** Reports media that no article refers to, drafts and scheduled articles included, and that is no picture of an author. */
export function checkUnusedMedia({ articles, content: { media }, authors }: Site, diagnostics: Diagnostics): void {
  const used = new Set([
    ...articles.flatMap(({ metadata: { cover, references } }) => [cover?.text, ...references.map(({ path }) => path)]),
    ...Object.values(authors?.value ?? {}).map(({ picture }) => picture),
  ]);
  for (const [path, file] of media) {
    if (used.has(path)) continue;
    diagnostics.warning(placeOf(file), 'no article uses this file', 'remove it, or link it from an article');
  }
}

/** Collects the former paths of the included articles. Reports a path that an article or another alias already has. */
export function collectAliases(articles: readonly Article[], diagnostics: Diagnostics): Aliases {
  const owners = new Map(articles.map(({ path, file }) => [path, file.display]));
  const aliases = new Map<string, string>();
  for (const { path, metadata, file, state, isIncluded } of articles) {
    for (const { text: alias, line, column } of metadata.aliases) {
      const owner = owners.get(alias);
      if (owner !== undefined) {
        diagnostics.error(placeOf(file, line, column), `the alias ${alias} is taken by ${owner}`);
        continue;
      }
      owners.set(alias, file.display);
      // A broken article is never released, but links to its former path are not dead.
      if (isIncluded || (state === 'broken' && !metadata.draft)) aliases.set(alias, path);
    }
  }
  return Object.fromEntries([...aliases].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** Reports paths that are said to be gone for good, and that this build has. */
export function checkRemoved({ articles, aliases, removed }: Site, diagnostics: Diagnostics): void {
  if (removed.size === 0) return;
  const byPath = new Map(articles.map((article) => [article.path, article]));
  for (const [path, place] of removed) {
    const target = Object.hasOwn(aliases, path) ? byPath.get(aliases[path]!) : undefined;
    const isArticle = byPath.get(path)?.state === 'published';
    if (!target && !isArticle) continue;
    const reason = target ? `an alias in ${target.file.display}` : 'an article';
    diagnostics.warning(place, `${path} is ${reason}`, 'remove this line');
  }
}

/** Reports paths that are online, and neither in this build nor gone for good. */
export function checkVanished(
  vanished: readonly string[],
  { articles }: Site,
  online: Online,
  folder: { readonly display: string },
  diagnostics: Diagnostics,
): void {
  const total = online.articles.size + Object.keys(online.aliases).length;
  // Another site, or the samples: a line for each path would hide what else is wrong.
  if (vanished.length > 10 && vanished.length >= 0.9 * total) {
    const message = `${vanished.length} of the ${total} paths that are online are not in this build`;
    const hint = 'if this is another site, build it: the next build compares with this one; else look at CONTENT_DIR';
    return diagnostics.warning(placeOf(folder), message, hint);
  }
  const file = displayIn(folder, removedFile);
  const unpublished = new Map(
    articles
      .filter(({ state }) => state !== 'published')
      .flatMap((article) => [
        [article.path, article] as const,
        ...article.metadata.aliases.map(({ text }) => [text, article] as const),
      ]),
  );
  const findSuccessor = createSuccessorSearch(articles, online, vanished.length);
  for (const path of vanished) {
    const message = `${path} is online, and this build no longer has it`;
    const article = unpublished.get(path);
    const successor = article ? undefined : findSuccessor(path);
    if (article) {
      const { line, column } = article.metadata.publication;
      const reason = `its article ${whyUnpublished(article)}`;
      const hint = `if that is intended, add to ${file}: - ${path}`;
      diagnostics.warning(placeOf(article.file, line, column), `${message}: ${reason}`, hint);
    } else if (successor) {
      const line = successor.metadata.aliases.length > 0 ? `to its aliases: ${path}` : `here: aliases: [${path}]`;
      const hint = `if this article replaces it, add ${line}; if it is gone for good, add to ${file}: - ${path}`;
      diagnostics.warning(placeOf(successor.file), message, hint);
    } else {
      const moved = `if it moved, add to the front matter of its article: aliases: [${path}]`;
      const hint = `if it is gone for good, add here: - ${path}; ${moved}`;
      diagnostics.warning(placeOf({ display: file }), message, hint);
    }
  }
}

/** More comparisons of names would take seconds. */
const maxComparisons = 1_000_000;

/**
 * Creates a search for the published article that replaces a vanished path: the target of the alias, else an article that is
 * not online yet and has the same name, the same title or a similar name. An alias leads to an article of the same kind.
 */
function createSuccessorSearch(articles: readonly Article[], online: Online, vanished: number) {
  const published = articles.filter(({ state }) => state === 'published');
  const byPath = new Map(published.map((article) => [article.path, article]));
  const added = published.filter(({ path }) => !online.articles.has(path));
  const byName = new Map(added.map((article) => [keyOf(article.path, baseNameOf(article.path)), article]));
  const byTitle = new Map(added.map((article) => [keyOf(article.path, article.metadata.title), article]));
  return (path: string): Article | undefined => {
    const name = baseNameOf(path);
    const alias = Object.hasOwn(online.aliases, path) ? byPath.get(online.aliases[path]!) : undefined;
    const title = online.articles.get(path) ?? '';
    const same = alias ?? byName.get(keyOf(path, name)) ?? byTitle.get(keyOf(path, title));
    if (same || added.length * vanished > maxComparisons) return same;
    const names = added.flatMap((article) => (kindOf(article.path) === kindOf(path) ? baseNameOf(article.path) : []));
    const similar = findSimilar(name, names);
    return similar === undefined ? undefined : byName.get(keyOf(path, similar));
  };
}
