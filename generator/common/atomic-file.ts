import { randomUUID } from 'node:crypto';
import { rename, rm, writeFile } from 'node:fs/promises';

/**
 * Writes a file beside its place and renames it: a reader sees the old content or the new one, never a part. With `flush`
 * it waits until the bytes are on the disk, so that a power loss cannot leave an empty file.
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
