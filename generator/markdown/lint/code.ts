import { suggest } from '#common/suggest.ts';
import { highlightedLanguages, isHighlighted, languageNames, parseFenceMeta } from '../plugins/code.ts';
import { startOf } from './rule.ts';
import type { Rule } from './rule.ts';

/** Names that are right although their blocks have no colours. */
const uncoloured = new Set(
  (
    'txt plain none raw ascii output out stdout stderr log logs terminal tree csv tsv env dotenv conf cfg mermaid ' +
    'asm astro bat cmd hcl json5 jsonc mdx prisma solidity svelte terraform tf vue zig'
  ).split(' '),
);

/** Finds names of code languages that are mistyped or not known. */
export const codeLanguages: Rule = ({ sourceOf, warn }) => ({
  code(node) {
    const { lang } = node;
    if (!lang || isKnown(lang)) return;
    const [fence = ''] = /^[`~]+[ \t]*/.exec(sourceOf(node)) ?? [];
    warn(startOf(node) + fence.length, `the code language "${lang}" is not known`, hintFor(lang));
  },
});

function isKnown(lang: string): boolean {
  const name = lang.toLowerCase();
  return isHighlighted(name) || uncoloured.has(name) || languageNames().includes(name);
}

function hintFor(lang: string): string {
  // "js{1,3}", "js,ignore" or "{.js}": the name with what other programs read.
  const [name = ''] = /[\w#+-]+/.exec(lang) ?? [];
  const [lines = ''] = /\{[\d,\s-]+\}$/.exec(lang) ?? [];
  if (name !== lang && isKnown(name)) return `write "${name}${lines && ` ${lines}`}"`;
  if (name === 'math') return 'formulas are not drawn: write "text"';
  if (/^(?:title=|\{)/.test(lang)) return 'write a language before it, such as "text"';
  // Too many names are similar to a short one.
  const similar = lang.length > 3 ? suggest(lang.toLowerCase(), highlightedLanguages()) : undefined;
  return similar ?? 'write "text" for a block without colours';
}

/** Finds mistakes in the title and the line numbers of code blocks. */
export const fenceMeta: Rule = ({ sourceOf, warn }) => ({
  code(node) {
    if (!node.meta) return;
    const [before = ''] = /^[`~]+[ \t]*\S+[ \t]+/.exec(sourceOf(node)) ?? [];
    for (const { offset, message, hint } of parseFenceMeta(node).faults) {
      warn(startOf(node) + before.length + offset, message, hint);
    }
  },
});

/** Finds code blocks that are not closed, or so late that they contain the beginning of another one. */
export const fences: Rule = ({ sourceOf, warn }) => ({
  code(node) {
    const source = sourceOf(node);
    const [fence] = /^(?:`{3,}|~{3,})/.exec(source) ?? [];
    if (fence === undefined) return;
    // A line within a list or quote begins with its indentation or mark.
    const [closing] = /\n[ \t>]*(?:`{3,}|~{3,})[ \t]*$/.exec(source) ?? [];
    const inner = new RegExp(`\\n[ \\t>]*(?=${fence}${fence[0]}*[\\w{][^\\n\`]*$)`, 'm').exec(source);
    if (!closing?.includes(fence)) {
      const message = 'the code block is never closed: all text after it is code';
      warn(startOf(node), message, `end it with a line of ${fence}`);
    } else if (inner) {
      const hint = `end the first one with a line of ${fence} above this line`;
      warn(startOf(node) + inner.index + inner[0].length, 'a code block begins within another', hint);
    }
  },
});
