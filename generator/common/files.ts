import { randomUUID } from 'node:crypto';
import { mkdirSync, statSync } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Replaces a file atomically: writes a temporary file in the same folder and renames it. A reader sees the old or the new
 * content, never a part. With `flush` the bytes are on disk before the rename, so a power loss cannot leave an empty file.
 */
export async function replaceFile(
  path: string,
  content: string,
  options: { readonly mode?: number; readonly flush?: boolean } = {},
): Promise<void> {
  const temporary = `${path}.${randomUUID()}.tmp`;
  try {
    await writeFile(temporary, content, options);
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/**
 * Creates a folder and its missing parents. It replaces the recursive mkdir of Node.js, which never returns below /proc:
 * there mkdir fails with ENOENT although the parent exists.
 */
export function createFolder(path: string, mode?: number): void {
  if (isFolder(path)) return;
  const parent = dirname(path);
  if (parent !== path) createFolder(parent, mode);
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    // Another process may have created it.
    if (!isFolder(path)) throw error;
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
