import { setTimeout as sleep } from 'node:timers/promises';
import type { Trace } from '../trace.ts';
import { createActionClient } from '../upstream/actions.ts';
import { openUpstream, toProviderError } from '../upstream/client.ts';
import type { Reply } from '../upstream/client.ts';

/** A reader's vote for the team's chat. */
export interface FeedbackMessage {
  readonly article: string | undefined;
  readonly path: string | undefined;
  readonly helpful: boolean;
  readonly at: Date;
}

/** The message format of a kind of chat. */
interface ChatKind {
  /** In UTF-16 units, after escaping. */
  readonly maxText: number;
  /** Escapes a character that could start formatting, a mention or a link. */
  readonly escape: (character: string) => string;
  /** Converts the webhook URL of the operator to the URL for posts. */
  toUrl?(url: string): string;
  /** Builds a message from fields with escaped values. */
  toBody(fields: readonly (readonly [name: string, value: string])[], helpful: boolean, time: string): object;
}

const heading = 'Knowledge base feedback';

/** The special characters of Markdown, mentions and links. */
const special = /[\\`*_~|>#[\]()<@:.!-]/;

/** One embed without mentions; visitors' text is not formatted. */
const discord: ChatKind = {
  // The limit of a field value (Discord, message resource, embed limits).
  maxText: 1024,
  escape: (character) => (special.test(character) ? `\\${character}` : character),
  // URLs copied from the Discord app have no version, and default to a deprecated version.
  toUrl(url) {
    const target = new URL(url.replace(/\/api\/webhooks\//, '/api/v10/webhooks/'));
    // Without `wait`, Discord does not report that a message was not saved.
    target.searchParams.set('wait', 'true');
    return target.href;
  },
  toBody(fields, helpful, timestamp) {
    const color = helpful ? 0x2e7d32 : 0xc62828;
    const embed = { title: heading, color, fields: fields.map(([name, value]) => ({ name, value })), timestamp };
    return { embeds: [embed], allowed_mentions: { parse: [] } };
  },
};

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/** Plain text elements: no formatting, mentions or links. */
const slack: ChatKind = {
  // A field has at most 2000 characters including the name (Slack, section block).
  maxText: 1900,
  escape: (character) => entities[character] ?? character,
  toBody(fields, _helpful, time) {
    const texts = fields.map(([name, value]) => ({ type: 'plain_text', emoji: false, text: `${name}: ${value}` }));
    return {
      text: heading,
      blocks: [
        { type: 'header', text: { type: 'plain_text', text: heading } },
        { type: 'section', fields: texts },
        { type: 'context', elements: [{ type: 'plain_text', text: time }] },
      ],
    };
  },
};

/** One attachment; visitors' text is not formatted. */
const mattermost: ChatKind = {
  maxText: 1024,
  // Mentions cannot be turned off: a zero-width space after each @ breaks them.
  escape: (character) => (character === '@' ? '@\u200B' : discord.escape(character)),
  toBody(fields, helpful, footer) {
    const color = helpful ? '#2e7d32' : '#c62828';
    const texts = fields.map(([title, value]) => ({ title, value, short: title === 'Helpful' }));
    return { attachments: [{ fallback: heading, color, title: heading, fields: texts, footer }] };
  },
};

/** The supported chats. */
export const chatKinds = { discord, slack, mattermost };

export type ChatName = keyof typeof chatKinds;

/** The time limit of both attempts together: readers get an answer within 5 s. */
const timeoutMs = 4500;

/** Creates a client of the team's chat, which retries once after a 429 with a Retry-After of at most 2 s. */
export function createChat(kind: ChatName, url: string, version: string) {
  const chat = chatKinds[kind];
  const { origin, pathname, search } = new URL(chat.toUrl?.(url) ?? url);
  const parts = [pathname, search, ...pathname.split('/'), ...new URLSearchParams(search).values()];
  const upstream = openUpstream({
    name: 'chat',
    baseUrl: origin,
    headers: { 'user-agent': `hosting-api/${version}` },
    // Shorter parts are words such as `webhooks`.
    secrets: parts.filter((part) => part.length >= 12),
    timeoutMs,
    // The URL is the credential.
    credentialStatuses: [401, 403, 404],
    // Slack answers with a word, such as `no_service`, the others with JSON.
    judgeError: ({ text }, byStatus) => (/^\w+\s*$|^\{[^]*"message"/.test(text) ? byStatus : undefined),
  });
  const client = createActionClient(upstream);
  return {
    /** Sends a message; throws a ProviderError unless the chat confirms it. */
    async send({ article, path, helpful, at }: FeedbackMessage, trace?: Trace): Promise<void> {
      const end = performance.now() + timeoutMs;
      const signal = AbortSignal.timeout(timeoutMs);
      const fields = [
        ['Article', toText(chat, article) || 'Untitled article'],
        ['Path', toText(chat, path) || 'Unknown path'],
        ['Helpful', helpful ? 'Yes' : 'No'],
      ] as const;
      const body = { ...chat.toBody(fields, helpful, at.toISOString()) };
      const post = (): Promise<Reply> => client.post(pathname + search, { body, signal, trace });
      let reply = await post();
      // Missing in the 429 of a proxy that blocks us.
      const wait = reply.status === 429 ? Number(reply.headers.get('retry-after') ?? Number.NaN) * 1000 : Number.NaN;
      if (wait <= Math.min(2000, end - performance.now())) {
        await sleep(wait);
        reply = await post();
      }
      if (reply.status < 200 || reply.status > 299) throw toProviderError(reply, 'refused');
    },
    close: () => client.close(),
  };
}

/** Characters that break or reorder displayed text: control characters, bidi overrides and isolates, BOM. */
const invisible = /[\p{Cc}\p{Cs}\u061C\u200E\u200F\u2028\u2029\u202A-\u202E\u2066-\u2069\uFEFF]/gu;

/** Converts a visitor's text to one escaped line, never cut inside an escape sequence or a surrogate pair. */
function toText({ maxText, escape }: ChatKind, text = ''): string {
  let escaped = '';
  for (const character of text.replace(/\s+/gu, ' ').replace(invisible, '').trim()) {
    const next = escape(character);
    if (escaped.length + next.length > maxText - 1) return `${escaped}…`;
    escaped += next;
  }
  return escaped;
}
