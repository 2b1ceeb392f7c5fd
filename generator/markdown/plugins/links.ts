import { posix } from 'node:path';
import type { Position } from '../../common/finding.ts';

/** A link, picture, video or sound of an article that points into content/, as it is written. */
export interface Reference extends Position {
  readonly url: string;
  /** The site path of its target; undefined if the target is outside content/. */
  readonly path: string | undefined;
  readonly use: ReferenceUse;
  /** The ID in the target, or an empty string. */
  readonly id: string;
}

/** A player shows a video or plays a sound. */
export type ReferenceUse = 'link' | 'picture' | 'player';

/** The prefix for the IDs of raw HTML, added by the sanitiser, and for those of headings that are not safe. */
export const idPrefix = 'user-content-';

/** IDs that shadow a property of `window` or `document` ("DOM clobbering"); heading IDs have no capital letters. */
const clobbering = new Set(
  (
    '__proto__ alert all anchors applets append attributes blur body caches children clear close closed confirm ' +
    'constructor contains cookie crypto dir doctype document domain embeds event external fetch find focus fonts ' +
    'forms frames fullscreen head hidden history id images implementation length links location name navigator ' +
    'normalize open opener origin parent performance plugins prepend print process prompt prototype referrer ' +
    'remove require root screen scripts scroll self status stop style submit target title toolbar top window write writeln'
  ).split(' '),
);

/** Converts an anchor name to an ID that is safe from DOM clobbering. */
export function toSafeId(anchor: string): string {
  return clobbering.has(anchor) ? `${idPrefix}${anchor}` : anchor;
}

/**
 * Resolves a URL of the article at a site path: links to files (`../vps/backups.md`, `../../media/x.png`) become site paths,
 * and anchors of the same article become the actual ones of its `ids`. The reference is what it leads to in content/.
 */
export function resolveUrl(
  url: string,
  sitePath: string,
  ids: ReadonlySet<string>,
  use: ReferenceUse,
): { readonly url: string; readonly reference?: Pick<Reference, 'path' | 'id'> } {
  const target = toTarget(url, sitePath);
  if (!target) {
    const isDead =
      onThisComputer.test(url) || (/^\/(?!\/)/.test(url) && (use !== 'link' || /\.md(?:[?#]|$)/.test(url)));
    return isDead ? { url, reference: { path: undefined, id: '' } } : { url };
  }
  const { path, query, hash } = target;
  // An ID may itself be percent-encoded, as those of footnotes are.
  const ownId = [decode(hash), hash].flatMap((name) => [name, idPrefix + name]).find((id) => ids.has(id));
  const id = (path === sitePath ? ownId : undefined) ?? toSafeId(decode(hash));
  const reference = { path, id };
  if (path === undefined) return { url, reference };
  // Of a file it is no ID: `#page=3` of a PDF, `#t=10,20` of a video.
  const fragment = path.startsWith('/media/')
    ? hash && `#${encodeURI(decode(hash))}`
    : id && `#${encodeURIComponent(id)}`;
  return { url: url.startsWith('#') ? fragment || '#' : `${encodeURI(path)}${query}${fragment}`, reference };
}

/** The advice for a file of the computer of an editor. */
export const copyIt = 'copy the file into content/media/, and write /media/ and its name';

/** What editors see before a site path, in their folders and in the preview. */
const onThisComputer =
  /^(?:https?:\/\/(?:localhost|127\.0\.0\.1)(?::\d+)?)?\/(?:content|preview)(?=\/(?:blog|knowledgebase|media)\/)/i;

/** The site path that was meant by an address that works only on the computer of an editor; else undefined. */
export function findSitePath(url: string): string | undefined {
  return onThisComputer.test(url) ? url.replace(onThisComputer, '').replace(/\.md(?=[?#]|$)/, '') : undefined;
}

/** Whether a URL in the article at a site path leads to a file in content/media/. */
export function isOwnMedia(url: string, sitePath: string): boolean {
  return toTarget(url, sitePath)?.path?.startsWith('/media/') ?? false;
}

const inContent = /^\/(?:blog|knowledgebase|media)\//;

/** The target of a URL; undefined for other sites and for pages of this site that are not made from content/. */
function toTarget(url: string, base: string): { path: string | undefined; query: string; hash: string } | undefined {
  if (/^(?:[a-z][a-z0-9+.-]*:|\/\/)/i.test(url)) return undefined;
  const [, written = '', query = '', hash = ''] = /^([^?#]*)(\?[^#]*)?(?:#(.*))?$/s.exec(url) ?? [];
  const file = decode(written);
  if (file === '') return { path: base, query, hash };
  // Source files and site paths have the same folders, so a relative link has the same target in both.
  const path = file.startsWith('/') ? file : `/${posix.join(posix.dirname(base).slice(1), file)}`;
  if (inContent.test(path)) return { path: path.replace(/\.md$/, ''), query, hash };
  return file.startsWith('/') ? undefined : { path: undefined, query, hash };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
