import type { ChatKind } from './types.ts';

/** The special characters of Markdown, mentions and links. */
const special = /[\\`*_~|>#[\]()<@:.!-]/;

/** Messages of a Discord webhook: one embed without mentions, in which visitors' text is not formatted. */
export const discord: ChatKind = {
  // The limit of a field value (Discord, message resource, embed limits).
  maxText: 1024,
  escape: (character) => (special.test(character) ? `\\${character}` : character),
  // URLs copied from the Discord app have no version, which means a deprecated one.
  toUrl(url) {
    const target = new URL(url.replace(/\/api\/webhooks\//, '/api/v10/webhooks/'));
    // Without `wait`, Discord reports no error for a message that it does not save.
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
