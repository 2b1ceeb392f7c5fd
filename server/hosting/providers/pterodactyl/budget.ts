/** How often something may be done. */
export interface Budget {
  /** Takes one use of a key; answers 0, or for how many milliseconds none is left. */
  take(key: string): number;
}

/** Creates a budget of so many uses of each key in any window of time. */
export function createBudget(limit: number, windowMs: number): Budget {
  const uses = new Map<string, number[]>();
  return {
    take(key) {
      const now = performance.now();
      const recent = (uses.get(key) ?? []).filter((at) => now - at < windowMs);
      uses.set(key, recent);
      if (recent.length >= limit) return recent[0]! + windowMs - now;
      recent.push(now);
      return 0;
    },
  };
}
