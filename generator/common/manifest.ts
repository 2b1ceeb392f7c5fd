import { createHash } from 'node:crypto';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { ManifestFile, ManifestHead, isCompressed } from '#contract/release.ts';
import type { Manifest } from '#contract/release.ts';

/** Computes the ID of a release: a hash of the manifest's head and files. */
export function toReleaseId({ files, ...head }: Omit<Manifest, 'id'>): string {
  const id = hashRelease(head);
  for (const [file, entry] of Object.entries(files)) id.add(file, entry);
  return id.digest();
}

/** Renders `manifest.json` for parsing in slices: the head on the first line, then one line per file. */
export function renderManifest({ files, ...head }: Manifest): string {
  const lines = Object.entries(files).map(([file, entry]) => `${JSON.stringify(file)}:${JSON.stringify(entry)}`);
  return `${JSON.stringify(head).slice(0, -1)},"files":{\n${lines.join(',\n')}\n}}\n`;
}

/** Parses a manifest in slices: `JSON.parse` of 10,000 articles blocks for 100 ms. Throws if the ID does not match. */
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

/** Hashes a manifest without compressed files, whose bytes differ between zlib builds. */
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

/** Short enough for no visitor to notice. */
const sliceMs = 2;

/** Iterates over items, and yields to the event loop every few milliseconds. */
export async function* inSlices<Item>(items: Iterable<Item>): AsyncGenerator<Item, void> {
  let until = performance.now() + sliceMs;
  for (const item of items) {
    yield item;
    if (performance.now() < until) continue;
    await yieldToEventLoop();
    until = performance.now() + sliceMs;
  }
}
