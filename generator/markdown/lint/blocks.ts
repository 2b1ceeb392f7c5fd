import { mergeConflict } from '../../common/finding.ts';
import type { Paragraph } from 'mdast';
import { suggest } from '#common/suggest.ts';
import { alertTitles } from '../plugins/html.ts';
import { startOf } from './rule.ts';
import type { Rule } from './rule.ts';

const kinds = Object.keys(alertTitles);
const marks = kinds.map((kind) => `[!${kind.toUpperCase()}]`);

/** The kinds of alert by what this and other programs call them. */
const kindsByName = new Map([
  ...kinds.map((kind) => [kind, kind] as const),
  ...Object.entries({
    note: 'info information abstract summary',
    tip: 'hint success',
    warning: 'attention warn',
    caution: 'critical danger error',
  }).flatMap(([kind, names]) => names.split(' ').map((name) => [name, kind] as const)),
]);

const alertMarker = /^\[!([\w-]+)\][-+]?[ \t]*/;

/** Finds quotes that begin like an alert but are none, and alerts that are not in a quote. */
export const alerts: Rule = ({ source, sourceOf, warn }) => {
  if (!source.includes('[!')) return {};
  const inQuote = new Set<Paragraph>();
  return {
    blockquote({ children, data }) {
      const paragraph = children.find((child) => child.type === 'paragraph' && child.position !== undefined);
      if (paragraph?.type !== 'paragraph') return;
      inQuote.add(paragraph);
      // An alert has become a `div`.
      if (data?.hName !== undefined) return;
      const [mark, kind] = alertMarker.exec(sourceOf(paragraph)) ?? [];
      if (mark === undefined || kind === undefined) return;
      const start = startOf(paragraph);
      const name = kind.toLowerCase();
      if (kinds.includes(name)) {
        const message = `after [!${kind}] the line must end, else this is a plain quote`;
        warn(start + mark.length, message, 'begin the text on the next line, after >');
      } else {
        const meant = kindsByName.get(name);
        const hint = meant
          ? `write [!${meant.toUpperCase()}]`
          : (suggest(name, kinds) ?? `write ${marks.slice(0, -1).join(', ')} or ${marks.at(-1)}`);
        warn(start, `there is no alert [!${kind}]`, hint);
      }
    },
    paragraph(node) {
      if (inQuote.has(node) || !node.position) return;
      const [mark = '', kind = ''] = alertMarker.exec(sourceOf(node)) ?? [];
      if (!kindsByName.has(kind.toLowerCase())) return;
      // A link may have such a text.
      if (/^[([]/.test(sourceOf(node).slice(mark.length))) return;
      warn(startOf(node), `[!${kind}] is not in a quote`, 'begin this line and the lines of its text with >');
    },
  };
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
        const box = kindsByName.get(name.toLowerCase());
        const hint = box
          ? `write "> [!${box.toUpperCase()}]" and begin the lines of the box with >`
          : 'write Markdown instead';
        warn(start + match.index + indent.length, '":::" is shown as it is: directives do not work here', hint);
      }
    },
  };
};

const conflictMarker = /^(?:<{7}|={7}|>{7})(?=[ \t]|$).*$/gm;

/** Finds unresolved merge conflicts. In a code block they may be an example. */
export const conflictMarkers: Rule = ({ source, error }) => {
  if (!/^(?:<{7}|>{7})(?:[ \t]|$)/m.test(source)) return {};
  const code: { from: number; to: number }[] = [];
  return {
    code: (node) => void code.push({ from: startOf(node), to: node.position?.end.offset ?? 0 }),
    end() {
      let state: 'none' | 'ours' | 'separated' = 'none';
      for (const { index, 0: line } of source.matchAll(conflictMarker)) {
        if (code.some(({ from, to }) => from <= index && index < to)) continue;
        const isOpening = line.startsWith('<');
        const isClosing = line.startsWith('>');
        // The first marker may have been deleted. The last one alone is a nested quote.
        if (isOpening || (isClosing && state === 'separated')) error(index, mergeConflict.message, mergeConflict.hint);
        if (isOpening) state = 'ours';
        else if (isClosing) state = 'none';
        else if (state === 'none') state = 'separated';
      }
    },
  };
};

const h1 = 'the title is the only heading of level 1';

/** Finds headings of level 1, levels that are skipped, and headings without a space after their marks. */
export const headings: Rule = ({ source, sourceOf, plainTextOf, warn }) => {
  // remark-lint-heading-increment does the second part, with many more packages.
  let level: number | undefined;
  const mayLackSpace = /^[ \t>]*#{2,6}[^ \t#\n]/m.test(source);
  return {
    heading(node) {
      const { depth } = node;
      const next = (level ?? 1) + 1;
      if (depth === 1) {
        const hint = sourceOf(node).startsWith('#') ? 'begin with ##' : 'underline it with ---';
        const isFirst = source.slice(0, startOf(node)).trim() === '';
        warn(startOf(node), h1, isFirst ? `delete it if it repeats the title, else ${hint}` : hint);
      } else if (depth > next) {
        const message = level
          ? `the level of this heading is ${depth}, after a heading of level ${level}`
          : `the level of the first heading is ${depth}`;
        warn(startOf(node), message, `write ${'#'.repeat(next)}${sourceOf(node).replace(/^#+/, '')}`);
      }
      level = depth;
    },
    tag({ name, kind, offset }) {
      if (kind !== 'start' || !/^h[1-6]$/.test(name)) return;
      level = Number(name[1]);
      if (level === 1) warn(offset, h1, 'write <h2>');
    },
    ...(mayLackSpace && {
      paragraph(node) {
        for (const match of plainTextOf(node).matchAll(/^([ \t>]*)(#{2,6})([^ \t#\n][^\n]*)/gm)) {
          const [, indent = '', hashes = '', text = ''] = match;
          const hint = `write a ${/^\s/.test(text) ? 'normal ' : ''}space after ${hashes}`;
          const at = startOf(node) + match.index + indent.length + hashes.length;
          warn(at, `"${hashes}${text.trimEnd()}" is no heading`, hint);
        }
      },
    }),
  };
};

const row = /^[ \t>]*\|/;

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
        return row.test(line) && row.test(next) && (/\|[ \t]*$/.test(line) || isDashes(next));
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
