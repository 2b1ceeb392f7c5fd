import { suggest } from '#common/suggest.ts';
import { escapeControls } from '#common/terminal.ts';

/** Redacts the secrets of API keys: a mistyped command must not leave one in a log or on a shared screen. */
export function redactKeys(text: string): string {
  return text.replaceAll(/(hk_[A-Za-z0-9]{12})_[A-Za-z0-9]+/g, '$1_***');
}

/** Escapes and redacts text from outside, so that it is safe to print. */
export function toPrintable(text: string): string {
  return escapeControls(redactKeys(text));
}

/** Returns ` (did you mean "x"?)`, or an empty text if no candidate is near. */
export function didYouMean(word: string, candidates: readonly string[]): string {
  const hint = suggest(word, candidates);
  return hint === undefined ? '' : ` (${hint})`;
}

/** A time in ISO format; null stays null. */
export function toIso(time: number | null): string | null {
  return time === null ? null : new Date(time).toISOString();
}
