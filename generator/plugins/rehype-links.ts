import { posix } from 'node:path';
import type { Element, Root } from 'hast';
import { visit } from 'unist-util-visit';
import type { VFile } from 'vfile';
import { idPrefix, toSafeId } from './rehype-heading-ids.ts';

/** A link or image of an article that leads to this site; line and column count from 1 in the body. */
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
    /** The links and images that lead to this site. */
    references: Reference[];
    /** The ids, and names of `<a name>`, that links can lead to. */
    ids: string[];
  }
}

const attributes: Readonly<Record<string, string>> = { a: 'href', img: 'src' };

/**
 * Rewrites links to files (`../vps/backups.md`, `../../media/x.png`) to site paths, and anchors to the ids that the
 * elements really have. Notes every link into this site in `file.data.references`, and all ids in `file.data.ids`.
 */
export function rehypeLinks() {
  return (tree: Root, file: VFile): void => {
    const ids = new Set<string>();
    visit(tree, 'element', ({ tagName, properties: { id, name } }) => {
      if (typeof id === 'string') ids.add(id);
      if (tagName === 'a' && typeof name === 'string') ids.add(name);
    });
    const references: Reference[] = [];
    const sitePath = file.data.sitePath ?? '/';
    let at = { line: 1, column: 1 };
    visit(tree, 'element', (node: Element) => {
      // Elements that come from raw HTML may lack a position; the last one before them is near enough.
      at = node.position?.start ?? at;
      const attribute = attributes[node.tagName];
      const url = attribute && node.properties[attribute];
      if (typeof url !== 'string' || /^(?:[a-z][a-z0-9+.-]*:|\/\/)/i.test(url)) return;
      const { path, query, anchor } = toSitePath(url, sitePath);
      references.push({ url, path, anchor, line: at.line, column: at.column });
      if (path === undefined) return;
      const id =
        path === sitePath && !ids.has(anchor) && ids.has(idPrefix + anchor) ? idPrefix + anchor : toSafeId(anchor);
      const hash = anchor ? `#${id === anchor ? url.slice(url.indexOf('#') + 1) : encodeURIComponent(id)}` : '';
      node.properties[attribute!] = url.startsWith('#') ? hash || '#' : `${encodeURI(path)}${query}${hash}`;
    });
    file.data.references = references;
    file.data.ids = [...ids];
  };
}

const inContent = /^\/(?:blog|knowledgebase|media)\//;

function toSitePath(url: string, base: string): { path: string | undefined; query: string; anchor: string } {
  const [, written = '', query = '', hash = ''] = /^([^?#]*)(\?[^#]*)?(?:#(.*))?$/s.exec(url) ?? [];
  const target = decode(written);
  const anchor = decode(hash);
  if (target === '') return { path: base, query, anchor };
  // Source files and site paths nest alike, so a relative link means the same in both.
  const path = target.startsWith('/') ? target : posix.join(posix.dirname(base), target);
  if (!target.startsWith('/') && escapes(base, target)) return { path: undefined, query, anchor };
  return { path: inContent.test(path) ? path.replace(/\.md$/, '') : path, query, anchor };
}

function escapes(base: string, target: string): boolean {
  const joined = posix.join(posix.dirname(base).slice(1), target);
  return !inContent.test(`/${joined}`);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
