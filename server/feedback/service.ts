import type { z } from 'zod';
import type { KBFeedbackRequest } from '#contract/feedback.ts';
import { Problem } from '../problem.ts';
import { ProviderError } from '../upstream/error.ts';
import type { Chat } from './chat/types.ts';
import type { Store } from '../store/types.ts';

/** What the feedback service needs. */
export interface FeedbackOptions {
  readonly store: Pick<Store, 'feedback'>;
  /** The team's chat; undefined where nobody wants to be told. */
  readonly chat: Chat | undefined;
  /** The path of the knowledge base article that is known by a path, which may be a former one. */
  readonly findArticle: (path: string) => string | undefined;
  /** Brings work to its end that nobody waits for any more. */
  readonly finish: (work: () => Promise<void>) => Promise<void>;
  /** Is told of a vote that could not be counted: the reader cannot mend it. */
  readonly onCountFailure: (error: unknown) => void;
  readonly now?: () => Date;
}

/** What readers say of articles. */
export type Feedback = ReturnType<typeof createFeedback>;

/** Creates the feedback service. A vote is counted whether or not it reaches the chat. */
export function createFeedback({
  store,
  chat,
  findArticle,
  finish,
  onCountFailure,
  now = () => new Date(),
}: FeedbackOptions) {
  return {
    /** Counts a vote and sends it to the chat of the team, where there is one. Throws a Problem where it was not delivered. */
    async record({ helpful, title, slug = '' }: z.infer<typeof KBFeedbackRequest>): Promise<'told' | 'counted'> {
      const at = now();
      // Only what exists is a row: what visitors make up must not fill the store.
      const vote = { path: findArticle(slug) ?? '', day: at.toISOString().slice(0, 10), helpful };
      const counted = finish(() => store.feedback.count(vote).catch(onCountFailure));
      if (!chat) {
        await counted;
        return 'counted';
      }
      // Both at once: the store may take longer than a reader, or the chat, should have to wait for it.
      try {
        await chat.send({ article: title, path: slug, helpful, at });
      } catch (cause) {
        // What is not the chat's failure is ours: a message that could not be built.
        const code = cause instanceof ProviderError ? 'feedback_not_delivered' : 'feedback_not_built';
        throw new Problem(code, undefined, { cause });
      }
      return 'told';
    },
  };
}
