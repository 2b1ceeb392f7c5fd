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

/** A comment in a text, and the empty one that can take its place. */
interface Comment {
  readonly from: number;
  readonly to: number;
  readonly empty: string;
}

/**
 * Removes comments from Markdown, except in code. An empty comment stays where its neighbours would change. Expects the
 * tree of the text, as `parse` returns it.
 */
export function removeComments(markdown: string, tree: Root, parse: (markdown: string) => Root): string {
  if (!/<!--|\]:[ \t]*(?:#|<>)/.test(markdown)) return markdown;
  const comments = findComments(markdown, tree);
  if (comments.length === 0) return markdown;
  const outline = outlineOf(tree);
  let text = withoutComments(markdown, comments, new Set());
  const isSame = (): boolean => outlineOf(parse(text)) === outline;
  if (!isSame()) {
    // Part by part: to parse the whole text for each comment would take too long.
    const needed = toParts(tree, comments, markdown).flatMap((part) => findNeeded(part, parse));
    text = withoutComments(markdown, comments, new Set(needed));
    if (!isSame()) text = withoutComments(markdown, comments, new Set(comments));
  }
  return text.trimEnd() + (text.endsWith('\n') ? '\n' : '');
}

function findComments(markdown: string, tree: Root): Comment[] {
  const used = findReferences(tree);
  const comments: Comment[] = [];
  walk(tree, (node) => {
    const [from, to] = offsetsOf(node);
    if (node.type === 'definition' && isNote(node) && !used.has(node.identifier))
      comments.push({ from, to, empty: '[//]: #' });
    if (node.type !== 'html') return;
    for (const { index, 0: text } of markdown.slice(from, to).matchAll(commentOrTag))
      if (text.startsWith('<!--'))
        comments.push({ from: from + index, to: from + index + text.length, empty: '<!-- -->' });
  });
  return comments;
}

const offsetsOf = ({ position }: Nodes) => [position?.start.offset ?? 0, position?.end.offset ?? 0] as const;

/** A part of a text that can be parsed alone: a block with comments, or two blocks with comments between them. */
interface Part {
  readonly text: string;
  /** The offset of the part in the whole text. */
  readonly start: number;
  readonly comments: readonly Comment[];
}

function toParts({ children }: Root, comments: readonly Comment[], markdown: string): Part[] {
  const toPart = (start: number, end: number, first = start, last = end): Part => {
    const inside = comments.filter(({ from, to }) => from >= first && to <= last);
    return { text: markdown.slice(start, end), start, comments: inside };
  };
  const blocks = children.filter((child) => outlineOf(child) !== '').map(offsetsOf);
  const ends = [[0, 0] as const, ...blocks, [markdown.length, markdown.length] as const];
  const between = ends.slice(1).map(([start, end], at) => toPart(ends[at]![0], end, ends[at]![1], start));
  return [...blocks.map(([start, end]) => toPart(start, end)), ...between].filter((part) => part.comments.length > 0);
}

/** Finds the comments that must stay in a part. */
function findNeeded({ text, start, comments }: Part, parse: (markdown: string) => Root): Comment[] {
  const own = comments.map((comment) => ({ ...comment, from: comment.from - start, to: comment.to - start }));
  const outline = outlineOf(parse(text));
  const needed = new Set<Comment>();
  const isSame = (): boolean => outlineOf(parse(withoutComments(text, own, needed))) === outline;
  if (isSame()) return [];
  for (const comment of own) needed.add(comment);
  for (const comment of own.toReversed()) {
    needed.delete(comment);
    if (!isSame()) needed.add(comment);
  }
  return comments.filter((_, at) => needed.has(own[at]!));
}

/** Removes comments from a text, but for those in `needed`, which become empty. */
const withoutComments = (text: string, comments: readonly Comment[], needed: ReadonlySet<Comment>): string =>
  // From the end, so that offsets stay.
  comments.reduceRight((all, comment) => {
    const [before, after] = [all.slice(0, comment.from), all.slice(comment.to)];
    return needed.has(comment) ? before + comment.empty + after : join(before, after);
  }, text);

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
  if (node.type === 'html') {
    const text = node.value.replace(commentOrTag, (tag) => (tag.startsWith('<!--') ? '' : tag));
    return text.replace(/\s+/g, ' ').trim();
  }
  if (node.type === 'text') return node.value.replace(/\s+/g, ' ');
  if (node.type === 'definition' && isNote(node)) return '';
  const { position: _position, ...fields } = node;
  const own = { ...fields, children: undefined, data: undefined };
  const inner = 'children' in node ? node.children.map(outlineOf).join('') : '';
  return `<${JSON.stringify(own)}>${inner.replace(/ +/g, ' ').trim()}</>`;
}
