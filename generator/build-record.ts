import { hash } from 'node:crypto';
import { readFileSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Manifest } from '#contract/release.ts';
import type { BuildOptions, BuildResult } from './compile.ts';
import { createFolder, replaceFile } from './common/files.ts';
import type { PreviousRelease } from './release/publish.ts';
import type { SourceFolder, SourceSet } from './source/load.ts';

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
export function openBuildRecord(options: BuildOptions, { content, catalog }: SourceSet) {
  const { out, now, compression, lenient, strict, urls = {} } = options;
  const file = join(out, '.cache', 'build.record');
  const toolchain = `${fingerprint()} ${compression}`;
  const settings = [lenient, strict, urls.site, urls.service, urls.support, urls.name];
  const inputHash = hash('sha256', JSON.stringify([settings, listOf(content), listOf(catalog)]));
  const manifestOf = (id: string): string => join(out, 'releases', id, 'manifest.json');

  const read = () => {
    try {
      const [checksum, json = ''] = readFileSync(file, 'utf8').split('\n');
      if (checksum !== hash('sha256', json)) return undefined;
      const stored = JSON.parse(json) as StoredRecord;
      const { nextChangeAt, release: id, staticFiles } = stored.result;
      const text = readFileSync(manifestOf(id), 'utf8');
      if (stored.toolchain !== toolchain || stored.manifestHash !== hash('sha256', text)) return undefined;
      const manifest = JSON.parse(text) as Manifest;
      const previous = openRelease(dirname(manifestOf(id)), manifest);
      const isSameSchedule = stored.now <= now && (nextChangeAt === null || now < nextChangeAt);
      const isUnchanged =
        isSameSchedule && stored.inputHash === inputHash && Object.keys(manifest.files).every(previous.isUnchanged);
      const unchanged: BuildResult | undefined = isUnchanged ? { ...stored.result, release: manifest } : undefined;
      return { previous, staticFiles, unchanged };
    } catch {
      return undefined;
    }
  };
  return {
    ...read(),
    /** Writes the record of this build, if it was published. */
    async write({ release, ...result }: BuildResult): Promise<void> {
      if (!release) return;
      const manifestHash = hash('sha256', readFileSync(manifestOf(release.id)));
      const stored = { toolchain, inputHash, now, manifestHash, result: { ...result, release: release.id } };
      try {
        createFolder(dirname(file));
        const json = JSON.stringify(stored satisfies StoredRecord);
        await replaceFile(file, `${hash('sha256', json)}\n${json}`);
      } catch {
        // Without a record the next build only takes longer.
      }
    },
  };
}

/** Its files are not read: one of the right size that is not newer than the manifest counts as unchanged. */
function openRelease(directory: string, manifest: Manifest): PreviousRelease {
  const writtenMs = statSync(join(directory, 'manifest.json')).mtimeMs;
  const isUnchanged = (file: string): boolean => {
    const stat = statSync(`${directory}/${file}`, { throwIfNoEntry: false });
    return stat?.isFile() === true && stat.size === manifest.files[file]!.bytes && stat.mtimeMs <= writtenMs;
  };
  return { directory, manifest, isUnchanged };
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
