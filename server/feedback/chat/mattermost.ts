import { fallbacks } from './types.ts';
import type { ChatKind } from './types.ts';
import { escapeCut, toPlainLine } from './text.ts';

const maxText = 1024;

/** What Markdown and links are made of; it has no way to turn mentions off, so that the @ is parted from its name. */
const special = /[\\`*_~|>#[\]()<:.!-]/;

function escape(character: string): string {
  if (character === '@') return '@\u200B';
  return special.test(character) ? `\\${character}` : character;
}

function toValue(text: string | undefined, fallback: string): string {
  return escapeCut(toPlainLine(text ?? ''), maxText, escape) || fallback;
}

/** Messages of a Mattermost webhook: one attachment, in which only our own words are formatted. */
export const mattermost: ChatKind = {
  toUrl: (url) => url,
  toBody({ article, path, helpful, at }) {
    return {
      attachments: [
        {
          fallback: 'Knowledge base feedback',
          color: helpful ? '#2e7d32' : '#c62828',
          title: 'Knowledge base feedback',
          fields: [
            { title: 'Article', value: toValue(article, fallbacks.article), short: false },
            { title: 'Path', value: toValue(path, fallbacks.path), short: false },
            { title: 'Helpful', value: helpful ? 'Yes' : 'No', short: true },
          ],
          footer: at.toISOString(),
        },
      ],
    };
  },
};
