import type { Nodes } from 'mdast';
import type { Finding } from '../../common/finding.ts';
import { walk } from '../plugins/walk.ts';

/** A probable mistake in the Markdown of an article, by its place in the body. */
export interface LintFinding extends Finding {
  /** The name of the rule that found it. */
  readonly rule: string;
}

/** The article that the rules check. All positions are offsets in its text. */
export interface LintedArticle {
  readonly source: string;
  readonly sitePath: string;
  /** The source of a node. */
  readonly sourceOf: (node: Nodes) => string;
  /**
   * The source of a paragraph, heading or cell in which everything that is not plain text is replaced by as many spaces:
   * code, HTML, links, pictures and escaped characters.
   */
  readonly plainTextOf: (node: Nodes) => string;
  readonly warn: Report;
  readonly error: Report;
}

/** Reports a mistake at an offset of the text. */
export type Report = (offset: number, message: string, hint?: string) => void;

/**
 * What a rule does at each node of a type, in the order of the text, a parent before its children; at each tag of raw HTML;
 * and at the end.
 */
export type Visitor = { readonly [Type in Nodes['type']]?: (node: Extract<Nodes, { type: Type }>) => void } & {
  readonly tag?: (tag: Tag) => void;
  readonly end?: () => void;
};

/** Starts the check of an article. A rule returns an empty visitor if a look at the text shows that it has no work. */
export type Rule = (article: LintedArticle) => Visitor;

/** The offset at which a node begins. */
export function startOf(node: Nodes): number {
  return node.position?.start.offset ?? 0;
}

/** Creates the functions of a {@link LintedArticle} that read its source. */
export function readSource(source: string): Pick<LintedArticle, 'source' | 'sourceOf' | 'plainTextOf'> {
  const sourceOf = (node: Nodes): string => source.slice(startOf(node), node.position?.end.offset ?? 0);
  const plainTexts = new Map<Nodes, string>();
  return {
    source,
    sourceOf,
    plainTextOf(node) {
      const text = plainTexts.get(node) ?? toPlainText(node, sourceOf(node));
      plainTexts.set(node, text);
      return text;
    },
  };
}

const notPlainText = new Set<string>(
  'inlineCode html link linkReference image imageReference footnoteReference'.split(' '),
);

function toPlainText(parent: Nodes, source: string): string {
  const start = startOf(parent);
  let text = '';
  walk(parent, (node) => {
    if (!notPlainText.has(node.type) || !node.position) return undefined;
    const end = node.position.end.offset! - start;
    text += source.slice(text.length, startOf(node) - start);
    // Line breaks stay, so that offsets and lines are the same.
    text += source.slice(text.length, end).replace(/[^\n]/g, ' ');
    return false;
  });
  return (text + source.slice(text.length)).replace(/\\[!-/:-@[-`{-~]/g, '  ');
}

/** A start or end tag of raw HTML. */
export interface Tag {
  /** Its name in lower case. */
  readonly name: string;
  readonly kind: 'start' | 'end' | 'empty';
  /** The tag as written. */
  readonly text: string;
  /** Where it begins. */
  readonly offset: number;
  /** An attribute, and where its value begins; undefined if there is none. */
  readonly attribute: (name: string) => { readonly value: string; readonly offset: number } | undefined;
}

/** Each repetition begins with another character, so that the time is linear. */
const markup = /<!--[^]*?(?:-->|$)|<(\/?)([a-z][^\s/><"'`]*)((?:"[^"]*"|'[^']*'|[^"'<>])*)>?/gi;

/** Elements whose content is no HTML. */
const rawText = new Set(['script', 'style', 'textarea', 'title', 'iframe', 'noembed', 'noframes', 'xmp', 'noscript']);

/** Lists the tags of raw HTML that begins at an offset, without those in comments, attributes and scripts. */
export function tagsIn(html: string, start: number): Tag[] {
  const tags: Tag[] = [];
  let raw: string | undefined;
  for (const { index, 0: text, 1: slash, 2: written, 3: attributes } of html.matchAll(markup)) {
    if (written === undefined) continue;
    const name = written.toLowerCase();
    const kind = slash ? 'end' : attributes?.endsWith('/') ? 'empty' : 'start';
    if (raw !== undefined && !(kind === 'end' && name === raw)) continue;
    raw = kind === 'start' && rawText.has(name) ? name : undefined;
    const offset = start + index;
    tags.push({ name, kind, text, offset, attribute: (of) => findAttribute(text, offset, of) });
  }
  return tags;
}

function findAttribute(tag: string, start: number, name: string): ReturnType<Tag['attribute']> {
  const match = new RegExp(`\\s${name}\\s*(?:=\\s*(?:"([^"]*)"|'([^']*)'|([^\\s"'>]*))|(?=[\\s/>]))`, 'di').exec(tag);
  if (!match) return undefined;
  const group = [1, 2, 3].find((at) => match[at] !== undefined);
  return group === undefined
    ? { value: '', offset: start + match.index + 1 }
    : { value: match[group]!, offset: start + match.indices![group]![0] };
}
