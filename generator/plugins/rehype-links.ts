import { posix } from 'node:path';
import type { Element, Root } from 'hast';
import { visit } from 'unist-util-visit';
import type { VFile } from 'vfile';
import { idPrefix, toSafeId } from './rehype-heading-ids.ts';

/** A link or image of an article that leads into the content; line and column count from 1 in the body. */
export interface Reference {
  /** What the author wrote. */
  readonly url: string;
  /** The site path that it leads to, or undefined where it leaves content/. */
  readonly path: string | undefined;
  /** The decoded part behind `#`, or an empty text. */
  readonly anchor: string;
  readonly line: number;
  readonly column: number;
}

declare module 'vfile' {
  interface DataMap {
    /** The site path of the article that is rendered. */
    sitePath: string;
    /** The links and images that lead into the content. */
    references: Reference[];
    /** The ids, and names of `<a name>`, that links can lead to. */
    ids: string[];
  }
}

const attributes: Readonly<Record<string, string>> = { a: 'href', img: 'src' };

/**
 * Rewrites links to files (`../vps/backups.md`, `../../media/x.png`) to site paths, and anchors to the ids that the
 * elements really have. Notes every link into the content in `file.data.references`, and all ids in `file.data.ids`.
 */
export function rehypeLinks() {
  return (tree: Root, file: VFile): void => {
    const sitePath = file.data.sitePath ?? '/';
    const ids = collectIds(tree);
    const references: Reference[] = [];
    let at = { line: 1, column: 1 };
    visit(tree, 'element', (node: Element) => {
      // Elements that come from raw HTML may lack a position; the last one before them is near enough.
      at = node.position?.start ?? at;
      const attribute = attributes[node.tagName];
      const url = attribute && node.properties[attribute];
      const target = typeof url === 'string' ? toTarget(url, sitePath) : undefined;
      if (!attribute || typeof url !== 'string' || !target) return;
      const { path, query, anchor } = target;
      references.push({ url, path, anchor, line: at.line, column: at.column });
      if (path === undefined) return;
      const prefixed = path === sitePath && !ids.has(anchor) && ids.has(idPrefix + anchor);
      const hash = anchor && `#${encodeURIComponent(prefixed ? idPrefix + anchor : toSafeId(anchor))}`;
      node.properties[attribute] = url.startsWith('#') ? hash || '#' : `${encodeURI(path)}${query}${hash}`;
    });
    file.data.references = references;
    file.data.ids = [...ids];
  };
}

function collectIds(tree: Root): Set<string> {
  const ids = new Set<string>();
  visit(tree, 'element', ({ tagName, properties: { id, name } }) => {
    if (typeof id === 'string') ids.add(id);
    if (tagName === 'a' && typeof name === 'string') ids.add(name);
  });
  return ids;
}

const inContent = /^\/(?:blog|knowledgebase|media)\//;

/** Where a URL leads; undefined for other sites, and for pages of this site that are not made from content/. */
function toTarget(url: string, base: string): (Pick<Reference, 'path' | 'anchor'> & { query: string }) | undefined {
  if (/^(?:[a-z][a-z0-9+.-]*:|\/\/)/i.test(url)) return undefined;
  const [, written = '', query = '', hash = ''] = /^([^?#]*)(\?[^#]*)?(?:#(.*))?$/s.exec(url) ?? [];
  const file = decode(written);
  const anchor = decode(hash);
  if (file === '') return { path: base, query, anchor };
  // Source files and site paths nest alike, so a relative link means the same in both.
  const path = file.startsWith('/') ? file : `/${posix.join(posix.dirname(base).slice(1), file)}`;
  if (inContent.test(path)) return { path: path.replace(/\.md$/, ''), query, anchor };
  return file.startsWith('/') ? undefined : { path: undefined, query, anchor };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
