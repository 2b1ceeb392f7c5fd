import { suggest } from '#common/suggest.ts';
import { escapeControls } from '#common/terminal.ts';

/** Text without the secrets of API keys: a mistyped command must not leave one in a log or on a screen that is shared. */
export function redactKeys(text: string): string {
  return text.replaceAll(/(hk_[A-Za-z0-9]{12})_[A-Za-z0-9]+/g, '$1_***');
}

/** Text from outside, safe to print. */
export function toPrintable(text: string): string {
  return escapeControls(redactKeys(text));
}

/** ` (did you mean "x"?)`, or nothing where no known word is near. */
export function didYouMean(word: string, known: readonly string[]): string {
  const hint = suggest(word, known);
  return hint === undefined ? '' : ` (${hint})`;
}
