import { z } from 'zod';
import type { KBFeedbackRequest } from '#contract/articles.ts';
import type { Base, Lifecycle } from '../lifecycle.ts';
import { Problem } from '../problem.ts';
import { oneOf } from '../settings.ts';
import type { SharedSettings } from '../settings.ts';
import type { Store } from '../store/types.ts';
import type { Trace } from '../trace.ts';
import { WebhookUrl } from '../upstream/address.ts';
import { ProviderError } from '../upstream/client.ts';
import { chatKinds, createChat } from './chat.ts';
import type { ChatName } from './chat.ts';

const kinds = Object.keys(chatKinds) as ChatName[];

/** The settings of feedback. */
export const FeedbackSettings = z.object({
  CHAT_FEEDBACK_WEBHOOK_URL: WebhookUrl.optional().describe('The webhook of the chat that receives votes. A secret.'),
  CHAT_FEEDBACK_WEBHOOK_KIND: oneOf(...kinds)
    .default('discord')
    .describe(`The kind of chat of the webhook: ${kinds.map((kind) => `\`${kind}\``).join(', ')}.`),
});
type Settings = z.infer<typeof FeedbackSettings> & Pick<SharedSettings, 'SERVICE_VERSION'>;

interface FeedbackBase extends Base<Settings> {
  /** Runs the count of a vote to the end, even if the server stops or the client disconnects. */
  readonly lifecycle: Pick<Lifecycle, 'finish'>;
  /** Finds a knowledge base article by a current or former path. */
  readonly releases: { readonly findArticle: (path: string) => string | undefined };
  readonly store: Pick<Store, 'feedback'>;
}

/** The feedback service. */
export type Feedback = ReturnType<typeof openFeedback>;

/** Opens the feedback service, which forwards votes to a chat if configured. */
export function openFeedback({ env, opened, lifecycle, releases, store, report }: FeedbackBase) {
  const { CHAT_FEEDBACK_WEBHOOK_URL: url, CHAT_FEEDBACK_WEBHOOK_KIND: kind, SERVICE_VERSION: version } = env;
  const chat = url === undefined ? undefined : createChat(kind, url, version);
  opened.defer(async () => await chat?.close());
  const onCountFailure = report('a vote could not be counted');
  return {
    /** Counts a vote and sends it to the chat, if any. Throws a Problem if the chat, or without a chat the store, fails. */
    async record({ helpful, title, slug = '' }: z.infer<typeof KBFeedbackRequest>, trace?: Trace) {
      const at = new Date();
      // Made-up paths share one row: they must not fill the store.
      const vote = { path: releases.findArticle(slug) ?? '', day: at.toISOString().slice(0, 10), helpful };
      const counted = lifecycle.finish(() => store.feedback.count(vote));
      if (!chat) {
        await counted.catch((cause: unknown) => {
          throw new Problem('feedback_not_counted', undefined, { cause });
        });
        return 'counted';
      }
      // Logged only: the chat has the vote.
      void counted.catch(onCountFailure);
      // Not awaited: the store may be slower than the reader should wait.
      try {
        await chat.send({ article: title, path: slug, helpful, at }, trace);
      } catch (cause) {
        // Other errors are our bugs in building the message.
        const code = cause instanceof ProviderError ? 'feedback_not_delivered' : 'feedback_not_built';
        throw new Problem(code, undefined, { cause });
      }
      return 'delivered';
    },
  };
}
