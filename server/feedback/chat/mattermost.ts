import type { ChatKind } from './types.ts';

/** What Markdown and links are made of; it has no way to turn mentions off, so that the @ is parted from its name. */
const special = /[\\`*_~|>#[\]()<:.!-]/;

/** Messages of a Mattermost webhook: one attachment, in which only our own words are formatted. */
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
