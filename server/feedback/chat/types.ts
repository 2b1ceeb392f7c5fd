import type { Trace } from '../../trace.ts';

/** A reader's feedback for the team's chat. Undefined fields were not given. */
export interface FeedbackMessage {
  readonly article: string | undefined;
  readonly path: string | undefined;
  readonly helpful: boolean;
  readonly at: Date;
}

/** The team's chat. */
export interface Chat {
  /** Sends a message; throws a ProviderError unless it certainly arrived. */
  send(message: FeedbackMessage, trace?: Trace): Promise<void>;
  close(): Promise<void>;
}

/** The message format of a kind of chat. */
export interface ChatKind {
  /** The maximum length of a visitor's text after escaping. */
  readonly maxText: number;
  /** Escapes a character, so that it cannot start formatting, a mention or a link. */
  readonly escape: (character: string) => string;
  /** The URL to post to, from the webhook URL of the operator. */
  toUrl(url: string): string;
  /** Builds the body of a message; its texts are already escaped. */
  toBody(message: FeedbackMessage & { article: string; path: string }): Readonly<Record<string, unknown>>;
}
