/**
 * Awaits some work for at most `ms`; then the result is what `onTimeout` returns or throws. Work whose result arrived in
 * time counts as done also if the process was too busy to read it: timers run before sockets.
 */
export async function withTimeout<Value, Late>(work: Promise<Value>, ms: number, onTimeout: () => Late) {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(() => setImmediate(resolve), ms);
  return await Promise.race([work, late.then(onTimeout)]).finally(() => clearTimeout(timer));
}
