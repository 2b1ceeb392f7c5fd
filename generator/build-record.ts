import { hash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { BuildOptions, BuildResult } from './compile.ts';
import { createFolder, replaceFile } from './common/files.ts';
import { hashManifest, isIntact, openPreviousRelease } from './release/previous-release.ts';
import type { SourceFolder, Sources } from './source/load.ts';

/** The record on disk, which follows a line with its hash. */
interface StoredRecord {
  /** The fingerprint of the generator, and the compression; a record with another toolchain is not used. */
  readonly toolchain: string;
  /** A hash of all sources and of the options. */
  readonly inputHash: string;
  readonly now: string;
  readonly manifestHash: string;
  /** The result without the manifest, which is in the release. */
  readonly result: Omit<BuildResult, 'release'> & { readonly release: string };
}

/** The file of the article cache of a folder of releases. */
export const articleCacheOf = (out: string): string => join(out, '.cache', 'renders.sqlite');

const listOf = ({ display, files }: SourceFolder) => [display, files.map(({ path, sha256 }) => [path, sha256])];

/**
 * Opens the record of the last build, which lets this one skip work; without one that can be used, it has no `previous` release.
 * `unchanged` is the result of that build, unless a source, an option or the day has changed it.
 */
export function openBuildRecord(options: BuildOptions, { content, catalog }: Sources) {
  const { out, now, compression, lenient, strict, urls = {} } = options;
  const file = join(out, '.cache', 'build.record');
  const toolchain = `${fingerprint()} ${compression}`;
  const settings = [lenient, strict, urls.site, urls.service, urls.support, urls.name];
  const inputHash = hash('sha256', JSON.stringify([settings, listOf(content), listOf(catalog)]));

  const read = () => {
    const stored = readStoredRecord(file);
    if (stored?.toolchain !== toolchain) return undefined;
    const { nextChangeAt, release: id, staticFiles } = stored.result;
    const previous = openPreviousRelease(join(out, 'releases', id), stored.manifestHash);
    if (!previous) return undefined;
    const isSameSchedule = stored.now <= now && (nextChangeAt === null || now < nextChangeAt);
    const isUnchanged = isSameSchedule && stored.inputHash === inputHash && isIntact(previous);
    const unchanged: BuildResult | undefined = isUnchanged
      ? { ...stored.result, release: previous.manifest }
      : undefined;
    return { previous, staticFiles, unchanged };
  };
  return {
    ...read(),
    /** Writes the record of this build, if it was published. */
    async write({ release, ...result }: BuildResult): Promise<void> {
      if (!release) return;
      const manifestHash = hashManifest(join(out, 'releases', release.id));
      const stored: StoredRecord = {
        toolchain,
        inputHash,
        now,
        manifestHash,
        result: { ...result, release: release.id },
      };
      try {
        createFolder(dirname(file));
        const json = JSON.stringify(stored);
        await replaceFile(file, `${hash('sha256', json)}\n${json}`);
      } catch {
        // Without a record the next build only takes longer.
      }
    },
  };
}

let cachedFingerprint: string | undefined;

/**
 * A hash of everything else that a build depends on: the generator's code, the guide of /docs, the versions of its libraries, and the version
 * of Node.js, which includes zlib. It is the same on every machine.
 */
export function fingerprint(): string {
  if (cachedFingerprint !== undefined) return cachedFingerprint;
  const root = import.meta.dirname;
  const code = readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted()
    .map((file) => [file.slice(root.length), readFileSync(file, 'utf8')]);
  const others = ['package-lock.json', 'docs/customers.md'].map((file) => readFileSync(join(root, '..', file), 'utf8'));
  return (cachedFingerprint = hash('sha256', JSON.stringify([process.version, others, code])));
}

function readStoredRecord(file: string): StoredRecord | undefined {
  try {
    const [checksum, json = ''] = readFileSync(file, 'utf8').split('\n');
    return checksum === hash('sha256', json) ? (JSON.parse(json) as StoredRecord) : undefined;
  } catch {
    return undefined;
  }
}
