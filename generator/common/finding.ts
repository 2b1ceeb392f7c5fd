/** A position in a text; lines and columns start at 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** A mistake in a text, described for authors. It is plain JSON. */
export interface Finding extends Position {
  /** A warning may be intentional. */
  readonly severity: 'error' | 'warning';
  /** A lenient build reports the error as a warning. */
  readonly isLenient?: boolean | undefined;
  readonly message: string;
  readonly hint?: string | undefined;
}

/** The finding for conflict markers of git. */
export const mergeConflict = {
  message: 'unresolved merge conflict',
  hint: 'keep one of the two texts, and delete the lines with <<<<<<<, ======= and >>>>>>>',
};
