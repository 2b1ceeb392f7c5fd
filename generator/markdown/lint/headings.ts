import { startOf } from './rule.ts';
import type { Rule } from './rule.ts';
import { tagsIn } from './tags.ts';

const h1 = 'the title is the only heading of level 1';

/** Finds headings of level 1, levels that are skipped, and headings without a space after their marks. */
export const headings: Rule = ({ source, sourceOf, plainTextOf, warn }) => {
  // remark-lint-heading-increment does the second part, with many more packages.
  let level: number | undefined;
  const mayLackSpace = /^[ \t>]*#{2,6}[^ \t#\n]/m.test(source);
  return {
    heading(node) {
      const { depth } = node;
      if (depth === 1) {
        warn(startOf(node), h1, sourceOf(node).startsWith('#') ? 'begin with ##' : 'underline it with ---');
      } else if (depth > (level ?? 1) + 1) {
        const hint = `write ${'#'.repeat((level ?? 1) + 1)}${sourceOf(node).replace(/^#+/, '')}`;
        const message =
          level === undefined
            ? `the level of the first heading is ${depth}`
            : `the level of this heading is ${depth}, after a heading of level ${level}`;
        warn(startOf(node), message, hint);
      }
      level = depth;
    },
    html(node) {
      for (const { name, kind, offset } of tagsIn(sourceOf(node))) {
        if (name === 'h1' && kind === 'start') warn(startOf(node) + offset, h1, 'write <h2>');
        if (kind === 'start' && /^h[1-6]$/.test(name)) level = Number(name[1]);
      }
    },
    ...(mayLackSpace && {
      paragraph(node) {
        for (const match of plainTextOf(node).matchAll(/^([ \t>]*)(#{2,6})([^ \t#\n][^\n]*)/gm)) {
          const [, indent = '', marks = '', text = ''] = match;
          const hint = `write a ${/^\s/.test(text) ? 'normal ' : ''}space after ${marks}`;
          const at = startOf(node) + match.index + indent.length + marks.length;
          warn(at, `"${marks}${text.trimEnd()}" is no heading`, hint);
        }
      },
    }),
  };
};
