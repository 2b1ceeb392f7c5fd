import { posix } from 'node:path';
import type { Root } from 'hast';
import type { VFile } from 'vfile';
import { walk } from './walk.ts';
import { idPrefix, toSafeId } from './rehype-heading-ids.ts';

/** A link, picture, video or sound of an article that points into content/; line and column count from 1 in the body. */
export interface Reference {
  /** The URL as written by the author. */
  readonly url: string;
  /** The site path of its target; undefined if the target is outside content/. */
  readonly path: string | undefined;
  readonly use: ReferenceUse;
  /** The ID in the target, or an empty string. */
  readonly id: string;
  readonly line: number;
  readonly column: number;
}

/** A player shows a video or plays a sound. */
export type ReferenceUse = 'link' | 'picture' | 'player';

declare module 'vfile' {
  interface DataMap {
    /** The site path of the article that is rendered. */
    sitePath: string;
    /** The links, pictures, videos and sounds that point into content/. */
    references: Reference[];
    /** The IDs, and names of `<a name>`, that links can point to. */
    ids: ReadonlySet<string>;
  }
}

/** The attributes that hold one URL, by element. */
const attributes = new Map<string, readonly (readonly [attribute: string, use: ReferenceUse])[]>([
  ['a', [['href', 'link']]],
  ['img', [['src', 'picture']]],
  [
    'video',
    [
      ['src', 'player'],
      ['poster', 'picture'],
    ],
  ],
  ['audio', [['src', 'player']]],
  ['source', [['src', 'player']]],
]);

/**
 * Rewrites links to files (`../vps/backups.md`, `../../media/x.png`) to site paths, and anchors to the actual IDs in
 * `file.data.ids`. Collects every link into content/ in `file.data.references`.
 */
export function rehypeLinks() {
  return (tree: Root, file: VFile): void => {
    const sitePath = file.data.sitePath ?? '/';
    const ids = file.data.ids ?? new Set();
    const references: Reference[] = [];
    let at = { line: 1, column: 1 };
    const resolve = (url: string, use: ReferenceUse): string => {
      const target = toTarget(url, sitePath);
      if (!target) return url;
      const { path, query, hash } = target;
      // An ID may itself be percent-encoded, as those of footnotes are.
      const ownId = [decode(hash), hash].flatMap((name) => [name, idPrefix + name]).find((id) => ids.has(id));
      const id = (path === sitePath ? ownId : undefined) ?? toSafeId(decode(hash));
      references.push({ url, path, use, id, line: at.line, column: at.column });
      if (path === undefined) return url;
      // Of a file it is no ID: `#page=3` of a PDF, `#t=10,20` of a video.
      const fragment = path.startsWith('/media/')
        ? hash && `#${encodeURI(decode(hash))}`
        : id && `#${encodeURIComponent(id)}`;
      return url.startsWith('#') ? fragment || '#' : `${encodeURI(path)}${query}${fragment}`;
    };
    walk(tree, (node) => {
      if (node.type !== 'element') return;
      // Elements from raw HTML may lack a position; the last one before them is close enough.
      at = node.position?.start ?? at;
      const { properties } = node;
      for (const [attribute, use] of attributes.get(node.tagName) ?? []) {
        const value = properties[attribute];
        if (typeof value === 'string') properties[attribute] = resolve(value, use);
      }
      // The sanitiser does not check the URLs in a srcset, each of which precedes its width or density.
      if (typeof properties.srcSet !== 'string') return;
      if (/(?:^|,)\s*(?!https?:)[a-z][a-z0-9+.-]*:/i.test(properties.srcSet)) {
        delete properties.srcSet;
      } else {
        properties.srcSet = properties.srcSet.replace(
          /([^\s,]\S*[^\s,])([^,]*)/g,
          (_, url, size) => resolve(url, 'picture') + size,
        );
      }
    });
    file.data.references = references;
  };
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

/** Whether a URL in the article at a site path leads to a file in content/media/. */
export function isOwnMedia(url: string, sitePath: string): boolean {
  return toTarget(url, sitePath)?.path?.startsWith('/media/') ?? false;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
