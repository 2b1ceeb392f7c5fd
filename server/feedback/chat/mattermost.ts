import type { ChatKind } from './types.ts';

/** The special characters of Markdown and links. Mentions cannot be turned off, so a zero-width space follows each @. */
const special = /[\\`*_~|>#[\]()<:.!-]/;

/** Messages of a Mattermost webhook: one attachment, in which visitors' text is not formatted. */
export const mattermost: ChatKind = {
  maxText: 1024,
  escape(character) {
    if (character === '@') return '@\u200B';
    return special.test(character) ? `\\${character}` : character;
  },
  toUrl: (url) => url,
  toBody({ article, path, helpful, at }) {
    return {
      attachments: [
        {
          fallback: 'Knowledge base feedback',
          color: helpful ? '#2e7d32' : '#c62828',
          title: 'Knowledge base feedback',
          fields: [
            { title: 'Article', value: article, short: false },
            { title: 'Path', value: path, short: false },
            { title: 'Helpful', value: helpful ? 'Yes' : 'No', short: true },
          ],
          footer: at.toISOString(),
        },
      ],
    };
  },
};
