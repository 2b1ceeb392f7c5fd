import { startOf } from './rule.ts';
import type { Rule } from './rule.ts';

const begins = /^[ \t>]*\|/;

/** Whether a line has only dashes and what people write between them. */
const isDashes = (line: string): boolean => /^[ \t>]*\|[ \t:|+=_–—-]*$/.test(line) && /[=_–—-]/.test(line);

/** Finds tables that stay as text, since the line of dashes below their heads is missing or wrong. */
export const tables: Rule = ({ source, plainTextOf, sourceOf, warn }) => {
  if (!/^[ \t>]*\|.*\n[ \t>]*\|/m.test(source)) return {};
  return {
    paragraph(node) {
      const lines = plainTextOf(node).split('\n');
      const head = lines.findIndex((line, index) => {
        const next = lines[index + 1] ?? '';
        return begins.test(line) && begins.test(next) && (/\|[ \t]*$/.test(line) || isDashes(next));
      });
      if (head < 0) return;
      const wrong = [head, head + 1].find((index) => isDashes(lines[index]!));
      const at = wrong ?? head + 1;
      const before = sourceOf(node).split('\n').slice(0, at);
      const indent = /^[ \t>]*/.exec(lines[at]!)![0];
      const offset = startOf(node) + before.join('\n').length + (at > 0 ? 1 : 0) + indent.length;
      const heads = lines[head]!.replace(/^[ \t>]*\||\|[ \t]*$/g, '').split(wrong === head ? /[|+]/ : '|');
      const line = `|${'---|'.repeat(heads.length)}`;
      if (wrong === undefined) {
        warn(offset, 'below the heads of a table must be a line of dashes', `add the line ${line} here`);
      } else {
        const message = 'this line must have dashes for each of the heads above it, with | between them';
        warn(offset, message, `write ${line}`);
      }
    },
  };
};
