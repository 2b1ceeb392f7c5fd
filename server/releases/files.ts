import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { lstat, open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';

/** A file of a release, as its manifest names it. */
export interface ReleaseFile {
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** A release, or a file of one, that must not be served; the message names the file. */
export class ReleaseError extends Error {
  override readonly name = 'ReleaseError';
}

/** What is read at a time where a file is not needed as a whole. */
const chunkBytes = 64 * 1024;

/** Reads a file whole. Throws a {@link ReleaseError} where it is not what the manifest says. */
export async function readReleaseFile(file: ReleaseFile): Promise<Buffer> {
  // Not of the shared pool: one short file that is kept would keep all that was read beside it.
  const content = Buffer.allocUnsafeSlow(file.bytes);
  let length = 0;
  for await (const chunk of readChunks(file)) {
    chunk.copy(content, length);
    length += chunk.length;
  }
  return content;
}

/** Reads a file through a hash, without keeping it. Throws as {@link readReleaseFile} does. */
export async function verifyReleaseFile(file: ReleaseFile): Promise<void> {
  for await (const _ of readChunks(file));
}

/**
 * Streams a file. Rejects where it cannot be what the manifest says; where only its last bytes tell, the stream ends
 * with an error before them, so that no whole file is ever a wrong one.
 */
export async function streamReleaseFile(file: ReleaseFile): Promise<Readable> {
  const chunks = readChunks(file);
  const first = await chunks.next();
  return Readable.from(
    (async function* () {
      if (!first.done) yield first.value;
      yield* chunks;
    })(),
    { objectMode: false },
  );
}

/** The chunks of a file; the last one is yielded when all of them are proved. Throws a {@link ReleaseError}. */
async function* readChunks(file: ReleaseFile): AsyncGenerator<Buffer, void> {
  const handle = await openRegular(file);
  try {
    const digest = createHash('sha256');
    let held: Buffer | undefined;
    for (let left = file.bytes; left > 0;) {
      const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(Math.min(left, chunkBytes)));
      if (bytesRead === 0) break;
      if (held) yield held;
      held = buffer.subarray(0, bytesRead);
      digest.update(held);
      left -= bytesRead;
    }
    if (digest.digest('hex') !== file.sha256) throw mismatch(file);
    if (held) yield held;
  } finally {
    await handle.close();
  }
}

/** Opens only what is a regular file of the size that the manifest names: a FIFO would block, and a device never end. */
async function openRegular(file: ReleaseFile): Promise<FileHandle> {
  try {
    const stats = await lstat(file.path);
    if (!stats.isFile() || stats.size !== file.bytes) throw mismatch(file);
    return await open(file.path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (error instanceof ReleaseError) throw error;
    throw new ReleaseError(`${file.path}: the file cannot be read`, { cause: error });
  }
}

function mismatch({ path }: ReleaseFile): ReleaseError {
  return new ReleaseError(`${path}: the file does not match the manifest`);
}
