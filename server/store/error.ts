/** The store cannot be used. The message is for operators, and holds no secret and no record. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
}

/** The database does not answer, or refuses a statement. The health of the store reports it, not each caller. */
export class StoreUnreachableError extends StoreError {
  constructor(message: string) {
    // The message names the cause. A stack for each failed call would fill the log.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message);
    Error.stackTraceLimit = stackTraceLimit;
  }
}
