/** The store cannot be used. The message is for operators, and holds no secret and no record. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
}
