import type { Definition, Nodes, Root } from 'mdast';
import { walk } from './walk.ts';

/** A comment, or a tag, whose values may contain `<!--`. */
const commentOrTag = /<!--(?:-?>|[^]*?(?:--!?>|$))|<[a-z/](?:"[^"]*"|'[^']*'|[^'"<>])*>/gi;
const empty = '<!-- -->';

/** Checks for a definition that serves as a comment, such as `[//]: # (text)`. */
export const isNote = ({ url }: Definition): boolean => /^#?$/.test(url);

/** Collects the names that references use; those of footnotes start with `^`. */
export function findReferences(tree: Root): ReadonlySet<string> {
  const names = new Set<string>();
  walk(tree, (node) => {
    if (node.type === 'linkReference' || node.type === 'imageReference') names.add(node.identifier);
    if (node.type === 'footnoteReference') names.add(`^${node.identifier}`);
  });
  return names;
}

/** Blocks that take in indented text below; a list also takes in another list. */
const swallowing = new Set(['list', 'footnoteDefinition', 'code']);

/** Removes comments from Markdown, except in code. An empty comment stays where its neighbours would join. */
export function removeComments(markdown: string, tree: Root): string {
  if (!/<!--|\]:[ \t]*(?:#|<>)/.test(markdown)) return markdown;
  const used = findReferences(tree);
  const isComment = (node: Nodes): boolean =>
    node.type === 'html'
      ? node.value.replace(commentOrTag, (text) => (text.startsWith('<!--') ? '' : text)).trim() === ''
      : node.type === 'definition' && isNote(node) && !used.has(node.identifier);
  const edits: (readonly [from: number, to: number, text: string])[] = [];
  walk(tree, (parent) => {
    if (!('children' in parent)) return;
    const siblings: readonly Nodes[] = parent.children;
    const shown = siblings.filter((node) => !isComment(node));
    let passed = 0;
    for (const node of siblings) {
      const [above, below] = [shown[passed - 1], shown[passed]];
      const [{ offset: from = 0, column = 1 } = {}, to = 0] = [node.position?.start, node.position?.end.offset];
      if (node === below) {
        passed += 1;
        const html = node.type === 'html' ? markdown.slice(from, to) : '';
        for (const { index, 0: text } of html.matchAll(commentOrTag)) {
          // At the start, a comment makes the rest of the line HTML.
          const mark = html.slice(0, index).trim() === '' ? empty : '\0line';
          if (text.startsWith('<!--')) edits.push([from + index, from + index + text.length, mark]);
        }
      } else if (/^(?:root|blockquote|listItem|footnoteDefinition)$/.test(parent.type)) {
        const isInItem = /(?:Item|Definition)$/.test(parent.type);
        const next = below?.position?.start ?? { offset: 0, column: 0 };
        const isIndented = /[ \t]/.test(markdown.charAt(next.offset!)) || next.column > column;
        const isNeeded = above ? swallowing.has(above.type) && (below?.type === 'list' || isIndented) : isInItem;
        // Text right below a definition would be indented code without it.
        const isFree = node.type === 'html' || /^[ \t]*(?:\n[ \t]*[\n[]|\n?$)/.test(markdown.slice(to));
        const mark = isInItem ? '\0item' : '\0block';
        edits.push([from, to, isFree && !isNeeded ? mark : node.type === 'html' ? empty : '[//]: #']);
      } else {
        // Without it, a space may be left at the edge of bold text, which would not be bold.
        const isEdge = !/^(?:paragraph|heading|tableCell)$/.test(parent.type) && !(above && below);
        edits.push([from, to, isEdge ? empty : '\0line']);
      }
    }
  });
  if (edits.length === 0) return markdown;
  return (
    edits
      .toSorted(([a], [b]) => b - a)
      .reduce((text, [from, to, mark]) => text.slice(0, from) + mark + text.slice(to), markdown)
      // Alone in a line of a paragraph or of HTML; at the end of a line; between words.
      .replace(/(?<=^|\n)[ \t>]*(?:\0line[ \t]*)+(?:\n|$)/g, '')
      .replace(/(?<![ \t])[ \t]*(?:\0line)+(?=[ \t]*(?:\n|$))/g, '')
      .replace(/(?<=[\s|])(?:\0line)+[ \t]?|(?:\0line)+(?=[\s|])/g, '')
      .replace(/(?<=[\p{L}\p{N}.,;:!?()"'])(?:\0line)+(?=[\p{L}\p{N}.,;:!?()"'])/gu, '')
      .replaceAll('\0line', empty)
      // Below an empty line; above one; between other blocks.
      .replace(/(?<=^|\n[ \t]*\n)(?:[ \t]*\0(?:block|item)[ \t]*\n)+(?:[ \t]*\n)?/g, '')
      .replace(/(?<=^|\n)(?:[ \t]*\0(?:block|item)[ \t]*(?:\n|$))+(?=[ \t]*(?:\n|$))/g, '')
      .replaceAll('\0item', empty)
      .replaceAll('\0block', '')
      .replace(/^\s*\n/, '')
      .trimEnd()
      .concat('\n')
  );
}
