import type { Aliases } from '#contract/content.ts';
import type { Authors } from '#contract/site.ts';
import type { Article } from './article.ts';
import type { Diagnostics, Place } from '../source/diagnostics.ts';
import { placeOf } from '../source/load.ts';
import { idPrefix, toSafeId } from '../markdown/plugins/rehype-heading-ids.ts';
import type { Reference, ReferenceUse } from '../markdown/plugins/rehype-links.ts';
import { mediaKindOf } from './media.ts';
import { createSite } from './site.ts';
import type { Site, SiteParts } from './site.ts';
import { suggest } from '../common/suggest.ts';

/** Checks that every link, anchor, image and cover of the articles has a target in the release. */
export function checkReferences(parts: SiteParts, diagnostics: Diagnostics): void {
  const site = createSite(parts);
  for (const article of parts.articles) checkArticle(article, site, diagnostics);
}

/** Reports media that no article refers to, drafts and scheduled articles included, and that is no picture of an author. */
export function checkUnusedMedia(
  { articles, content: { media }, authors }: Pick<SiteParts, 'articles' | 'content'> & { readonly authors: Authors },
  diagnostics: Diagnostics,
): void {
  const used = new Set([
    ...articles.flatMap(({ metadata }) => [
      ...metadata.media.map(({ text }) => text),
      ...metadata.references.map(({ path }) => path),
    ]),
    ...Object.values(authors).map(({ picture }) => picture),
  ]);
  for (const [path, file] of media) {
    if (used.has(path)) continue;
    diagnostics.warning(placeOf(file), 'no article uses this file', 'remove it, or link it from an article');
  }
}

/** Why a reference is dead, with a search for a similar target. */
interface Fault {
  readonly message: string;
  readonly findHint?: () => string | undefined;
}

function checkArticle(article: Article, site: Site, diagnostics: Diagnostics): void {
  const { file, metadata } = article;
  const report = ({ line, column }: { line: number; column: number }, fault: Fault | undefined): void => {
    if (fault) diagnostics.deadReference(placeOf(file, line, column), fault.message, fault.findHint);
  };
  for (const { text: path, ...at } of metadata.media) {
    report(at, checkMedia(path, 'link', site));
    checkCover(path, placeOf(file, at.line, at.column), site, diagnostics);
  }
  // A draft is work in progress: the targets of its links may not exist yet.
  if (metadata.draft) return;
  if (metadata.placeholder) {
    const { line, column } = metadata.placeholder;
    const hint = 'write one or two sentences for lists and search engines';
    diagnostics.warning(placeOf(file, line, column), 'the description is the one of the template', hint);
  }
  for (const reference of metadata.references) report(reference, checkReference(article, reference, site));
}

function checkReference(from: Article, { path, use, id, url }: Reference, site: Site): Fault | undefined {
  if (url === '' && use === 'picture')
    return { message: 'the picture has no address', findHint: () => 'write it between the parentheses' };
  if (/^www\./i.test(url))
    return { message: `the link "${url}" has no scheme`, findHint: () => `write https://${url}` };
  if (path === undefined) return { message: `the link "${url}" leads out of content/` };
  if (path.startsWith('/media/')) return checkMedia(path, use, site);
  if (use === 'picture')
    return { message: `the image "${url}" is not in content/media/`, findHint: () => site.suggest(path) };
  if (!/^\/(?:blog|knowledgebase)(?:\/|$)/.test(path)) return undefined;
  const target = site.find(path);
  if (target) return checkTarget(from, target, id);
  // An article that does not compile is reported once, not again for each link to it.
  if (site.hasFolder(path) || site.hasSource(path)) return undefined;
  return { message: `there is no article ${path}`, findHint: () => site.suggest(path) };
}

/** Why a path of media is dead; undefined if it is not. */
export function checkMedia(path: string, use: ReferenceUse, site: Site): Fault | undefined {
  if (!site.hasMedia(path)) return { message: `there is no ${path} in content/`, findHint: () => site.suggest(path) };
  const kind = mediaKindOf(path);
  if (use === 'picture' && kind !== 'image') {
    const instead = kind === 'application' ? `[text](${path})` : `<${kind} src="${path}"></${kind}>`;
    return { message: `${path} is not a picture`, findHint: () => `write ${instead}` };
  }
  if (use === 'player' && kind !== 'video' && kind !== 'audio') {
    const instead = kind === 'image' ? `![what it shows](${path})` : `[text](${path})`;
    return { message: `${path} is neither a video nor a sound`, findHint: () => `write ${instead}` };
  }
  return undefined;
}

const cover = { width: 1200, height: 630 };

/** Lists and link previews cut other shapes off. Larger ones of the same shape are sharper, and vector pictures have no size. */
function checkCover(path: string, place: Place, site: Site, diagnostics: Diagnostics): void {
  if (!site.hasMedia(path)) return;
  if (mediaKindOf(path) !== 'image') diagnostics.error(place, 'the cover is not a picture', 'use a picture');
  const size = site.sizeOf(path);
  if (!size) return;
  const isLargeEnough = size.width >= cover.width || path.endsWith('.svg');
  const hasShape = Math.abs((size.width / size.height) * (cover.height / cover.width) - 1) < 0.01;
  if (isLargeEnough && hasShape) return;
  const message = `the cover is ${size.width} x ${size.height} pixels, not ${cover.width} x ${cover.height}`;
  diagnostics.warning(place, message, hasShape ? 'use a larger one' : 'crop it to that shape');
}

function checkTarget(from: Article, target: Article, id: string): Fault | undefined {
  const { ids, due } = target.metadata;
  if ((target.state === 'draft' || target.state === 'scheduled') && from.state === 'published') {
    const reason = target.state === 'draft' ? 'is a draft' : `is not published before ${due}`;
    return { message: `the article ${target.path} ${reason}` };
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
