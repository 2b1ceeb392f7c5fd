import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { OnCall } from '../../upstream/calls.ts';
import { createClient, parseJson, toProviderError } from '../../upstream/client.ts';
import type { Reply } from '../../upstream/client.ts';
import type { Chat, ChatKind } from './types.ts';
import { discord } from './discord.ts';
import { mattermost } from './mattermost.ts';
import { slack } from './slack.ts';
import { escapeCut, toPlainLine } from './text.ts';

/** The supported kinds of chats. */
export const chatKinds = { discord, slack, mattermost } as const satisfies Record<string, ChatKind>;

/** Options of the chat. */
export interface ChatOptions {
  readonly kind: keyof typeof chatKinds;
  /** The webhook URL, which is a credential. */
  readonly url: string;
  readonly version: string;
  /** For both attempts together; default 4.5 s, since readers get an answer within 5 s. */
  readonly timeoutMs?: number;
  readonly onCall?: OnCall | undefined;
}

/** The maximum Retry-After that is waited for. */
const maxWaitMs = 2000;

/** Shorter parts of a webhook URL are words, such as `webhooks`. */
const minSecretLength = 12;

const Limited = z.object({ retry_after: z.number().nonnegative() });

/** Creates a client of the team's chat. It retries once after a 429 with a Retry-After of 2 s or less. */
export function createChat({ kind, url, version, timeoutMs = 4500, onCall }: ChatOptions): Chat {
  const chat = chatKinds[kind];
  const { origin, pathname, search } = new URL(chat.toUrl(url));
  const client = createClient({
    baseUrl: origin,
    headers: { 'user-agent': `hosting-api/${version}` },
    secrets: [pathname, search, ...pathname.split('/'), ...new URLSearchParams(search).values()].filter(
      (part) => part.length >= minSecretLength,
    ),
    timeoutMs,
    onCall,
    // The URL is the credential.
    credentialStatuses: [401, 403, 404],
  });
  const toText = (text = ''): string => escapeCut(toPlainLine(text), chat.maxText, chat.escape);
  return {
    async send(message, trace) {
      const end = performance.now() + timeoutMs;
      const deadline = AbortSignal.timeout(timeoutMs);
      const body = chat.toBody({
        ...message,
        article: toText(message.article) || 'Untitled article',
        path: toText(message.path) || 'Unknown path',
      });
      const post = (): Promise<Reply> => client.request('POST', pathname + search, { body, signal: deadline, trace });
      let reply = await post();
      const wait = reply.status === 429 ? toRetryAfterMs(reply) : undefined;
      if (wait !== undefined && wait <= Math.min(maxWaitMs, end - performance.now())) {
        await sleep(wait);
        reply = await post();
      }
      if (reply.status < 200 || reply.status > 299) throw toProviderError(reply, 'refused');
    },
    close: () => client.close(),
  };
}

/** The Retry-After of a chat in ms; undefined if there is none, for instance from a proxy that blocks us. */
function toRetryAfterMs({ text, headers }: Reply): number | undefined {
  const seconds = parseJson(text, Limited)?.retry_after ?? Number(headers.get('retry-after') ?? Number.NaN);
  return Number.isFinite(seconds) ? seconds * 1000 : undefined;
}
