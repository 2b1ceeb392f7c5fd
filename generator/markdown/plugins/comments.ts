import type { Definition, Nodes, Root } from 'mdast';
import { walk } from './walk.ts';

/** A comment, or a tag, whose values may contain `<!--`. */
const commentOrTag = /<!--(?:-?>|[^]*?(?:--!?>|$))|<[a-z/](?:"[^"]*"|'[^']*'|[^'"<>])*>/gi;

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

/** Removes comments from Markdown, except in code. An empty comment stays where its neighbours would change. */
export function removeComments(markdown: string, parse: (markdown: string) => Root): string {
  if (!/<!--|\]:[ \t]*(?:#|<>)/.test(markdown)) return markdown;
  const tree = parse(markdown);
  const used = findReferences(tree);
  const comments: (readonly [from: number, to: number, empty: string])[] = [];
  walk(tree, (node) => {
    const [from, to] = [node.position?.start.offset ?? 0, node.position?.end.offset ?? 0];
    if (node.type === 'definition' && isNote(node) && !used.has(node.identifier)) comments.push([from, to, '[//]: #']);
    if (node.type !== 'html') return;
    for (const { index, 0: text } of markdown.slice(from, to).matchAll(commentOrTag))
      if (text.startsWith('<!--')) comments.push([from + index, from + index + text.length, '<!-- -->']);
  });
  const outline = outlineOf(tree);
  // From the end, so that offsets stay.
  const fromEnd = comments.toReversed();
  let text = fromEnd.reduce((all, [from, to]) => join(all.slice(0, from), all.slice(to)), markdown);
  // Only if all at once would change a neighbour, each on its own: that parses the text for each comment.
  if (outlineOf(parse(text)) !== outline) {
    text = markdown;
    for (const [from, to, empty] of fromEnd) {
      const [before, after] = [text.slice(0, from), text.slice(to)];
      const without = join(before, after);
      text = outlineOf(parse(without)) === outline ? without : before + empty + after;
    }
  }
  return text.trimEnd() + (text.endsWith('\n') ? '\n' : '');
}

/** Joins the texts around a comment, without the line or the space that it leaves. */
function join(before: string, after: string): string {
  const line = /(?:^|\n)[ \t>]*$/.exec(before);
  const rest = /^[ \t]*(?:\n|$)/.exec(after);
  if (!line || !rest) return (rest || /^\s/.test(after) ? before.replace(/[ \t]+$/, '') : before) + after;
  const above = before.slice(0, line.index);
  const below = after.slice(rest[0].length);
  // Of two empty lines around it, one stays.
  return (above && `${above}\n`) + (/(?:^|\n)[ \t>]*$/.test(above) ? below.replace(/^[ \t]*\n/, '') : below);
}

/** Describes the blocks and texts of a tree, without comments and the amount of space. */
function outlineOf(node: Nodes): string {
  if (node.type === 'html')
    return node.value.replace(commentOrTag, (tag) => (tag.startsWith('<!--') ? '' : tag)).replace(/\s+/g, ' ');
  if (node.type === 'text') return node.value.replace(/\s+/g, ' ');
  if (node.type === 'definition' && isNote(node)) return '';
  const { position: _position, ...fields } = node;
  const own = { ...fields, children: undefined, data: undefined };
  const inner = 'children' in node ? node.children.map(outlineOf).join('') : '';
  return `<${JSON.stringify(own)}>${inner.replace(/ +/g, ' ').trim()}</>`;
}
