import { fallbacks } from './types.ts';
import type { ChatKind } from './types.ts';
import { escapeCut, toPlainLine } from './text.ts';

/** The longest value of a field (Discord, message resource, embed limits). */
const maxValue = 1024;

/** What Markdown, mentions and links are made of there. */
const special = /[\\`*_~|>#[\]()<@:.!-]/;

function escape(character: string): string {
  return special.test(character) ? `\\${character}` : character;
}

function toValue(text: string | undefined, fallback: string): string {
  return escapeCut(toPlainLine(text ?? ''), maxValue, escape) || fallback;
}

/** Messages of a Discord webhook: one embed, in which only our own words are formatted, and which pings nobody. */
export const discord: ChatKind = {
  // Addresses copied from the client name no version, and mean one that is deprecated.
  toUrl(url) {
    const target = new URL(url.replace(/\/api\/webhooks\//, '/api/v10/webhooks/'));
    // Without it, a message that is not saved is no error.
    target.searchParams.set('wait', 'true');
    return target.href;
  },
  toBody({ article, path, helpful, at }) {
    return {
      embeds: [
        {
          title: 'Knowledge base feedback',
          color: helpful ? 0x2e7d32 : 0xc62828,
          fields: [
            { name: 'Article', value: toValue(article, fallbacks.article) },
            { name: 'Path', value: toValue(path, fallbacks.path) },
            { name: 'Helpful', value: helpful ? 'Yes' : 'No' },
          ],
          timestamp: at.toISOString(),
        },
      ],
      allowed_mentions: { parse: [] },
    };
  },
};
