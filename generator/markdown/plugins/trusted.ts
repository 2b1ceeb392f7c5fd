import { posix } from 'node:path';
import GithubSlugger from 'github-slugger';
import type { Element, Nodes, Parents, Properties, Root } from 'hast';
import type { Position } from '../../common/finding.ts';
import { decorateCode } from './code.ts';
import { walk } from './walk.ts';

/** A link, picture or player of an article that points into content/, with the URL as written. */
export interface Reference extends Position {
  readonly url: string;
  /** The site path of the target; undefined outside of content/. */
  readonly path: string | undefined;
  readonly use: ReferenceUse;
  /** The ID in the target; may be empty. */
  readonly id: string;
  /** The address before the path, such as `//www.example.com`; may be another site's. */
  readonly base?: string;
}

/** The use of a reference; a player plays a video or sound. */
export type ReferenceUse = 'link' | 'picture' | 'player';

/** The references of an article, and the IDs that other articles can refer to. */
export interface Targets {
  /** The pictures without a complete size, in order. */
  readonly pictures: ReturnType<typeof reservePicture>;
  /** The references to this site. */
  readonly references: readonly Reference[];
  /** The possible targets of links: IDs, and names of `<a name>`. */
  readonly ids: readonly string[];
}

/** The prefix of IDs in raw HTML, added by the sanitiser, and of unsafe heading IDs. */
export const idPrefix = 'user-content-';

/** IDs that shadow a property of `window` or `document` ("DOM clobbering"), in lower case like heading IDs. */
const clobbering = new Set(
  (
    '__proto__ alert all anchors applets append attributes blur body caches children clear close closed confirm ' +
    'constructor contains cookie crypto dir doctype document domain embeds event external fetch find focus fonts ' +
    'forms frames fullscreen head hidden history id images implementation length links location name navigator ' +
    'normalize open opener origin parent performance plugins prepend print process prompt prototype referrer ' +
    'remove require root screen scripts scroll self status stop style submit target title toolbar top window write writeln'
  ).split(' '),
);

/** The placeholder for the size of a picture. No article can contain it: HTML has no NUL. */
export const sizePlaceholder = ' data-size="&#x0;"';

const urlAttributes: Readonly<Record<string, Readonly<Record<string, ReferenceUse>>>> = {
  a: { href: 'link' },
  img: { src: 'picture' },
  video: { src: 'player', poster: 'picture' },
  audio: { src: 'player' },
  source: { src: 'player' },
};

/**
 * Adds trusted markup to the sanitised tree of an article: heading IDs like GitHub's, highlighted code, site paths, and
 * attributes for accessibility and loading. Removes videos and sounds outside of content/media/, which could track
 * readers or disappear.
 */
export function addTrusted(tree: Root, sitePath: string): Targets {
  const slugger = new GithubSlugger();
  const ids = new Set<string>();
  const linked: { readonly node: Element; readonly at: Position }[] = [];
  let at: Position = { line: 1, column: 1 };
  walk(tree, (node) => {
    if ('children' in node) removeForeignPlayers(node, sitePath);
    if (node.type !== 'element') return;
    const { properties, tagName } = node;
    // Elements from raw HTML may lack a position; the previous position is close enough.
    at = node.position?.start ?? at;
    if (/^h[1-6]$/.test(tagName) && properties.id === undefined) {
      const title = titleOf(node).trim();
      properties.id = toSafeId(slugger.slug(/[\p{L}\p{N}]/u.test(title) ? title : 'section'));
    }
    if (typeof properties.id === 'string') ids.add((properties.id = toAnchor(properties.id)));
    if (tagName === 'a' && typeof properties.name === 'string') ids.add(properties.name);
    if (tagName === 'pre' || tagName === 'code') decorateCode(node);
    // WCAG 2.2: wide content scrolls by keyboard (2.1.1), and checkboxes have names (4.1.2).
    if (tagName === 'pre' || tagName === 'table') properties.tabIndex = 0;
    if (tagName === 'input') properties.ariaLabel = properties.checked ? 'Completed task' : 'Incomplete task';
    if (tagName in urlAttributes || properties.srcSet !== undefined) linked.push({ node, at });
  });

  const references: Reference[] = [];
  const pictures: Targets['pictures'][number][] = [];
  // After the walk, because a link may point to an ID further down.
  for (const { node, at: place } of linked) {
    resolveUrls(node, (written, use) => {
      const { url, reference } = resolveUrl(written, sitePath, ids, use);
      if (reference) references.push({ url: written, use, ...reference, line: place.line, column: place.column });
      return url;
    });
    if (node.tagName === 'img') pictures.push(...reservePicture(node));
  }
  return { pictures, references, ids: [...ids] };
}

