import type { Nodes } from 'mdast';

/** A probable mistake in the Markdown of an article; line and column count from 1 in the body. */
export interface Finding {
  /** An error certainly breaks the page; a warning may be intended. */
  readonly severity: 'error' | 'warning';
  /** The name of the rule that found it. */
  readonly rule: string;
  readonly message: string;
  readonly hint?: string | undefined;
  readonly line: number;
  readonly column: number;
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

/** What a rule does at each node of a type, in the order of the text, a parent before its children, and at the end. */
export type Visitor = { readonly [Type in Nodes['type']]?: (node: Extract<Nodes, { type: Type }>) => void } & {
  readonly end?: () => void;
};

/** Starts the check of an article. A rule returns an empty visitor if a look at the text shows that it has no work. */
export type Rule = (article: LintedArticle) => Visitor;

/** The offset at which a node begins. */
export function startOf(node: Nodes): number {
  return node.position?.start.offset ?? 0;
}
