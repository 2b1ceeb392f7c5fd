import type { Blockquote, Paragraph, Root } from 'mdast';
import { visit } from 'unist-util-visit';

/** The kinds of alert, with the title that readers see. */
export const alertTitles = {
  note: 'Note',
  tip: 'Tip',
  important: 'Important',
  warning: 'Warning',
  caution: 'Caution',
} as const;

/**
 * Turns a quote that begins with a line of `[!NOTE]` (or TIP, IMPORTANT, WARNING, CAUTION) into a titled
 * `div.markdown-alert`, as GitHub does.
 */
export function remarkAlerts() {
  return (tree: Root): void => {
    visit(tree, 'blockquote', (quote: Blockquote) => {
      const [first] = quote.children;
      const text = first?.type === 'paragraph' ? first.children[0] : undefined;
      if (first?.type !== 'paragraph' || text?.type !== 'text') return;
      const marker = /^\[!(NOTE|TIP|IMPORTANT|WARNING|CAUTION)\][ \t]*(?:\n|$)/i.exec(text.value);
      // A marker with text behind it on its line is a plain quote, to GitHub too.
      if (
        !marker ||
        (marker[0].length === text.value.length && first.children.length > 1 && first.children[1]!.type !== 'break')
      )
        return;
      const kind = marker[1]!.toLowerCase() as keyof typeof alertTitles;
      text.value = text.value.slice(marker[0].length);
      const rest = text.value === '' ? first.children.slice(1) : first.children;
      first.children = rest[0]?.type === 'break' ? rest.slice(1) : rest;
      const title: Paragraph = {
        type: 'paragraph',
        children: [{ type: 'text', value: alertTitles[kind] }],
        data: { hProperties: { className: ['markdown-alert-title'] } },
      };
      quote.data = { hName: 'div', hProperties: { className: ['markdown-alert', `markdown-alert-${kind}`] } };
      quote.children = [title, ...quote.children.slice(first.children.length === 0 ? 1 : 0)];
    });
  };
}
