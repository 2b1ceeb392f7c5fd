import { countLines, parseFenceMeta } from '../plugins/remark-fence-meta.ts';
import { startOf } from './rule.ts';
import type { Rule } from './rule.ts';

/** Finds mistakes in the title and the line numbers of code blocks. */
export const fenceMeta: Rule = ({ sourceOf, warn }) => ({
  code(node) {
    if (!node.meta) return;
    const [before = ''] = /^[`~]+[ \t]*\S+[ \t]+/.exec(sourceOf(node)) ?? [];
    for (const { offset, message, hint } of parseFenceMeta(node.meta, countLines(node.value)).faults) {
      warn(startOf(node) + before.length + offset, message, hint);
    }
  },
});
