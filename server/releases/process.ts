// Reads a release in a process of its own, into the file that it was given as the first beside the standard ones.
import { fstatSync } from 'node:fs';
import { ReleaseError, readContents, readManifest, writeAll } from './load.ts';

const [directory] = process.argv.slice(2) as [string];
const pack = 3;
try {
  const { index, ...contents } = await readContents(directory, readManifest(directory), pack);
  // The index follows the files: as a message it would swell the process that reads it.
  const text = Buffer.from(index);
  const { size: offset } = fstatSync(pack);
  writeAll(pack, text);
  process.send!({ contents, index: { offset, size: text.length } });
} catch (error) {
  if (!(error instanceof ReleaseError)) throw error;
  process.send!({ refused: error.message, cause: error.cause });
}
