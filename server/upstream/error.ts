/** Whether an upstream that failed may have done what it was asked. */
export type Outcome = 'refused' | 'unknown';

/** A failure of an outside system, translated: nothing of its words, addresses or tokens is in the message. */
export class ProviderError extends Error {
  override readonly name = 'ProviderError';
  /** The code that the client reads. */
  readonly code: 'provider_error' | 'provider_permission_denied';
  /** `refused`: certainly nothing happened. `unknown`: it may have happened (a timeout, a connection that broke). */
  readonly outcome: Outcome;
  constructor(
    message: string,
    options: ErrorOptions & { readonly code?: ProviderError['code']; readonly outcome: Outcome },
  ) {
    super(message, { cause: options.cause });
    this.code = options.code ?? 'provider_error';
    this.outcome = options.outcome;
  }
}
