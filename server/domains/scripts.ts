import table from './scripts.json' with { type: 'json' };

/** The characters from one code point to another, and the scripts that they are written in. */
interface Range {
  readonly from: number;
  readonly to: number;
  readonly scripts: ReadonlySet<string>;
}

/**
 * The scripts of the letters, marks and digits that a label may hold: Script_Extensions of Unicode 17. Those of all scripts
 * are left out. A table, since 170 regular expressions take 0.2 s of each process; test/slow/domains/ compares it with them.
 */
const ranges: readonly Range[] = Object.entries(table)
  .flatMap(([codes, text]) => {
    const scripts = new Set(codes.split(' '));
    return text.split(' ').map((range) => {
      const [from = 0, to = from] = range.split('-').map((code) => Number.parseInt(code, 16));
      return { from, to, scripts };
    });
  })
  .toSorted((one, other) => one.from - other.from);

/** Japanese, Chinese and Korean are written in several scripts, also together with Latin letters. */
const together = ['Latn Hani Hira Kana', 'Latn Hani Bopo', 'Latn Hani Hang'].map((codes) => new Set(codes.split(' ')));

/**
 * Whether a label mixes scripts, so that it may look like another name. The allowed mixtures are those of the level "highly
 * restrictive" of UTS #39, 5.2.
 */
export function mixesScripts(label: string): boolean {
  const written = Array.from(label, findScripts).filter((scripts) => scripts !== undefined);
  const [first] = written;
  if (!first || written.reduce((common, scripts) => common.intersection(scripts), first).size > 0) return false;
  return !together.some((allowed) => written.every((scripts) => !scripts.isDisjointFrom(allowed)));
}

function findScripts(character: string): ReadonlySet<string> | undefined {
  const code = character.codePointAt(0)!;
  const range = ranges.findLast(({ from }) => from <= code);
  return range && code <= range.to ? range.scripts : undefined;
}
