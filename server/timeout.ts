/** Awaits some work for at most `ms`; then the result is what `onTimeout` returns or throws. */
export async function withTimeout<Value, Late>(work: Promise<Value>, ms: number, onTimeout: () => Late) {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  return await Promise.race([work, late.then(onTimeout)]).finally(() => clearTimeout(timer));
}
