import { onTestFinished, vi } from 'vitest';

/**
 * Stops the clock of rate limits until the test ends, so limits do not refill on a slow machine. Returns a function
 * that advances the clock.
 */
export function stopClock(): (ms: number) => void {
  // A whole number: sums of others are not exact.
  let now = Math.ceil(performance.now());
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now);
  onTestFinished(() => clock.mockRestore());
  return (ms) => void (now += ms);
}

const realNow = performance.now.bind(performance);

/** Returns a function that advances the monotonic clock, which keeps running, until the test ends. */
export function shiftClock(): (ms: number) => void {
  // Goes on from an earlier shift of the test.
  let elapsed = performance.now() - realNow();
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => realNow() + elapsed);
  onTestFinished(() => clock.mockRestore());
  return (ms) => void (elapsed += ms);
}

/**
 * Stops the clock of `AbortSignal.timeout` until the test ends, so no request times out before it has arrived. Returns
 * a function that advances the clock.
 */
export function stopTimeouts(): (ms: number) => void {
  let running: { readonly controller: AbortController; left: number }[] = [];
  const clock = vi.spyOn(AbortSignal, 'timeout').mockImplementation((left) => {
    const controller = new AbortController();
    running.push({ controller, left });
    return controller.signal;
  });
  onTestFinished(() => clock.mockRestore());
  return (ms) => {
    for (const timeout of running) timeout.left -= ms;
    const ended = running.filter(({ left }) => left <= 0);
    running = running.filter(({ left }) => left > 0);
    for (const { controller } of ended) controller.abort(new DOMException('It takes too long', 'TimeoutError'));
  };
}

/** Stops timers with these durations until the test ends. */
export function stopTimers(...stoppedMs: readonly number[]): void {
  changeTimers('setTimeout', (ms) => (stoppedMs.includes(ms) ? 2 ** 31 - 1 : ms));
}

/** Shortens timers of at least this duration, and less than the other one, to 10 ms until the test ends. */
export function shortenTimers(longMs: number, belowMs = Infinity): void {
  changeTimers('setTimeout', (ms) => (ms >= longMs && ms < belowMs ? 10 : ms));
}

/** Sends the pings of console streams 300 times as often until the test ends. */
export function hastenPings(): void {
  changeTimers('setInterval', (ms) => (ms === 30_000 ? 100 : ms));
}

function changeTimers(name: 'setTimeout' | 'setInterval', change: (ms: number) => number): void {
  const start = globalThis[name] as typeof setTimeout;
  const changed = (...[run, ms, ...args]: Parameters<typeof start>) => start(run, change(ms ?? 0), ...args);
  Object.assign(globalThis, { [name]: Object.assign(changed, start) });
  onTestFinished(() => void Object.assign(globalThis, { [name]: start }));
}
