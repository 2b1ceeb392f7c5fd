import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { tryLock } from '../common/file-lock.ts';

const pollMs = 10;

/**
 * Runs `work` while holding the lock of a folder of releases; other callers, also in other processes, wait. On a file system
 * without locks, `work` runs without one.
 */
export async function withLock<Result>(out: string, work: () => Promise<Result>): Promise<Result> {
  const unlock = existsSync(out) ? await lock(join(out, '.lock')) : undefined;
  try {
    return await work();
  } finally {
    unlock?.();
  }
}

async function lock(file: string): Promise<(() => void) | undefined> {
  for (;;) {
    try {
      const unlock = tryLock(file);
      if (unlock) return unlock;
    } catch {
      return undefined;
    }
    // oxlint-disable-next-line no-await-in-loop -- The loop polls for the lock.
    await sleep(pollMs);
  }
}
