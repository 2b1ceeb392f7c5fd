import type { Aliases } from '#contract/content.ts';
import type { Authors } from '#contract/site.ts';
import { suggest } from '../common/suggest.ts';
import { copyIt, findSitePath, idPrefix, toSafeId } from '../markdown/plugins/links.ts';
import type { Reference, ReferenceUse } from '../markdown/plugins/links.ts';
import type { Diagnostics, Place } from '../source/diagnostics.ts';
import { placeOf } from '../source/load.ts';
import type { PictureSizes } from '../source/media.ts';
import { authorsFile } from '../source/yaml.ts';
import type { readAuthors } from '../source/yaml.ts';
import type { Article } from './article.ts';
import type { Content } from './content.ts';
import { mediaKindOf } from './media.ts';

/** The site that a build makes: all that a reference can lead to. */
export interface Site {
  readonly articles: readonly Article[];
  readonly content: Content;
  readonly aliases: Aliases;
  readonly pictures: PictureSizes;
  /** The entries of `authors.yaml`; undefined if it has an error, or does not exist. */
  readonly authors: ReturnType<typeof readAuthors>;
}

/** Why a reference is dead, with a search for a similar target. */
interface DeadReference {
  readonly message: string;
  readonly findHint?: () => string | undefined;
}

const mailbox = /^[\w.+-]+@[\w-]+(?:\.[\w-]+)+$/;
/** No name of an article has a dot. */
const host = /^(?:www\.|(?:[a-z0-9-]+\.)+(?:com|net|org|io|dev|app|eu|de|nl|fr|uk|us|ch|at|be|info)(?:[/?#]|$))/i;
const elsewhere = 'of another part of the website, write the whole address';

const dead = (message: string, hint?: string): DeadReference => ({ message, findHint: () => hint });

/**
 * Checks that every link, anchor, image and cover of the articles and every picture of an author has a target in the
 * release, and that the authors of articles are in the list.
 */
export function checkSite({ articles, content, aliases, pictures, authors }: Site, diagnostics: Diagnostics): void {
  const byPath = new Map(articles.map((article) => [article.path, article]));
  const folders = new Set(
    content.categories.flatMap(({ collection, slug }) => [`/${collection.folder}`, `/${collection.folder}/${slug}`]),
  );
  /** The articles that have a source file, even one that does not compile. */
  const sources = new Set(
    content.categories.flatMap(({ articles: files }) => files.map(({ path }) => `/${path.slice(0, -'.md'.length)}`)),
  );
  const suggestPath = createSuggester(() => [...content.media.keys(), ...byPath.keys(), ...Object.keys(aliases)]);
  const report = (place: Place, reference: DeadReference | undefined, isDraft = false): void => {
    if (!reference) return;
    const { message, findHint } = reference;
    const findAdvice = (): string | undefined =>
      findHint?.() ?? (isDraft ? 'until it exists, leave it out' : undefined);
    diagnostics.deadReference(place, message, findAdvice, isDraft);
  };

  const checkArticle = (article: Article): void => {
    const { file, metadata } = article;
    for (const { text: path, line, column } of metadata.media) {
      report(placeOf(file, line, column), checkMedia(path, 'link'));
      checkCover(path, placeOf(file, line, column));
    }
    for (const reference of metadata.references) {
      const place = placeOf(file, reference.line, reference.column);
      report(place, checkReference(article, reference), metadata.draft);
    }
    if (metadata.draft) return;
    if (metadata.placeholder) {
      const { line, column } = metadata.placeholder;
      const hint = 'write one or two sentences for lists and search engines';
      diagnostics.warning(placeOf(file, line, column), 'the description is the one of the template', hint);
    }
    checkAuthor(article);
  };

  const checkReference = (from: Article, { path, use, id, url }: Reference): DeadReference | undefined => {
    if (url === '' && use === 'picture') return dead('the picture has no address', 'write it between the parentheses');
    const scheme = mailbox.test(url) ? 'mailto:' : host.test(url) && 'https://';
    if (scheme) return dead(`the link "${url}" has no scheme`, `write ${scheme}${url}`);
    if (/\\|%5C/i.test(url)) {
      const written = url.replace(/%5C/gi, '\\');
      return dead(`the address "${written}" has backslashes`, `write / instead; ${copyIt}`);
    }
    if (path === undefined) return checkOutside(url);
    if (path.startsWith('/media/')) return checkMedia(path, use);
    const findHint = (): string | undefined => suggestPath(path);
    if (use === 'picture') return { message: `the image "${url}" is not in content/media/`, findHint };
    if (!/^\/(?:blog|knowledgebase)(?:\/|$)/.test(path)) return undefined;
    const target = byPath.get(aliases[path] ?? path);
    if (target) return checkTarget(from, target, id);
    // An article that does not compile is reported once, not again for each link to it.
    if (folders.has(path.replace(/\/$/, '')) || sources.has(path)) return undefined;
    return { message: `there is no article ${path}`, findHint };
  };

  /** Checks an address below the root of the site that is no article and no file of content/media/. */
  const checkOutside = (url: string): DeadReference => {
    const meant = findSitePath(url);
    if (meant !== undefined) return dead(`"${url}" works only on your computer`, `write ${meant}`);
    if (!url.startsWith('/')) return dead(`the link "${url}" leads out of content/`);
    const findHint = (): string | undefined => suggestPath(url.replace(/\.md(?:[?#].*)?$/, '')) ?? elsewhere;
    return { message: `there is no file ${url} in content/`, findHint };
  };

  const checkMedia = (path: string, use: ReferenceUse): DeadReference | undefined => {
    if (!content.media.has(path)) {
      return { message: `there is no ${path} in content/`, findHint: () => suggestPath(path) };
    }
    const kind = mediaKindOf(path);
    if (use === 'picture' && kind !== 'image') {
      const instead = kind === 'application' ? `[text](${path})` : `<${kind} src="${path}"></${kind}>`;
      return dead(`${path} is not a picture`, `write ${instead}`);
    }
    if (use === 'player' && kind !== 'video' && kind !== 'audio') {
      const instead = kind === 'image' ? `![what it shows](${path})` : `[text](${path})`;
      return dead(`${path} is neither a video nor a sound`, `write ${instead}`);
    }
    return undefined;
  };

  /** Lists and link previews cut other shapes off. Larger ones of the same shape are sharper, and vector pictures have no size. */
  const checkCover = (path: string, place: Place): void => {
    if (!content.media.has(path)) return;
    if (mediaKindOf(path) !== 'image') diagnostics.error(place, 'the cover is not a picture', 'use a picture');
    const size = pictures.get(path);
    if (!size) return;
    const isLargeEnough = size.width >= cover.width || path.endsWith('.svg');
    const hasShape = Math.abs((size.width / size.height) * (cover.height / cover.width) - 1) < 0.01;
    if (isLargeEnough && hasShape) return;
    const message = `the cover is ${size.width} x ${size.height} pixels, not ${cover.width} x ${cover.height}`;
    diagnostics.warning(place, message, hasShape ? 'use a larger one' : 'crop it to that shape');
  };

  /** Another name is a warning: an author may be missing, and a mistake in a name harms no reader. */
  const checkAuthor = ({ file, metadata: { author } }: Article): void => {
    if (!authors || !author || Object.hasOwn(authors.value, author.text)) return;
    const message = `the author ${author.text} is not in ${authorsFile}`;
    diagnostics.warning(placeOf(file, author.line, author.column), message, adviseAuthor(author.text, authors.value));
  };

  for (const article of articles) checkArticle(article);
  for (const [name, { picture }] of Object.entries(authors?.value ?? {})) {
    if (picture !== undefined) report(authors!.place([name, 'picture']), checkMedia(picture, 'picture'));
  }
}

/** Says how to write an author that is not in the list. */
export function adviseAuthor(author: string, authors: Authors): string | undefined {
  // YAML keys of these names are refused.
  return (
    suggest(author, Object.keys(authors)) ?? (author in {} ? undefined : `add there: ${JSON.stringify(author)}: {}`)
  );
}

const cover = { width: 1200, height: 630 };

function checkTarget(from: Article, target: Article, id: string): DeadReference | undefined {
  const { ids } = target.metadata;
  if (from.state === 'published' && (target.state === 'draft' || target.state === 'scheduled')) {
    return dead(`the article ${target.path} ${whyUnpublished(target)}`);
  }
  if (id === '' || id === toSafeId('top') || ids.includes(id)) return undefined;
  // Its body may be broken, which is reported once, not again for each link to one of its headings.
  if (target.state === 'broken' && ids.length === 0) return undefined;
  const anchor = id.replace(idPrefix, '');
  const findHint = (): string | undefined => {
    // The sanitiser prefixes the IDs of raw HTML; a link from another article needs the full ID.
    if (ids.includes(idPrefix + id)) return `write #${idPrefix}${id}`;
    return suggest(
      anchor,
      ids.map((name) => name.replace(idPrefix, '')),
    );
  };
  return { message: `there is no heading or anchor #${anchor} in ${target.path}`, findHint };
}

/** Why a release does not contain a draft or a scheduled article. */
export function whyUnpublished({ state, metadata }: Article): string {
  return state === 'draft' ? 'is a draft' : `is not published before ${metadata.due}`;
}

/** The name of a file or article in its path. */
export const baseNameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);
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
    ...articles.flatMap(({ metadata }) => [
      ...metadata.media.map(({ text }) => text),
      ...metadata.references.map(({ path }) => path),
    ]),
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
