const isLate: unique symbol = Symbol('late');

/**
 * Awaits work for at most `ms`; after that `onTimeout` decides the result. Pending socket reads still count, as Node runs
 * timers before I/O: a busy process would time out results that already arrived.
 */
export async function withTimeout<Value, Late>(work: Promise<Value>, ms: number, onTimeout: () => Late) {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(() => setImmediate(resolve), ms);
  const first = await Promise.race([work, late.then((): typeof isLate => isLate)]).finally(() => clearTimeout(timer));
  return first === isLate ? onTimeout() : first;
}
