import { closest, distance } from 'fastest-levenshtein';

/** Lists the first names, and the number of the others. */
export function listNames(names: readonly string[], most = 10): string {
  const more = names.length - most;
  return `${names.slice(0, most).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** Suggests the valid word that is most similar to a mistyped word, as a hint. */
export function suggest(word: string, validWords: readonly string[]): string | undefined {
  const similar = findSimilar(word, validWords);
  return similar === undefined ? undefined : `did you mean "${similar}"?`;
}

/** Returns {@link suggest} in brackets, to append to a sentence; empty if no valid word is similar. */
export function didYouMean(word: string, validWords: readonly string[]): string {
  const hint = suggest(word, validWords);
  return hint === undefined ? '' : ` (${hint})`;
}

/** Finds the valid word that is most similar to a mistyped word. */
export function findSimilar(word: string, validWords: readonly string[]): string | undefined {
  const maxDistance = Math.max(2, word.length / 3);
  // The distance is at least the difference in length, which rules out most words.
  const candidates = validWords.filter(({ length }) => Math.abs(length - word.length) <= maxDistance);
  if (candidates.length === 0) return undefined;
  const nearest = closest(word, candidates);
  return distance(word, nearest) <= maxDistance ? nearest : undefined;
}
