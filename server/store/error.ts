/** The store cannot be opened, reached or trusted; the message is fit for an operator, and holds no secret and no record. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
}
