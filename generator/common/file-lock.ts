import { DatabaseSync } from 'node:sqlite';

/** SQLITE_BUSY: another connection holds the lock. */
const busy = 5;

/**
 * Locks a file, and returns the function that unlocks it; undefined if it is locked already. It is SQLite's lock on an empty
 * file: the kernel releases it when the process ends, also by SIGKILL, so no process ID decides who holds it. Throws if the
 * file cannot be opened, or its file system has no locks.
 */
export function tryLock(path: string): (() => void) | undefined {
  const file = new DatabaseSync(path, { timeout: 0 });
  try {
    file.exec('BEGIN EXCLUSIVE');
    return () => file.close();
  } catch (error) {
    file.close();
    if ((error as { errcode?: number }).errcode === busy) return undefined;
    throw error;
  }
}
