import type { Nodes as HtmlNodes } from 'hast';
import type { Nodes } from 'mdast';
import type { Position } from '../../common/finding.ts';

/** The article that the checks read. Offsets count in its source. */
export interface Linted {
  readonly source: string;
  readonly sitePath: string;
  /** The source of a node of Markdown. */
  readonly sourceOf: (node: Nodes | HtmlNodes) => string;
  /** Reports a probable mistake. */
  readonly warn: (place: number | Position, message: string, hint: string) => void;
}

/** The offset at which a node begins. */
export const startOf = ({ position }: Nodes): number => position?.start.offset ?? 0;
