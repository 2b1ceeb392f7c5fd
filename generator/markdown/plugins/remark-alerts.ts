import type { Paragraph, Root } from 'mdast';
import type { VFile } from 'vfile';
import { walk } from './walk.ts';

/** The kinds of alert and their titles. */
export const alertTitles = {
  note: 'Note',
  tip: 'Tip',
  important: 'Important',
  warning: 'Warning',
  caution: 'Caution',
} as const;

const marker = /^\[!(NOTE|TIP|IMPORTANT|WARNING|CAUTION)\][ \t]*(?:\n|$)/i;

/**
 * Turns a quote that begins with a line of `[!NOTE]` (or TIP, IMPORTANT, WARNING, CAUTION) into a titled
 * `div.markdown-alert`, as GitHub does.
 */
export function remarkAlerts() {
  return (tree: Root, file: VFile): void => {
    if (!String(file).includes('[!')) return;
    walk(tree, (quote) => {
      if (quote.type !== 'blockquote') return;
      const [first] = quote.children;
      if (first?.type !== 'paragraph') return;
      const [text, next] = first.children;
      if (text?.type !== 'text') return;
      const [line, word] = marker.exec(text.value) ?? [];
      if (line === undefined || word === undefined) return;
      // As on GitHub, text after the marker on its line or a backslash before it makes a plain quote.
      if (!line.endsWith('\n') && next && next.type !== 'break') return;
      if (!String(file).startsWith('[!', text.position?.start.offset)) return;
      const kind = word.toLowerCase() as keyof typeof alertTitles;
      text.value = text.value.slice(line.length);
      if (text.value === '') first.children.splice(0, next?.type === 'break' ? 2 : 1);
      const title: Paragraph = {
        type: 'paragraph',
        children: [{ type: 'text', value: alertTitles[kind] }],
        data: { hProperties: { className: ['markdown-alert-title'] } },
      };
      quote.data = { hName: 'div', hProperties: { className: ['markdown-alert', `markdown-alert-${kind}`] } };
      quote.children.splice(0, first.children.length === 0 ? 1 : 0, title);
    });
  };
}
