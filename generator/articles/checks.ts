import { basename, dirname, extname } from 'node:path/posix';
import { mediaTypes } from '#contract/articles.ts';
import type { Aliases, Authors } from '#contract/articles.ts';
import { suggest } from '../common/suggest.ts';
import { copyIt, findSitePath, idPrefix, toSafeId } from '../markdown/plugins/trusted.ts';
import type { Reference, ReferenceUse } from '../markdown/plugins/trusted.ts';
import type { Online } from '../release/online.ts';
import type { Diagnostics, SourceLocation } from '../source/diagnostics.ts';
import { displayIn, readSource } from '../source/load.ts';
import type { SourceFile } from '../source/load.ts';
import { formatOfEnding, formats, readMediaFacts } from '../source/media.ts';
import type { MediaFacts, PictureSizes, Size } from '../source/media.ts';
import { authorsFile, placeholderDescription, removedFile } from '../source/yaml.ts';
import type { readAuthors, readRemoved } from '../source/yaml.ts';
import type { Article } from './article.ts';
import { sitePathOf } from './content.ts';
import type { ContentFiles } from './content.ts';
import type { Memo } from './memo.ts';

/** Everything that a reference can point to, on the day of a build. */
interface BuiltSite {
  readonly now: string;
  readonly articles: readonly Article[];
  readonly content: ContentFiles;
  readonly aliases: Aliases;
  readonly authors: ReturnType<typeof readAuthors>;
  readonly removed: ReturnType<typeof readRemoved>;
}

type ReportDead = (message: string, hint?: string) => void;

