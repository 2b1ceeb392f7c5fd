import { copyFileSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { createRandom } from './random.ts';

/**
 * Makes a content folder `copies` times as large: each copy of an article stands in a category of the copy's own, and
 * other words stand in its prose, so that nothing that was rendered for one can serve another. Links still lead to the
 * articles that they led to.
 */
export function multiplyContent(content: string, copies: number): void {
  const files = globSync('{blog,knowledgebase}/*/*.{md,yaml}', { cwd: content }).toSorted();
  for (let copy = 2; copy <= copies; copy += 1) {
    const random = createRandom(copy);
    for (const file of files) {
      const category = `${dirname(file)}-${copy}`;
      const target = join(content, category, basename(file));
      mkdirSync(dirname(target), { recursive: true });
      if (file.endsWith('.md')) {
        const text = readFileSync(join(content, file), 'utf8');
        writeFileSync(target, changeWords(text, basename(category), copy, random));
      } else copyFileSync(join(content, file), target);
    }
  }
}

/** What is not prose: code, HTML, brackets and their targets, and whatever has more than letters in it. */
const kept = /`+[^`]*`+|<[^>]*>|\]\([^)]*\)|!?\[[^\]]*\]|\S*[^\s\p{L}.,;:?"*()-]\S*/gu;
const word = /(?<!\p{L})\p{Ll}{5,}(?!\p{L})/gu;
const fence = /^[\s>]*(`{3,}(?!.*`)|~{3,})/;

/** Turns the letters of about half of the longer words of an article, and names its category. */
function changeWords(text: string, category: string, copy: number, random: () => number): string {
  const turn = (letters: string): string => {
    if (random() < 0.5) return letters;
    const by = 1 + (copy % (letters.length - 1));
    return letters.slice(by) + letters.slice(0, by);
  };
  const change = (line: string): string => {
    let done = 0;
    let changed = '';
    for (const match of line.matchAll(kept)) {
      changed += line.slice(done, match.index).replace(word, turn) + match[0];
      done = match.index + match[0].length;
    }
    return changed + line.slice(done).replace(word, turn);
  };

  let closes: string | undefined = '---';
  const changed = text
    .split('\n')
    .map((line, index) => {
      if (closes === '---') {
        if (index > 0 && line.trim() === '---') closes = undefined;
        return line.replace(/^category:.*/, `category: ${category}`);
      }
      const [, mark] = fence.exec(line) ?? [];
      if (closes !== undefined) {
        if (mark?.startsWith(closes)) closes = undefined;
        return line;
      }
      closes = mark;
      // Of headings, the ids are what links lead to; an indented line may be code, and one with an angle HTML.
      const isProse = mark === undefined && !/^(?: {4}|\t|#)|[<|]/.test(line);
      return isProse ? change(line) : line;
    })
    .join('\n');
  // There may be no longer word in an article, or none in letters that have two cases.
  return `${changed}\n\nCopy ${copy}.\n`;
}
