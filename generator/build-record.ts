import { hash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { BuildOptions, BuildResult } from './build-options.ts';
import { replaceFile } from './common/atomic-file.ts';
import { createFolder } from './common/folder.ts';
import { hashManifest, openPreviousRelease } from './release/previous-release.ts';
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

const cacheFolderOf = (out: string): string => join(out, '.cache');
/** The file of the article cache of a folder of releases. */
export const articleCacheOf = (out: string): string => join(cacheFolderOf(out), 'renders.sqlite');
const recordOf = (out: string): string => join(cacheFolderOf(out), 'build.record');

/**
 * Reads the record of the last build into `out`, which lets the next build skip work; undefined if there is none that can be
 * used. `unchanged` is the result of that build, unless a source, an option or the day has changed it.
 */
export function readBuildRecord(out: string, options: BuildOptions, sources: Sources) {
  const stored = readStoredRecord(recordOf(out));
  if (stored?.toolchain !== toolchainOf(options)) return undefined;
  const { nextChangeAt, release: id } = stored.result;
  const previous = openPreviousRelease(join(out, 'releases', id), stored.manifestHash);
  if (!previous) return undefined;
  const isSameSchedule = stored.now <= options.now && (nextChangeAt === null || options.now < nextChangeAt);
  const isUnchanged = isSameSchedule && stored.inputHash === hashInput(options, sources) && previous.isIntact();
  return {
    previous,
    unchanged: isUnchanged ? ({ ...stored.result, release: previous.manifest } satisfies BuildResult) : undefined,
    staticFiles: stored.result.staticFiles,
  };
}

/** Writes the record of a published build. */
export async function writeBuildRecord(
  out: string,
  options: BuildOptions,
  sources: Sources,
  { release, ...result }: BuildResult,
): Promise<void> {
  if (!release) return;
  const stored: StoredRecord = {
    toolchain: toolchainOf(options),
    inputHash: hashInput(options, sources),
    now: options.now,
    manifestHash: hashManifest(join(out, 'releases', release.id)),
    result: { ...result, release: release.id },
  };
  try {
    createFolder(cacheFolderOf(out));
    const json = JSON.stringify(stored);
    await replaceFile(recordOf(out), `${hash('sha256', json)}\n${json}`);
  } catch {
    // Without a record the next build only takes longer.
  }
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

function toolchainOf({ compression }: BuildOptions): string {
  return `${fingerprint()} ${compression}`;
}

function hashInput({ lenient, strict, urls = {} }: BuildOptions, { content, catalog }: Sources): string {
  const options = [lenient, strict, urls.site, urls.service, urls.support, urls.name];
  return hash('sha256', JSON.stringify([options, listOf(content), listOf(catalog)]));
}

function listOf({ display, files }: SourceFolder) {
  return [display, files.map(({ path, sha256 }) => [path, sha256])];
}

function readStoredRecord(file: string): StoredRecord | undefined {
  try {
    const [checksum, json = ''] = readFileSync(file, 'utf8').split('\n');
    return checksum === hash('sha256', json) ? (JSON.parse(json) as StoredRecord) : undefined;
  } catch {
    return undefined;
  }
}
