import { DatabaseSync } from 'node:sqlite';

/** SQLITE_BUSY. */
const busy = 5;

/**
 * Locks a file and returns the unlock function; undefined if the file is locked already. SQLite locks an empty file,
 * and the kernel releases the lock when the process ends, even by SIGKILL. Throws if the file cannot be opened or
 * locked.
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
