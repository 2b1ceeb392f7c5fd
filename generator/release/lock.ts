import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';

const pollMs = 10;
/** SQLite's code for what another has locked. */
const busy = 5;

/**
 * Does what changes which releases below `out` there are, or which of them is the current one. Whoever else is about to,
 * in this process or any other, waits until it is done. It is a lock of the kernel, on a file that stays empty: it goes
 * with its process, however that ends. Where a file system has none, all goes on without.
 */
export async function inTurn<Result>(out: string, work: () => Promise<Result>): Promise<Result> {
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
    // oxlint-disable-next-line no-await-in-loop -- There is nothing to do but to try again.
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
