import { createHash } from 'node:crypto';
import { ManifestFile, ManifestHead, isCompressed } from '#contract/release.ts';
import type { Manifest } from '#contract/release.ts';
import { inSlices } from './slices.ts';

/** The id of the release that a manifest describes: the same for the same head and files, in the order of the files. */
export function toReleaseId({ files, ...head }: Omit<Manifest, 'id'>): string {
  const id = hashRelease(head);
  for (const [file, entry] of Object.entries(files)) id.add(file, entry);
  return id.digest();
}

/** The text of a `manifest.json`: the head in its first line, then a line for each file, so that it can be read in parts. */
export function renderManifest({ files, ...head }: Manifest): string {
  const lines = Object.entries(files).map(([file, entry]) => `${JSON.stringify(file)}:${JSON.stringify(entry)}`);
  return `${JSON.stringify(head).slice(0, -1)},"files":{\n${lines.join(',\n')}\n}}\n`;
}

/**
 * Parses a text of {@link renderManifest}, between other work of the event loop: as one JSON text, the manifest of 10,000
 * articles would keep all requests waiting for a tenth of a second. Throws where it is not a manifest, or does not match
 * its own id.
 */
export async function parseManifest(text: string): Promise<Manifest> {
  const [first, ...lines] = text.split('\n');
  const { files = {}, ...rest } = JSON.parse(`${first}}}`) as Partial<Manifest>;
  const { id, ...head } = ManifestHead.parse(rest);
  const hash = hashRelease(head);
  for await (const line of inSlices(lines.slice(0, -2))) {
    for (const [file, entry] of Object.entries(JSON.parse(`{${line.replace(/,$/, '')}}`))) {
      files[file] = ManifestFile.parse(entry);
      hash.add(file, files[file]);
    }
  }
  if (hash.digest() !== id) throw new Error('manifest.json has been changed');
  return { id, ...head, files };
}

/**
 * Hashes a manifest without its compressed forms, whose bytes differ between builds of zlib though they hold the same.
 * Two releases of one id therefore hold the same to the byte.
 */
function hashRelease({ contractVersion, compression, counts, nextChangeAt }: Omit<ManifestHead, 'id'>) {
  const hash = createHash('sha256');
  hash.update(JSON.stringify([contractVersion, compression, Object.entries(counts), nextChangeAt]));
  return {
    add(file: string, { bytes, sha256 }: ManifestFile): void {
      if (!isCompressed(file)) hash.update(`\n${JSON.stringify([file, bytes, sha256])}`);
    },
    digest: () => hash.digest('hex').slice(0, 16),
  };
}
