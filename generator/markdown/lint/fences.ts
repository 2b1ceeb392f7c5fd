import { startOf } from './rule.ts';
import type { Rule } from './rule.ts';

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
