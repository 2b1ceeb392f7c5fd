import type { z } from 'zod';
import type { KBFeedbackRequest } from '#contract/feedback.ts';
import type { Lifecycle } from '../lifecycle.ts';
import { Problem } from '../problem.ts';
import { ProviderError } from '../upstream/client.ts';
import { createChat } from './chat.ts';
import type { Chat, ChatOptions } from './chat.ts';
import type { Store } from '../store/types.ts';
import type { Trace } from '../trace.ts';

/** Dependencies of the feedback service. */
interface FeedbackOptions {
  readonly store: Pick<Store, 'feedback'>;
  /** The team's chat; undefined if none is configured. */
  readonly chat: Chat | undefined;
  /** Finds the current path of a knowledge base article by a current or former path. */
  readonly findArticle: (path: string) => string | undefined;
  /** Completes work before shutdown, even if the client has disconnected. */
  readonly finish: (work: () => Promise<void>) => Promise<void>;
  /** Called when a vote cannot be counted. The request still succeeds: the reader cannot fix it. */
  readonly onCountFailure: (error: unknown) => void;
  readonly now?: () => Date;
}

/** The feedback of readers on articles. */
export type Feedback = ReturnType<typeof createFeedback>;

/** What feedback needs of the server. */
export interface FeedbackBase {
  readonly env: {
    readonly CHAT_FEEDBACK_WEBHOOK_URL?: string | undefined;
    readonly CHAT_FEEDBACK_WEBHOOK_KIND: ChatOptions['kind'];
    readonly SERVICE_VERSION: string;
  };
  readonly opened: AsyncDisposableStack;
  readonly lifecycle: Pick<Lifecycle, 'finish'>;
  readonly releases: Pick<FeedbackOptions, 'findArticle'>;
  readonly store: Pick<Store, 'feedback'>;
  /** Creates what logs an error. */
  readonly report: (message: string) => (error: unknown) => void;
}

/** Opens feedback, which is forwarded to a chat if one is configured. It is closed with the server. */
export function openFeedback({ env, opened, lifecycle, releases, store, report }: FeedbackBase): Feedback {
  const { CHAT_FEEDBACK_WEBHOOK_URL: url, CHAT_FEEDBACK_WEBHOOK_KIND: kind, SERVICE_VERSION: version } = env;
  const chat = url === undefined ? undefined : createChat({ kind, url, version });
  opened.defer(async () => await chat?.close());
  return createFeedback({
    store,
    chat,
    findArticle: (path) => releases.findArticle(path),
    finish: (work) => lifecycle.finish(work),
    onCountFailure: report('a vote could not be counted'),
  });
}

/** Creates the feedback service. A vote is counted even if the chat cannot be reached. */
function createFeedback({ store, chat, findArticle, finish, onCountFailure, now = () => new Date() }: FeedbackOptions) {
  return {
    /** Counts a vote and sends it to the team's chat, if any. Throws a Problem if it was not delivered. */
    async record(
      { helpful, title, slug = '' }: z.infer<typeof KBFeedbackRequest>,
      trace?: Trace,
    ): Promise<'delivered' | 'counted'> {
      const at = now();
      // Only existing articles get a row: made-up paths must not fill the store.
      const vote = { path: findArticle(slug) ?? '', day: at.toISOString().slice(0, 10), helpful };
      const counted = finish(() => store.feedback.count(vote).catch(onCountFailure));
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
