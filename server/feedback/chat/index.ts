import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { createClient } from '../../upstream/client.ts';
import type { Reply } from '../../upstream/client.ts';
import type { Chat, ChatKind } from './types.ts';
import { discord } from './discord.ts';
import { mattermost } from './mattermost.ts';
import { parseJson, toProviderError } from '../../upstream/reply.ts';
import { slack } from './slack.ts';
import { escapeCut, toPlainLine } from './text.ts';

/** The chats that a webhook may be of. */
export const chatKinds = { discord, slack, mattermost } as const satisfies Record<string, ChatKind>;

/** Where feedback goes. */
export interface ChatOptions {
  readonly kind: keyof typeof chatKinds;
  /** The webhook, which is a credential as a whole. */
  readonly url: string;
  readonly version: string;
  /** For everything, the second try included: 4.5 s if left out, as the reader is to have an answer within 5. */
  readonly timeoutMs?: number;
}

/** The longest wait that a chat may ask for before a second try. */
const longestWaitMs = 2000;

/** Parts of a webhook's address that are shorter than this are words, such as `webhooks`. */
const shortestSecret = 12;

const Limited = z.object({ retry_after: z.number().nonnegative() });

/** Creates the way to the team's chat: one try, and one more where it asks for no more than 2 s of patience. */
export function createChat({ kind, url, version, timeoutMs = 4500 }: ChatOptions): Chat {
  const chat = chatKinds[kind];
  const { origin, pathname, search } = new URL(chat.toUrl(url));
  const client = createClient({
    baseUrl: origin,
    headers: { 'user-agent': `hosting-api/${version}` },
    secrets: [pathname, search, ...pathname.split('/'), ...new URLSearchParams(search).values()].filter(
      (part) => part.length >= shortestSecret,
    ),
    timeoutMs,
  });
  const toText = (text = ''): string => escapeCut(toPlainLine(text), chat.maxText, chat.escape);
  return {
    async send(message) {
      const end = performance.now() + timeoutMs;
      const deadline = AbortSignal.timeout(timeoutMs);
      const body = chat.toBody({
        ...message,
        article: toText(message.article) || 'Untitled article',
        path: toText(message.path) || 'Unknown path',
      });
      const post = (): Promise<Reply> => client.request('POST', pathname + search, { body, signal: deadline });
      let reply = await post();
      const wait = reply.status === 429 ? toWait(reply) : undefined;
      if (wait !== undefined && wait <= Math.min(longestWaitMs, end - performance.now())) {
        await sleep(wait);
        reply = await post();
      }
      if (reply.status < 200 || reply.status > 299) throw toProviderError(reply, 'refused');
    },
    close: () => client.close(),
  };
}

/** How long a chat asks to wait, in ms; undefined where it does not say, as a proxy in front of it that blocks us. */
function toWait({ text, headers }: Reply): number | undefined {
  const seconds = parseJson(text, Limited)?.retry_after ?? Number(headers.get('retry-after') ?? Number.NaN);
  return Number.isFinite(seconds) ? seconds * 1000 : undefined;
}
