import { startOf } from './rule.ts';
import type { Rule } from './rule.ts';
import { tagsIn } from './tags.ts';

/** Elements that hide the text after them if they are not closed. */
const hiding = new Set(['audio', 'details', 'summary', 'video']);

/** Elements that change how the text after them looks. The others end with their paragraph, or readers see no difference. */
const visible = new Set(
  'a b blockquote code del em figcaption figure i ins ol pre s strike strong sub sup table tt ul'.split(' '),
);

/** Finds elements and comments that are not closed. As the last thing in an article they break nothing, so they are warnings. */
export const unclosedElements: Rule = ({ source, sourceOf, warn }) => {
  const open: { readonly name: string; readonly at: number }[] = [];
  return {
    html(node) {
      const html = sourceOf(node);
      const start = startOf(node);
      const comment = start + html.lastIndexOf('<!--');
      if (comment >= start && !source.includes('-->', comment)) {
        warn(comment, 'the comment is never closed: all text after it is hidden', 'write --> where it ends');
      }
      for (const { name, kind, offset } of tagsIn(html)) {
        if (!hiding.has(name) && !visible.has(name)) continue;
        if (kind === 'start') open.push({ name, at: start + offset });
        const last = kind === 'end' ? open.findLastIndex((tag) => tag.name === name) : -1;
        if (last >= 0) open.splice(last, 1);
      }
    },
    end() {
      for (const { name, at } of open) {
        const effect = hiding.has(name) ? 'all text after it is hidden' : 'it also applies to the text after it';
        warn(at, `<${name}> is never closed: ${effect}`, `write </${name}> where it ends`);
      }
    },
  };
};
