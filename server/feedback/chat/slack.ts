import type { ChatKind } from './types.ts';

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

const toField = (name: string, value: string) => ({ type: 'plain_text', emoji: false, text: `${name}: ${value}` });

/** Messages of a Slack webhook. They use plain text elements, which have no formatting, mentions or links. */
export const slack: ChatKind = {
  // A field has at most 2000 characters, its name included (Slack, section block).
  maxText: 1900,
  escape: (character) => entities[character] ?? character,
  toUrl: (url) => url,
  toBody({ article, path, helpful, at }) {
    return {
      text: 'Knowledge base feedback',
      blocks: [
        { type: 'header', text: { type: 'plain_text', text: 'Knowledge base feedback' } },
        {
          type: 'section',
          fields: [toField('Article', article), toField('Path', path), toField('Helpful', helpful ? 'Yes' : 'No')],
        },
        { type: 'context', elements: [{ type: 'plain_text', text: at.toISOString() }] },
      ],
    };
  },
};
