import type { z } from 'zod';
import type { KBFeedbackRequest } from '#contract/articles.ts';
import type { Base, Lifecycle } from '../lifecycle.ts';
import { Problem } from '../problem.ts';
import type { Store } from '../store/types.ts';
import type { Trace } from '../trace.ts';
import { ProviderError } from '../upstream/client.ts';
import { createChat } from './chat.ts';
import type { ChatOptions } from './chat.ts';

interface FeedbackSettings {
  readonly CHAT_FEEDBACK_WEBHOOK_URL?: string | undefined;
  readonly CHAT_FEEDBACK_WEBHOOK_KIND: ChatOptions['kind'];
  readonly SERVICE_VERSION: string;
}

/** What feedback needs of the server. */
interface FeedbackBase extends Base<FeedbackSettings> {
  /** A vote is counted before the server stops, even if its client has disconnected. */
  readonly lifecycle: Pick<Lifecycle, 'finish'>;
  /** Finds the current path of a knowledge base article by a current or former path. */
  readonly releases: { readonly findArticle: (path: string) => string | undefined };
  readonly store: Pick<Store, 'feedback'>;
}

/** The feedback of readers on articles. */
export type Feedback = ReturnType<typeof openFeedback>;

/** Opens feedback, which is forwarded to a chat if one is configured. */
export function openFeedback({ env, opened, lifecycle, releases, store, report }: FeedbackBase) {
  const { CHAT_FEEDBACK_WEBHOOK_URL: url, CHAT_FEEDBACK_WEBHOOK_KIND: kind, SERVICE_VERSION: version } = env;
  const chat = url === undefined ? undefined : createChat({ kind, url, version });
  opened.defer(async () => await chat?.close());
  // The request still succeeds: the reader cannot fix it.
  const onCountFailure = report('a vote could not be counted');
  return {
    /** Counts a vote, and sends it to the chat, if any. Throws a Problem if it was not delivered. */
    async record({ helpful, title, slug = '' }: z.infer<typeof KBFeedbackRequest>, trace?: Trace) {
      const at = new Date();
      // Only existing articles get a row: made-up paths must not fill the store.
      const vote = { path: releases.findArticle(slug) ?? '', day: at.toISOString().slice(0, 10), helpful };
      const counted = lifecycle.finish(() => store.feedback.count(vote).catch(onCountFailure));
      if (!chat) {
        await counted;
        return 'counted';
      }
      // Both run in parallel: the store may be slower than the reader should wait.
      try {
        await chat.send({ article: title, path: slug, helpful, at }, trace);
      } catch (cause) {
        // Any other error is ours: the message could not be built.
        const code = cause instanceof ProviderError ? 'feedback_not_delivered' : 'feedback_not_built';
        throw new Problem(code, undefined, { cause });
      }
      return 'delivered';
    },
  };
}
