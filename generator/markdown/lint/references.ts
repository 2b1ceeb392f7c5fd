import type { Heading, Paragraph, TableCell } from 'mdast';
import { startOf } from './rule.ts';
import type { Rule } from './rule.ts';

const undefinedReference = /(?<![\w)\]'"])(!?)(\[[^[\]]*)?\]\[([^[\]\n]*)\]/g;
/** Not a class of characters, such as [^a-z]. */
const undefinedFootnote = /\[\^(?!\w-\w\])([\w-]+)\]/g;

/** Finds links, pictures and footnotes that stay as text. Brackets alone are common in texts and not reported. */
export const references: Rule = ({ source, plainTextOf, warn }) => {
  // remark-lint-no-undefined-references reports brackets alone too, with many more packages.
  if (!/\]\[|\[\^|\][ \t]+\(|\]\([^()\n]*[ \t]/.test(source)) return {};
  const check = (node: Paragraph | Heading | TableCell): void => {
    const text = plainTextOf(node);
    const start = startOf(node);
    for (const { index, 0: whole, 1: mark, 2: shown, 3: label } of text.matchAll(undefinedReference)) {
      const name = label || shown?.slice(1);
      // An index of a list, as in a[0][1] or $a['b']['c'].
      if (!name?.trim() || /^(?:['"$]|\d+$)/.test(name)) continue;
      const what = mark ? 'picture' : 'link';
      const written = source.slice(start + index, start + index + whole.length);
      const hint = `write ${mark}[text](address), or add a line "[${name}]: address"`;
      const short = shown && written.length <= 50 ? written.replace(/\s+/g, ' ') : `${mark}[...][${label}]`;
      warn(start + index, `"${short}" is no ${what}: nothing defines [${name}]`, hint);
    }
    for (const { index, 1: name } of text.matchAll(undefinedFootnote)) {
      warn(start + index, `there is no footnote [^${name}]`, `add a line "[^${name}]: its text"`);
    }
    for (const { index, 0: shown, 1: name = '', 2: space = '' } of text.matchAll(/\[([^[\]\n]*)\]([ \t]*)\(/g)) {
      if (!/\p{L}/u.test(name)) continue;
      const at = start + index + shown.length;
      const message = `"${source.slice(start + index, at)}...)" is no link`;
      const address = addressAt(source, at);
      if (space && address && !/\s/.test(address)) {
        warn(at - space.length - 1, message, 'delete the space before the parenthesis');
      } else if (!space && address && /[^ \t][ \t]+[^ \t]/.test(address)) {
        warn(at, message, 'write %20 for each space in the address');
      }
    }
  };
  return { paragraph: check, heading: check, tableCell: check };
};

const inParentheses = /[^()\n"'<>]*(?=\))/y;

/** The text up to the closing parenthesis, if it looks like an address; parts of it may have become a link of their own. */
function addressAt(source: string, index: number): string | undefined {
  inParentheses.lastIndex = index;
  const [address = ''] = inParentheses.exec(source) ?? [];
  return /^(?:https?:\/\/|\.{0,2}\/|#)|\.(?:md|png|jpe?g|svg|webp|gif|pdf)$/i.test(address) ? address : undefined;
}
