/** A position in a text; lines and columns count from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** What is wrong with a text, in the words of somebody who writes it, with a hint how to fix it. It is plain JSON. */
export interface Finding extends Position {
  /** A warning may be intended. */
  readonly severity: 'error' | 'warning';
  readonly message: string;
  readonly hint?: string | undefined;
}

/** The message for conflict markers of git in a text. */
export const mergeConflict = {
  message: 'a merge conflict is not resolved',
  hint: 'keep one of the two texts and delete the lines with <<<<<<<, ======= and >>>>>>>',
};