const mailbox = /^[\w.+-]+@[\w-]+(?:\.[\w-]+)+$/;
/** Matches links without a scheme that look like domains: names of articles have no dots. */
const host = /^(?:www\.|(?:[a-z0-9-]+\.)+(?:com|net|org|io|dev|app|eu|de|nl|fr|uk|us|ch|at|be|info)(?:[/?#]|$))/i;
const writeFullAddress = 'for another part of the website, write the full address';

/** Checks references, covers, authors and dates of all articles, and the removed paths. */
export function checkSite(
  { now, articles, content, aliases, authors, removed }: BuiltSite,
  diagnostics: Diagnostics,
): void {
  const byPath = new Map(articles.map((article) => [article.path, article]));
  const folders = new Set(
    content.categories.flatMap(({ collection, slug }) => [`/${collection.folder}`, `/${collection.folder}/${slug}`]),
  );
  /** The articles with a source file, including broken ones. */
  const sources = new Set(content.categories.flatMap(({ articles: files }) => files.map(sitePathOf)));
  const suggestPath = createSuggester([...content.media.keys(), ...byPath.keys(), ...Object.keys(aliases)]);

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
    if (content.isRefused(path)) return undefined;
    if (use === 'picture') return dead(`the image "${url}" is not in content/media/`, suggestPath(path));
    if (!/^\/(?:blog|knowledgebase)(?:\/|$)/.test(path)) return undefined;
    const target = byPath.get(aliases[path] ?? path);
    if (target) return checkTarget(from, target, id, dead);
    // A broken article is reported once, not for each link to it.
    if (folders.has(path.replace(/\/$/, '')) || sources.has(path)) return undefined;
    return dead(`there is no article ${path}`, suggestPath(path));
  };

  /** Checks an address that is neither an article nor a media file. */
  const checkOutside = (url: string, dead: ReportDead): void => {
    const meant = findSitePath(url);
    if (meant !== undefined) return dead(`"${url}" works only on your computer`, `write ${meant}`);
    if (!url.startsWith('/')) return dead(`the link "${url}" points outside content/`);
    const similar = suggestPath(url.replace(/\.md(?:[?#].*)?$/, '')) ?? writeFullAddress;
    return dead(`there is no file ${url} in content/`, similar);
  };

  const checkMedia = (path: string, use: ReferenceUse, dead: ReportDead): void => {
    if (!content.media.has(path)) {
      return content.isRefused(path) ? undefined : dead(`there is no ${path} in content/`, suggestPath(path));
    }
    const kind = mediaKindOf(path);
    const link = `[text](${path})`;
    if (use === 'picture' && kind !== 'image') {
      const instead = kind === 'application' ? link : `<${kind} src="${path}"></${kind}>`;
      dead(`${path} is not a picture`, `write ${instead}`);
    } else if (use === 'player' && kind !== 'video' && kind !== 'audio') {
      dead(`${path} is neither a video nor a sound`, `write ${kind === 'image' ? `![what it shows](${path})` : link}`);
    }
    return undefined;
  };

  const checkCover = (path: string, place: SourceLocation): void => {
    checkMedia(path, 'link', (...problem) => diagnostics.deadReference(place, ...problem));
    if (!content.media.has(path) || mediaKindOf(path) === 'image') return;
    diagnostics.error(place, 'the cover is not a picture', 'use a picture');
  };

  for (const article of articles) {
    const { file, references, metadata } = article;
    const { due, places } = metadata;
    const { cover, author, description, draft, updated } = metadata.fields;
    if (cover !== undefined) checkCover(cover, { ...file, ...places.cover });
    for (const reference of references) {
      checkReference(article, reference, (message, hint) => {
        const place = { ...file, ...reference };
        if (!draft) return diagnostics.deadReference(place, message, hint);
        return diagnostics.warning(place, message, hint ?? 'remove the reference until its target exists');
      });
    }
    if (draft) continue;
    if (description === placeholderDescription) {
      const message = 'the description is still the placeholder of the template';
      const hint = 'write one or two sentences for lists and search engines';
      diagnostics.warning({ ...file, ...places.description }, message, hint);
    }
    // Only a warning: authors need no entry, and a misspelt name is harmless.
    if (author !== undefined && authors && !Object.hasOwn(authors.value, author)) {
      const message = `the author ${author} is not in ${authorsFile}`;
      diagnostics.warning({ ...file, ...places.author }, message, adviseAuthor(author, authors.value));
    }
    if (updated !== undefined && updated > now && updated > (due ?? '')) {
      const message = `"updated" is after today, ${now}, and is left out until that day`;
      diagnostics.warning({ ...file, ...places.updated }, message, 'write the day of the last change');
    }
  }
  for (const [name, { picture }] of Object.entries(authors?.value ?? {})) {
    if (picture === undefined) continue;
    const place = authors!.place([name, 'picture']);
    checkMedia(picture, 'picture', (...problem) => diagnostics.deadReference(place, ...problem));
  }
  for (const [path, place] of removed) {
    const alias = byPath.get(aliases[path] ?? '');
    if (!alias && byPath.get(path)?.state !== 'published') continue;
    const reason = alias ? `an alias in ${alias.file.display}` : 'an article';
    diagnostics.warning(place, `${path} is ${reason}`, 'remove this line');
  }
}

/** Suggests how to fix an unknown author. */
export function adviseAuthor(author: string, authors: Authors): string | undefined {
  const similar = suggest(author, Object.keys(authors));
  // The YAML parser refuses keys such as `constructor`.
  return similar ?? (author in {} ? undefined : `add there: ${JSON.stringify(author)}: {}`);
}

function checkTarget(from: Article, target: Article, id: string, dead: ReportDead): void {
  const { ids } = target.metadata;
  if (from.state === 'published' && (target.state === 'draft' || target.state === 'scheduled')) {
    return dead(`the article ${target.path} ${whyUnpublished(target)}`);
  }
  if (id === '' || id === toSafeId('top') || ids.includes(id)) return undefined;
  // A broken body is reported once, not for each link to its headings.
  if (target.state === 'broken' && ids.length === 0) return undefined;
  const anchor = id.replace(idPrefix, '');
  const message = `there is no heading or anchor #${anchor} in ${target.path}`;
  // The sanitiser prefixes IDs of raw HTML; links from other articles need the full ID.
  if (ids.includes(idPrefix + id)) return dead(message, `write #${idPrefix}${id}`);
  const names = ids.map((name) => name.replace(idPrefix, ''));
  return dead(message, suggest(anchor, names));
}

function whyUnpublished({ state, metadata }: Article): string {
  return state === 'draft' ? 'is a draft' : `is not published before ${metadata.due}`;
}

/** Suggests a path with the same name, or with a similar name in the same folder. */
function createSuggester(paths: readonly string[]): (path: string) => string | undefined {
  const byName = Map.groupBy(paths, (path) => basename(path));
  const byFolder = Map.groupBy(paths, dirname);
  const hints = new Map<string, string | undefined>();
  const find = (path: string): string | undefined => {
    const moved = byName.get(basename(path));
    if (moved?.length === 1) return `did you mean "${moved[0]}"?`;
    const folder = dirname(path);
    const names = (byFolder.get(folder) ?? []).map((other) => basename(other));
    return suggest(basename(path), names)?.replace('"', `"${folder}/`);
  };
  return (path) => {
    if (!hints.has(path)) hints.set(path, find(path.replace(/\/$/, '')));
    return hints.get(path);
  };
}

/** Reports media files that no article and no author uses. Drafts and scheduled articles count. */
export function checkUnusedMedia({ articles, content: { media }, authors }: BuiltSite, diagnostics: Diagnostics): void {
  const used = new Set([
    ...articles.flatMap(({ references, metadata }) => [metadata.fields.cover, ...references.map(({ path }) => path)]),
    ...Object.values(authors?.value ?? {}).map(({ picture }) => picture),
  ]);
  for (const [path, file] of media) {
    if (used.has(path)) continue;
    diagnostics.warning(file, 'no article uses this file', 'remove it, or link it from an article');
  }
}

/** Collects the former paths of the included articles. Reports conflicts with articles and other aliases. */
export function collectAliases(articles: readonly Article[], diagnostics: Diagnostics): Aliases {
  const owners = new Map(articles.map(({ path, file }) => [path, file.display]));
  const aliases = new Map<string, string>();
  for (const { path, metadata, file, state, isIncluded } of articles) {
    for (const [index, alias] of metadata.fields.aliases?.entries() ?? []) {
      const owner = owners.get(alias);
      if (owner !== undefined) {
        diagnostics.error({ ...file, ...metadata.aliasPlaces[index] }, `the alias ${alias} is taken by ${owner}`);
        continue;
      }
      owners.set(alias, file.display);
      // Broken articles are never released, but links to their former paths are not dead.
      if (isIncluded || (state === 'broken' && !metadata.fields.draft)) aliases.set(alias, path);
    }
  }
  return Object.fromEntries([...aliases].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** Reports vanished paths, with a hint how to keep or retire each. */
export function checkVanished(
  vanished: readonly string[],
  { articles }: BuiltSite,
  online: Online,
  folder: SourceLocation,
  diagnostics: Diagnostics,
): void {
  const total = online.articles.size + Object.keys(online.aliases).length;
  // Probably another site: a line for each path would hide other problems.
  if (vanished.length > 10 && vanished.length >= 0.9 * total) {
    const message = `${vanished.length} of the ${total} paths that are online are not in this build`;
    const hint = 'if this is another site, build it: later builds compare with it; otherwise check CONTENT_DIR';
    return diagnostics.warning(folder, message, hint);
  }
  const file = displayIn(folder, removedFile);
  const unpublished = articles.filter(({ state }) => state !== 'published');
  for (const path of vanished) {
    const message = `${path} is online but missing from this build`;
    const article = unpublished.find((each) => each.path === path || each.metadata.fields.aliases?.includes(path));
    if (article) {
      const reason = `its article ${whyUnpublished(article)}`;
      const hint = `if that is intended, add to ${file}: - ${path}`;
      const position = article.metadata.places[article.state === 'draft' ? 'draft' : 'date'];
      diagnostics.warning({ ...article.file, ...position }, `${message}: ${reason}`, hint);
    } else {
      const moved = `if it moved, add to the front matter of its article: aliases: [${path}]`;
      const hint = `if it is gone for good, add here: - ${path}; ${moved}`;
      diagnostics.warning({ display: file }, message, hint);
    }
  }
}

/** Pages with larger pictures load slowly on phones. */
const maxPictureBytes = 1_000_000;

/** Reports unusable, large and misnamed media. Returns the sizes of pictures. */
export async function checkMediaFiles(
  { media }: ContentFiles,
  memo: Memo,
  diagnostics: Diagnostics,
): Promise<PictureSizes> {
  const sizes = new Map<string, Size>();
  const read = (file: SourceFile): MediaFacts | undefined => {
    const bytes = readSource(file, diagnostics);
    return bytes && readMediaFacts(bytes);
  };
  for (const [path, file] of media) {
    // One file at a time: media are large.
    const facts = await memo.get(`media ${path}`, file.sha256, () => read(file));
    if (!facts) continue;
    checkMediaFile(file, facts, diagnostics);
    if (facts.size) sizes.set(path, facts.size);
  }
  return sizes;
}

function checkMediaFile(file: SourceFile, { format, fault }: MediaFacts, diagnostics: Diagnostics): void {
  const ending = extname(file.path);
  const expected = formatOfEnding(ending.slice(1))!;
  const { label: wanted, family } = formats[expected]!;
  if (format === expected) {
    if (fault) diagnostics.report(file, [fault]);
    if (mediaKindOf(file.path) !== 'image' || file.bytes <= maxPictureBytes) return;
    const message = `the picture has ${(file.bytes / 1e6).toFixed(1)} MB, more than 1 MB`;
    diagnostics.warning(file, message, 'large pictures load slowly: make it smaller, or save it as WebP or AVIF');
  } else if (format) {
    const { label, endings, advice, ...actual } = formats[format]!;
    const hint = endings[0] ? `rename it to "${basename(file.path, ending)}.${endings[0]}"` : advice;
    // Browsers detect the format of pictures, videos and sounds from the bytes.
    const works = family !== 'other' && actual.family === family;
    diagnostics[works ? 'warning' : 'error'](file, `the file is ${label}, not ${wanted}`, hint);
  } else {
    // Some programs write sounds without a signature.
    const severity = family === 'player' ? 'warning' : 'error';
    diagnostics[severity](file, `the file is not ${wanted}`, 'save it again, or remove it');
  }
}

/** Returns the first part of the media type of a file, such as `image`. */
function mediaKindOf(path: string): string | undefined {
  return mediaTypes[extname(path).slice(1)]?.split('/')[0];
}
