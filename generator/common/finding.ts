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

const mergeConflict = {
  message: 'unresolved merge conflict',
  hint: 'keep one of the two texts, and delete the lines with <<<<<<<, ======= and >>>>>>>',
};

/** Finds conflict markers of git, at the first line of each conflict. */
export function findConflicts(text: string) {
  const markers = [...text.matchAll(/^(?:<{7}|>{7}|\|{7})(?= |$)|^={7}$/gm)];
  const starts = markers.filter(([marker]) => marker.startsWith('<'));
  return (starts.length > 0 ? starts : markers.slice(0, 1)).map(({ index: offset }) => ({ offset, ...mergeConflict }));
}
