/** A reader's verdict, as the team's chat is told it. What is undefined was not said. */
export interface FeedbackMessage {
  readonly article: string | undefined;
  readonly path: string | undefined;
  readonly helpful: boolean;
  readonly at: Date;
}

/** The team's chat. */
export interface Chat {
  /** Sends a message; throws a ProviderError where it is not certain that it arrived. */
  send(message: FeedbackMessage): Promise<void>;
  close(): Promise<void>;
}

/** How a kind of chat wants its messages. */
export interface ChatKind {
  /** The address that is posted to, made of the one that the operator was given. */
  toUrl(url: string): string;
  toBody(message: FeedbackMessage): Readonly<Record<string, unknown>>;
}

/** The labels of what a reader did not say. */
export const fallbacks = { article: 'Untitled article', path: 'Unknown path' } as const;
