import { closest, distance } from 'fastest-levenshtein';

/** The known word that a mistyped one is likely to mean, as a hint; undefined where none is near. */
export function suggest(word: string, known: readonly string[]): string | undefined {
  if (known.length === 0) return undefined;
  const nearest = closest(word, known);
  return distance(word, nearest) <= Math.max(2, word.length / 3) ? `did you mean "${nearest}"?` : undefined;
}
