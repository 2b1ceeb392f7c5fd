import { posix } from 'node:path';
import GithubSlugger from 'github-slugger';
import type { Element, Nodes, Parents, Properties, Root } from 'hast';
import { toString } from 'hast-util-to-string';
import type { Position } from '../../common/finding.ts';
import { decorateCode } from './code.ts';
import { walk } from './walk.ts';

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

/** An own picture in the HTML of an article, by its site path, with the width or height that its author wrote. */
interface Picture {
  readonly path: string;
  readonly width: number | undefined;
  readonly height: number | undefined;
}

/** What an article refers to, and what can be referred to in it. */
export interface Targets {
  /** The pictures whose size is to be filled in, in their order. */
  readonly pictures: readonly Picture[];
  /** Links, pictures, videos and sounds that point to this site. */
  readonly references: readonly Reference[];
  /** The IDs, and names of `<a name>`, that links can point to. */
  readonly ids: readonly string[];
}

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

/** Stands for the size of a picture, which changes if the picture does. No article can contain it: HTML has no NUL. */
export const sizePlaceholder = ' data-size="&#x0;"';

const urlAttributes: Readonly<Record<string, Readonly<Record<string, ReferenceUse>>>> = {
  a: { href: 'link' },
  img: { src: 'picture' },
  video: { src: 'player', poster: 'picture' },
  audio: { src: 'player' },
  source: { src: 'player' },
};

/**
 * Adds to the sanitised tree of the article at a site path what the sanitiser would remove or prefix: the IDs of headings, as
 * GitHub makes them, the colours and lines of code, site paths, and attributes for accessibility and loading. Removes videos
 * and sounds that are no files in content/media/: others could track readers, and may vanish.
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
    // Elements from raw HTML may lack a position; the last one before them is close enough.
    at = node.position?.start ?? at;
    if (/^h[1-6]$/.test(tagName) && properties.id === undefined) {
      const slug = slugger.slug(toString(node).trim());
      if (slug) properties.id = toSafeId(slug);
    }
    if (typeof properties.id === 'string') ids.add(properties.id);
    if (tagName === 'a' && typeof properties.name === 'string') ids.add(properties.name);
    if (tagName === 'pre' || tagName === 'code') decorateCode(node);
    // WCAG 2.2: the keyboard scrolls what may be wider than the screen (2.1.1), and task boxes have names (4.1.2).
    if (tagName === 'pre' || tagName === 'table') properties.tabIndex = 0;
    if (tagName === 'input') properties.ariaLabel = properties.checked ? 'Completed task' : 'Incomplete task';
    if (tagName in urlAttributes || properties.srcSet !== undefined) linked.push({ node, at });
  });

  const references: Reference[] = [];
  const pictures: Picture[] = [];
  // After the walk, since a link may point to an ID below it.
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
  // The sanitiser does not check the URLs in a srcset.
  if (/(?:^|,)\s*(?!https?:)[a-z][a-z0-9+.-]*:/i.test(properties.srcSet)) delete properties.srcSet;
  else properties.srcSet = mapSrcset(properties.srcSet, (url) => resolve(url, 'picture'));
}

/** Replaces the URLs in the value of a `srcset`, each of which precedes its width or density. */
export function mapSrcset(value: string, map: (url: string) => string): string {
  return value.replace(/([^\s,]\S*[^\s,])([^,]*)/g, (_, url: string, size: string) => map(url) + size);
}

/** Lets browsers load an own picture when it is needed, and reserves a place for its size. */
function reservePicture({ properties }: Element): Picture[] {
  const [path] = /^\/media\/[^?#]+/.exec(String(properties.src)) ?? [];
  if (path === undefined) return [];
  const [width, height] = [toLength(properties.width), toLength(properties.height)];
  const isOpen = width !== 'percentage' && height !== 'percentage' && (width === undefined || height === undefined);
  if (isOpen) Object.assign(properties, { width: undefined, height: undefined, dataSize: '\0' });
  properties.loading = 'lazy';
  properties.decoding = 'async';
  return isOpen ? [{ path, width, height }] : [];
}

/** The number of pixels of a width or height; undefined if browsers ignore it. */
function toLength(value: Properties[string]): number | 'percentage' | undefined {
  const [, number, rest = ''] = /^\s*(\d+(?:\.\d+)?)(.*)$/s.exec(String(value)) ?? [];
  if (number === undefined) return undefined;
  return rest.startsWith('%') ? 'percentage' : Number(number);
}

/** Removes from the children of a node, and from the players in them, what plays a file of another site. */
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
    // A `picture` has sources too, whose files are in `srcset`.
    if (isSource(child)) return properties.src !== undefined || !isPlayer(parent);
    removeForeignPlayers(child, sitePath);
    return properties.src !== undefined || child.children.some((inner) => isSource(inner) || isPlayer(inner));
  });
  parent.children = kept as typeof parent.children;
}

const isPlayer = (node: Nodes): boolean => node.type === 'element' && ['video', 'audio'].includes(node.tagName);
const isSource = (node: Nodes): boolean => node.type === 'element' && node.tagName === 'source';

/** Converts an anchor name to an ID that is safe from DOM clobbering. */
export function toSafeId(anchor: string): string {
  return clobbering.has(anchor) ? `${idPrefix}${anchor}` : anchor;
}

/**
 * Resolves a URL of the article at a site path: links to files (`../vps/backups.md`, `../../media/x.png`) become site paths,
 * and anchors of the same article become the actual ones of its `ids`. The reference is what it leads to in content/.
 */
function resolveUrl(
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
  const ownId = [decodePercent(hash), hash].flatMap((name) => [name, idPrefix + name]).find((id) => ids.has(id));
  const id = (path === sitePath ? ownId : undefined) ?? toSafeId(decodePercent(hash));
  const reference = { path, id };
  if (path === undefined) return { url, reference };
  // Of a file it is no ID: `#page=3` of a PDF, `#t=10,20` of a video.
  const fragment = path.startsWith('/media/')
    ? hash && `#${encodeURI(decodePercent(hash))}`
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
  const file = decodePercent(written);
  if (file === '') return { path: base, query, hash };
  // Source files and site paths have the same folders, so a relative link has the same target in both.
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
