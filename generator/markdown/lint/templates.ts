import { startOf } from './rule.ts';
import type { Rule } from './rule.ts';

/** What the boxes of other programs are here. */
const boxes: Readonly<Record<string, string>> = {
  note: 'NOTE',
  info: 'NOTE',
  tip: 'TIP',
  hint: 'TIP',
  success: 'TIP',
  important: 'IMPORTANT',
  warning: 'WARNING',
  caution: 'CAUTION',
  danger: 'CAUTION',
  error: 'CAUTION',
};

/** Finds template tags (`{{< figure >}}`, `{% include %}`) and directives (`:::note`), which stay as text. */
export const templates: Rule = ({ source, plainTextOf, warn }) => {
  if (!/\{\{[<%]|\{%|^[ \t>]*:::/m.test(source)) return {};
  return {
    paragraph(node) {
      const text = plainTextOf(node);
      const start = startOf(node);
      for (const { index } of text.matchAll(/\{\{[%<\s]|\{%/g)) {
        // The HTML in `{{<note>}}` is not in the plain text.
        const [tag] = /^(?:\{\{[<%]|\{%)/.exec(source.slice(start + index)) ?? [];
        if (tag === undefined) continue;
        warn(start + index, `"${tag}" is shown as it is: templates do not work here`, 'write Markdown instead');
      }
      for (const match of text.matchAll(/^([ \t>]*):{3,}[ \t]*\{?([a-z]\w*)/gim)) {
        const [, indent = '', name = ''] = match;
        const box = boxes[name.toLowerCase()];
        const hint = box ? `write "> [!${box}]" and begin the lines of the box with >` : 'write Markdown instead';
        warn(start + match.index + indent.length, '":::" is shown as it is: directives do not work here', hint);
      }
    },
  };
};
