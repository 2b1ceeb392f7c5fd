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
  const parts = toParts(tree, comments, markdown);
  let text = withoutComments(markdown, comments, new Set());
  const isSame = (): boolean => outlineOf(parse(text)) === outlineOf(tree);
  if (parts.length > 0 && !isSame()) {
    // Part by part: to parse the whole text for each comment would take too long.
    const needed = parts.flatMap((part) => findNeeded(part, parse));
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

/** Lists the parts that may change without their comments. */
function toParts({ children }: Root, comments: readonly Comment[], markdown: string): Part[] {
  const blocks = children.filter((child) => !/^(?:html|definition)$/.test(child.type) || outlineOf(child) !== '');
  let last = -1;
  const byBlock = Map.groupBy(comments, ({ from }) => {
    while (last + 1 < blocks.length && offsetsOf(blocks[last + 1]!)[0] <= from) last += 1;
    return last;
  });
  return [...byBlock].flatMap(([at, own]) => {
    const [above, below] = [blocks[at], blocks[at + 1]];
    const [start, end] = above ? offsetsOf(above) : [0, 0];
    const after = own.filter(({ from }) => from >= end);
    const parts = [{ text: markdown.slice(start, end), start, comments: own.filter(({ from }) => from < end) }];
    if (below && after.length > 0 && !staysApart(above, below, after, markdown))
      parts.push({ text: markdown.slice(start, offsetsOf(below)[1]), start, comments: after });
    return parts.filter((part) => part.comments.length > 0);
  });
}

/** Checks whether a block stays apart from the one above without the comments between them (CommonMark 0.31, 5). */
function staysApart(above: Nodes | undefined, below: Nodes, comments: readonly Comment[], markdown: string): boolean {
  const [first, last] = [comments[0]!, comments.at(-1)!];
  const hasEmptyLine = (from: number, to: number): boolean => /\n[ \t]*\n/.test(markdown.slice(from, to));
  // A line below `<!-- -->` starts a block. Below a definition, `2. x` is a paragraph, but elsewhere a list.
  const isBelowHtml = last.empty.startsWith('<') && (!above || hasEmptyLine(offsetsOf(above)[1], first.from));
  if (!isBelowHtml && !hasEmptyLine(last.to, offsetsOf(below)[0])) return false;
  const mayContinue = above?.type === 'list' || above?.type === 'footnoteDefinition';
  return !mayContinue || (below.type !== 'list' && below.type !== 'code' && below.position?.start.column === 1);
}

/** Finds the comments that must stay in a part. */
function findNeeded({ text, start, comments }: Part, parse: (markdown: string) => Root): Comment[] {
  const outline = outlineOf(parse(text));
  const needed = new Set<Comment>();
  const isSame = (): boolean => outlineOf(parse(withoutComments(text, comments, needed, start))) === outline;
  if (isSame()) return [];
  for (const comment of comments) needed.add(comment);
  for (const comment of comments.toReversed()) {
    needed.delete(comment);
    if (!isSame()) needed.add(comment);
  }
  return [...needed];
}

/** Removes comments from a text with this offset, but for those in `needed`, which become empty. */
const withoutComments = (text: string, comments: readonly Comment[], needed: ReadonlySet<Comment>, start = 0): string =>
  // From the end, so that offsets stay.
  comments.reduceRight((all, comment) => {
    const [before, after] = [all.slice(0, comment.from - start), all.slice(comment.to - start)];
    return needed.has(comment) ? before + comment.empty + after : join(before, after);
  }, text);

const blank = /^[ \t>]*$/;
const lastLineOf = (text: string): string => text.slice(text.lastIndexOf('\n') + 1);

/** Joins the texts around a comment, without the line or the space that it leaves. */
function join(before: string, after: string): string {
  const line = lastLineOf(before);
  const rest = /^[ \t]*(?:\n|$)/.exec(after);
  if (!blank.test(line) || !rest) return (rest || /^\s/.test(after) ? before.replace(/[ \t]+$/, '') : before) + after;
  const above = before.slice(0, Math.max(0, before.length - line.length - 1));
  const below = after.slice(rest[0].length);
  // Of two empty lines around it, one stays.
  return (above && `${above}\n`) + (blank.test(lastLineOf(above)) ? below.replace(/^[ \t]*\n/, '') : below);
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
