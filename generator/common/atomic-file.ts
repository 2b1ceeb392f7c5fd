import { randomUUID } from 'node:crypto';
import { rename, rm, writeFile } from 'node:fs/promises';

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
