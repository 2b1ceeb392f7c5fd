import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';

const pollMs = 10;
/** SQLITE_BUSY: another connection holds the lock. */
const busy = 5;

/**
 * Runs `work` while holding the lock of a folder of releases; other callers, also in other processes, wait. The kernel holds
 * the lock, on an empty file, and releases it when the process ends. On a file system without locks, `work` runs without
 * one.
 */
export async function withLock<Result>(out: string, work: () => Promise<Result>): Promise<Result> {
  const lock = existsSync(out) ? await acquire(join(out, '.lock')) : undefined;
  try {
    return await work();
  } finally {
    lock?.close();
  }
}

async function acquire(file: string): Promise<DatabaseSync | undefined> {
  for (;;) {
    const lock = openLock(file);
    try {
      lock?.exec('BEGIN EXCLUSIVE');
      return lock;
    } catch (error) {
      lock?.close();
      if ((error as { errcode?: number }).errcode !== busy) return undefined;
    }
    // oxlint-disable-next-line no-await-in-loop -- The loop polls for the lock.
    await sleep(pollMs);
  }
}

function openLock(file: string): DatabaseSync | undefined {
  try {
    return new DatabaseSync(file, { timeout: 0 });
  } catch {
    return undefined;
  }
}
