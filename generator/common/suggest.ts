import { closest, distance } from 'fastest-levenshtein';

/** The known word that a mistyped one is likely to mean, as a hint; undefined where none is near. */
export function suggest(word: string, known: readonly string[]): string | undefined {
  const most = Math.max(2, word.length / 3);
  // Words whose lengths differ by more than that are no nearer, and most need not be compared.
  const candidates = known.filter(({ length }) => Math.abs(length - word.length) <= most);
  if (candidates.length === 0) return undefined;
  const nearest = closest(word, candidates);
  return distance(word, nearest) <= most ? `did you mean "${nearest}"?` : undefined;
}
