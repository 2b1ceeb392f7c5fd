import type { Paragraph } from 'mdast';
import { suggest } from '#common/suggest.ts';
import { alertTitles } from '../plugins/remark-alerts.ts';
import { startOf } from './rule.ts';
import type { Rule } from './rule.ts';

const kinds = Object.keys(alertTitles);
const marks = kinds.map((kind) => `[!${kind.toUpperCase()}]`);

/** What other programs call the kinds. */
const synonyms: Readonly<Record<string, string>> = {
  info: 'note',
  information: 'note',
  abstract: 'note',
  summary: 'note',
  hint: 'tip',
  success: 'tip',
  attention: 'warning',
  warn: 'warning',
  critical: 'caution',
  danger: 'caution',
  error: 'caution',
};

const marker = /^\[!([\w-]+)\][-+]?[ \t]*/;

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
      const [mark, kind] = marker.exec(sourceOf(paragraph)) ?? [];
      if (mark === undefined || kind === undefined) return;
      const start = startOf(paragraph);
      if (kinds.includes(kind.toLowerCase())) {
        const message = `after [!${kind}] the line must end, else this is a plain quote`;
        warn(start + mark.length, message, 'begin the text on the next line, after >');
      } else {
        warn(start, `there is no alert [!${kind}]`, hintFor(kind.toLowerCase()));
      }
    },
    paragraph(node) {
      if (inQuote.has(node) || !node.position) return;
      const [mark = '', kind] = marker.exec(sourceOf(node)) ?? [];
      // A link may have such a text.
      if (
        kind === undefined ||
        /^[([]/.test(sourceOf(node).slice(mark.length)) ||
        !(kinds.includes(kind.toLowerCase()) || kind.toLowerCase() in synonyms)
      )
        return;
      warn(startOf(node), `[!${kind}] is not in a quote`, 'begin this line and the lines of its text with >');
    },
  };
};

function hintFor(kind: string): string {
  const synonym = synonyms[kind];
  if (synonym !== undefined) return `write [!${synonym.toUpperCase()}]`;
  return suggest(kind, kinds) ?? `write ${marks.slice(0, -1).join(', ')} or ${marks.at(-1)}`;
}
