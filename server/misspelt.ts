import { closest, distance } from 'fastest-levenshtein';
import type { Environment } from '#common/environment.ts';

/** A variable that is not a setting, and the setting whose name it resembles. */
export interface Misspelt {
  readonly name: string;
  readonly setting: string;
}

/** Variables of other programs whose names resemble ours: bash has a HOSTFILE. */
const foreign = new Set(['HOSTFILE']);

/** Finds the variables whose names differ from those of settings, or their `_FILE`, by a typing mistake. */
export function findMisspelt(settings: readonly string[], source: Environment): Misspelt[] {
  const names = settings.flatMap((name) => [name, `${name}_FILE`]);
  const byPlainName = new Map(names.map((name) => [toPlain(name), name]));
  const plainNames = [...byPlainName.keys()];
  const own = new Set(names);
  return Object.keys(source).flatMap((name) => {
    if (!source[name] || own.has(name) || foreign.has(name) || !/^[A-Za-z]\w*$/.test(name)) return [];
    const plain = toPlain(name);
    const near = closest(plain, plainNames);
    const swapped = plainNames.find((candidate) => isSwap(plain, candidate));
    const found = swapped ?? (distance(plain, near) <= toleranceOf(near) ? near : undefined);
    return found === undefined ? [] : [{ name, setting: byPlainName.get(found)! }];
  });
}

/** Case and underscores are the most frequent mistakes, so they do not count. */
function toPlain(name: string): string {
  return name.toUpperCase().replaceAll('_', '');
}

/** The number of wrong letters that are a mistake. Short names have many neighbours that other programs use, as HISTFILE. */
function toleranceOf(plain: string): number {
  return Math.floor((plain.replace(/FILE$/, '').length - 1) / 4);
}

/** Whether two neighbouring letters changed places. */
function isSwap(one: string, other: string): boolean {
  if (one.length !== other.length) return false;
  const at = Array.from(one).findIndex((letter, index) => letter !== other[index]);
  return at >= 0 && at < one.length - 1 && one.slice(0, at) + one[at + 1]! + one[at] + one.slice(at + 2) === other;
}
