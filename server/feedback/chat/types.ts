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
  /** The longest text of a visitor's, escaped. */
  readonly maxText: number;
  /** Keeps a character of a visitor's text from being formatted, mentioned or linked. */
  readonly escape: (character: string) => string;
  /** The address that is posted to, made of the one that the operator was given. */
  toUrl(url: string): string;
  /** The body of a message whose texts are escaped. */
  toBody(message: FeedbackMessage & { article: string; path: string }): Readonly<Record<string, unknown>>;
}