function resolveUrls({ tagName, properties }: Element, resolve: (url: string, use: ReferenceUse) => string): void {
  for (const [attribute, use] of Object.entries(urlAttributes[tagName] ?? {})) {
    const value = properties[attribute];
    if (typeof value === 'string') properties[attribute] = resolve(value, use);
  }
  if (typeof properties.srcSet !== 'string') return;
  if (unsafeSource.test(properties.srcSet)) delete properties.srcSet;
  else properties.srcSet = mapSrcset(properties.srcSet, (url) => resolve(url, 'picture'));
}

/** Matches a `srcset`, which the sanitiser does not check, with a scheme other than http and https. */
export const unsafeSource = /(?:^|,)\s*(?!https?:)[a-z][a-z0-9+.-]*:/i;

/** Replaces the URLs in a `srcset`, each followed by a width or density. */
export function mapSrcset(value: string, map: (url: string) => string): string {
  return value.replace(/([^\s,]\S*[^\s,])([^,]*)/g, (_, url: string, size: string) => map(url) + size);
}

/**
 * Makes browsers load a picture of content/media/ lazily, and reserves a placeholder for the size. Returns the site path
 * with the width or height that the author wrote.
 */
function reservePicture({ properties }: Element) {
  const [path] = /^\/media\/[^?#]+/.exec(String(properties.src)) ?? [];
  if (path === undefined) return [];
  const [width, height] = [toLength(properties.width), toLength(properties.height)];
  const isOpen = width !== 'percentage' && height !== 'percentage' && (width === undefined || height === undefined);
  if (isOpen) Object.assign(properties, { width: undefined, height: undefined, dataSize: '\0' });
  properties.loading = 'lazy';
  properties.decoding = 'async';
  return isOpen ? [{ path, width, height }] : [];
}

/** Parses a width or height in pixels; undefined if browsers ignore the value. */
function toLength(value: Properties[string]): number | 'percentage' | undefined {
  const [, number, rest = ''] = /^\s*(\d+(?:\.\d+)?)(.*)$/s.exec(String(value)) ?? [];
  if (number === undefined) return undefined;
  return rest.startsWith('%') ? 'percentage' : Number(number);
}

/** Removes the players and sources of other sites below a node. */
function removeForeignPlayers(parent: Parents, sitePath: string): void {
  const children: readonly Nodes[] = parent.children;
  if (!children.some((child) => isPlayer(child) || isSource(child))) return;
  const kept = children.filter((child) => {
    if (child.type !== 'element' || !(isPlayer(child) || isSource(child))) return true;
    const { properties } = child;
    for (const name of ['src', 'poster']) {
      const url = properties[name];
      if (typeof url !== 'string' || !isOwnMedia(url, sitePath)) delete properties[name];
    }
    // A `picture` has sources, too, with files in `srcset`.
    if (isSource(child)) return properties.src !== undefined || !isPlayer(parent);
    removeForeignPlayers(child, sitePath);
    return properties.src !== undefined || child.children.some((inner) => isSource(inner) || isPlayer(inner));
  });
  parent.children = kept as typeof parent.children;
}

const isPlayer = (node: Nodes): boolean => node.type === 'element' && ['video', 'audio'].includes(node.tagName);
const isSource = (node: Nodes): boolean => node.type === 'element' && node.tagName === 'source';

/** Returns the text of a heading without the numbers of its footnotes. */
function titleOf(node: Nodes): string {
  if (node.type === 'text') return node.value;
  if (!('children' in node) || (node.type === 'element' && node.properties.dataFootnoteRef !== undefined)) return '';
  return node.children.map(titleOf).join('');
}

/** Returns the form of an ID that links are compared with: NFC, without the invisible selectors after emojis. */
const toAnchor = (id: string): string => id.normalize('NFC').replace(/\p{Variation_Selector}/gu, '');

/** Converts an anchor to an ID that is safe from DOM clobbering. */
export function toSafeId(anchor: string): string {
  return clobbering.has(anchor) ? `${idPrefix}${anchor}` : anchor;
}

/**
 * Resolves a URL of the article at a site path. Links to files (`../vps/backups.md`, `../../media/x.png`) become site
 * paths, and anchors in the same article become the matching IDs. The reference is the target in content/.
 */
function resolveUrl(
  url: string,
  sitePath: string,
  ids: ReadonlySet<string>,
  use: ReferenceUse,
): { readonly url: string; readonly reference?: Pick<Reference, 'path' | 'id' | 'base'> } {
  const target = toTarget(url, sitePath);
  if (!target) {
    const isDead =
      onThisComputer.test(url) || (/^\/(?!\/)/.test(url) && (use !== 'link' || /\.md(?:[?#]|$)/.test(url)));
    if (isDead) return { url, reference: { path: undefined, id: '' } };
    const [, base = '', rest = '#'] = wholeAddress.exec(url) ?? [];
    const { path = '', hash = '' } = toTarget(rest, sitePath) ?? {};
    const reference = { path: path.replace(/\/$/, ''), id: toSafeId(toAnchor(decodePercent(hash))), base };
    return base === '' ? { url } : { url, reference };
  }
  const { path, query, hash } = target;
  // IDs may be percent-encoded themselves, such as IDs of footnotes.
  const [anchor, written] = [decodePercent(hash), hash].map(toAnchor) as [string, string];
  const ownId = [anchor, written].flatMap((name) => [name, idPrefix + name]).find((id) => ids.has(id));
  const id = (path === sitePath ? ownId : undefined) ?? toSafeId(anchor);
  const reference = { path, id };
  if (path === undefined) return { url, reference };
  // The fragment of a file is not an ID: `#page=3` of a PDF, `#t=10,20` of a video.
  const fragment = path.startsWith('/media/')
    ? hash && `#${encodeURI(decodePercent(hash))}`
    : id && `#${encodeURIComponent(id)}`;
  return { url: url.startsWith('#') ? fragment || '#' : `${encodeURI(path)}${query}${fragment}`, reference };
}

/** The hint for a file on an editor's computer. */
export const copyIt = 'copy the file to content/media/ and write /media/ and the file name';

/** The prefix of a site path in an editor's folders and in the preview. */
const onThisComputer =
  /^(?:https?:\/\/(?:localhost|127\.0\.0\.1)(?::\d+)?)?\/(?:content|preview)(?=\/(?:blog|knowledgebase|media)\/)/i;

/** Finds the site path behind an address that works only on an editor's computer. */
export function findSitePath(url: string): string | undefined {
  return onThisComputer.test(url) ? url.replace(onThisComputer, '').replace(/\.md(?=[?#]|$)/, '') : undefined;
}

/** Checks whether a URL in the article at a site path points to content/media/. */
export function isOwnMedia(url: string, sitePath: string): boolean {
  return toTarget(url, sitePath)?.path?.startsWith('/media/') ?? false;
}

/** Matches a whole address of an article or a media file, of this or another site. */
const wholeAddress = /^(?:https?:)?(\/\/[^?#]*?)(\/(?:blog|knowledgebase|media)\/[^]*)$/i;

const inContent = /^\/(?:blog|knowledgebase|media)\//;

/** Returns the target of a URL in content/; undefined for other sites and other pages of this site. */
function toTarget(url: string, base: string): { path: string | undefined; query: string; hash: string } | undefined {
  if (/^(?:[a-z][a-z0-9+.-]*:|\/\/)/i.test(url)) return undefined;
  const [, written = '', query = '', hash = ''] = /^([^?#]*)(\?[^#]*)?(?:#(.*))?$/s.exec(url) ?? [];
  const file = decodePercent(written);
  if (file === '') return { path: base, query, hash };
  // Source files and site paths have the same folders, so relative links work for both.
  const path = file.startsWith('/') ? file : `/${posix.join(posix.dirname(base).slice(1), file)}`;
  if (inContent.test(path)) return { path: path.replace(/\.md$/, ''), query, hash };
  return file.startsWith('/') ? undefined : { path: undefined, query, hash };
}

function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
