import { fallbacks } from './types.ts';
import type { ChatKind } from './types.ts';
import { escapeCut, toPlainLine } from './text.ts';

/** The longest text of a field (Slack, section block). */
const maxText = 1900;

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

function toField(name: string, text: string | undefined, fallback: string) {
  const value = escapeCut(toPlainLine(text ?? ''), maxText, (character) => entities[character] ?? character);
  return { type: 'plain_text', emoji: false, text: `${name}: ${value || fallback}` };
}

/** Messages of a Slack webhook, in plain text elements: nothing in those is formatted, mentioned or linked. */
export const slack: ChatKind = {
  toUrl: (url) => url,
  toBody({ article, path, helpful, at }) {
    return {
      text: 'Knowledge base feedback',
      blocks: [
        { type: 'header', text: { type: 'plain_text', text: 'Knowledge base feedback' } },
        {
          type: 'section',
          fields: [
            toField('Article', article, fallbacks.article),
            toField('Path', path, fallbacks.path),
            toField('Helpful', helpful ? 'Yes' : 'No', ''),
          ],
        },
        { type: 'context', elements: [{ type: 'plain_text', text: at.toISOString() }] },
      ],
    };
  },
};
