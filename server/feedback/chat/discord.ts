import type { ChatKind } from './types.ts';

/** What Markdown, mentions and links are made of there. */
const special = /[\\`*_~|>#[\]()<@:.!-]/;

/** Messages of a Discord webhook: one embed, in which only our own words are formatted, and which pings nobody. */
export const discord: ChatKind = {
  // The longest value of a field (Discord, message resource, embed limits).
  maxText: 1024,
  escape: (character) => (special.test(character) ? `\\${character}` : character),
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
            { name: 'Article', value: article },
            { name: 'Path', value: path },
            { name: 'Helpful', value: helpful ? 'Yes' : 'No' },
          ],
          timestamp: at.toISOString(),
        },
      ],
      allowed_mentions: { parse: [] },
    };
  },
};
