import { copyFileSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { createRandom } from './random.ts';

/**
 * Makes a content folder `copies` times as large. Each copy of an article is in a category of its own and has changed
 * words in its prose, so that no render cache entry fits two copies. Links keep their targets.
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

/** What is not prose: code, HTML, brackets and their targets, and words with characters other than letters. */
const notProse = /`+[^`]*`+|<[^>]*>|\]\([^)]*\)|!?\[[^\]]*\]|\S*[^\s\p{L}.,;:?"*()-]\S*/gu;
const word = /(?<!\p{L})\p{Ll}{5,}(?!\p{L})/gu;
const fence = /^[\s>]*(`{3,}(?!.*`)|~{3,})/;

/** Rotates the letters of about half of the longer words of an article, and sets its category. */
function changeWords(text: string, category: string, copy: number, random: () => number): string {
  const rotate = (letters: string): string => {
    if (random() < 0.5) return letters;
    const by = 1 + (copy % (letters.length - 1));
    return letters.slice(by) + letters.slice(0, by);
  };
  const change = (line: string): string => {
    let done = 0;
    let changed = '';
    for (const match of line.matchAll(notProse)) {
      changed += line.slice(done, match.index).replace(word, rotate) + match[0];
      done = match.index + match[0].length;
    }
    return changed + line.slice(done).replace(word, rotate);
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
      // Headings stay, since links point to their ids. An indented line may be code, a line with < may be HTML.
      const isProse = mark === undefined && !/^(?: {4}|\t|#)|[<|]/.test(line);
      return isProse ? change(line) : line;
    })
    .join('\n');
  // An article may have no word that was changed, so one line always differs.
  return `${changed}\n\nCopy ${copy}.\n`;
}
