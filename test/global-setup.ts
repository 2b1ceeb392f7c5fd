import { accessSync, chmodSync, constants, mkdtempSync, rmSync, statfsSync } from 'node:fs';

/** What a run writes at most: builds, stores and databases of all workers together. */
const neededBytes = 2 * 1024 ** 3;

let folder: string | undefined;

/**
 * Puts the temporary folders of the tests into memory: removing 40 builds from a disk can take 19 s. Where there is no
 * memory file system with enough room they stay on the disk, and a line says so.
 */
export function setup(): void {
  try {
    accessSync('/dev/shm', constants.W_OK);
    const { bavail, bsize } = statfsSync('/dev/shm');
    if (bavail * bsize < neededBytes) throw new Error('less than 2 GiB are free');
  } catch (error) {
    process.stderr.write(`the temporary folders of the tests are on the disk: /dev/shm: ${(error as Error).message}\n`);
    return;
  }
  folder = mkdtempSync('/dev/shm/hosting-api-tests-');
  // PostgreSQL runs as another user.
  chmodSync(folder, 0o711);
  process.env.TMPDIR = folder;
}

/** Removes the folder of a run with all that its tests left. */
export function teardown(): void {
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
}
