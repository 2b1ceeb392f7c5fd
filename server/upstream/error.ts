/** Whether a failed request may have taken effect upstream. */
export type Outcome = 'refused' | 'unknown';

/** A failure of an upstream. The message never holds its texts, addresses or tokens. */
export class ProviderError extends Error {
  override readonly name = 'ProviderError';
  /** The error code of the response. */
  readonly code: 'provider_error' | 'provider_permission_denied';
  /** `refused`: it took no effect. `unknown`: it may have taken effect (a timeout, a broken connection). */
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
