import { hash } from 'node:crypto';
import { copyFileSync, linkSync, rmSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { contractVersion } from '#contract/release.ts';
import type { Manifest } from '#contract/release.ts';
import { createFolder } from '../common/folder.ts';
import { renderManifest, toReleaseId } from '../common/manifest.ts';
import type { Compressor, Encodings } from './compress.ts';
import type { PreviousRelease } from './previous-release.ts';
import { createStageName, makeCurrent, withLock } from './history.ts';
import { flush, moveIntoPlace, removeAbandonedStages } from './publish.ts';

/** A release that is being written; readers cannot see it before it is published. Files are named by path in the release. */
export interface Stage {
  /**
   * Reuses a file of the previous release and its compressed encodings. Returns false if the file is missing, modified or
   * has another hash.
   */
  reuse(file: string, sha256?: string): boolean;
  /** Writes a file and its compressed encodings, or reuses an equal one. */
  write(file: string, bytes: Uint8Array): Promise<void>;
  /** Writes a file that is already compressed. */
  writeEncodings(file: string, encodings: Encodings): void;
  /** Writes a file without compressing it. */
  writeMedia(file: string, bytes: Uint8Array): void;
  /** Makes the release the current one, atomically. */
  publish(counts: Manifest['counts'], nextChangeAt: string | null): Promise<Manifest>;
  /** Removes the stage. */
  discard(): Promise<void>;
}

/** Options of {@link createReleaseStage}. */
export interface ReleaseStageOptions {
  /** The folder of all releases. */
  readonly out: string;
  readonly compressor: Compressor;
  /** Unchanged files of this release are linked. */
  readonly previous: PreviousRelease | undefined;
  /** A release for `dev`: it has no compressed files and is not flushed to disk. */
  readonly isPreview?: boolean;
  /** Whether the release need not survive a power loss, and is not flushed to disk either. */
  readonly isTemporary?: boolean | undefined;
}

/** Starts a release, and removes the abandoned stages of killed builds. */
export async function createReleaseStage(options: ReleaseStageOptions): Promise<Stage> {
  const { out, compressor, previous, isPreview = false, isTemporary = isPreview } = options;
  const releases = join(out, 'releases');
  createFolder(releases);
  await removeAbandonedStages(releases);
  const root = join(releases, createStageName());
  const files = createFiles(root);

  const reuse = (file: string, sha256?: string): boolean => {
    if (sha256 !== undefined && previous?.manifest.files[file]?.sha256 !== sha256) return false;
    const entries = previous?.encodingsOf(file) ?? [];
    return files.link(previous?.directory ?? '', entries) && entries.length > 0;
  };
  const writeEncodings = (file: string, { identity, gz, br }: Encodings): void => {
    files.put(file, identity);
    if (isPreview) return;
    files.put(`${file}.gz`, gz);
    files.put(`${file}.br`, br);
  };

  return {
    reuse,
    async write(file, bytes) {
      if (reuse(file, hash('sha256', bytes))) return;
      if (isPreview) files.put(file, bytes);
      else writeEncodings(file, await compressor.compress(bytes));
    },
    writeEncodings,
    writeMedia: (file, bytes) => files.put(file, bytes),
    async publish(counts, nextChangeAt) {
      const body = { contractVersion, compression: compressor.name, counts, nextChangeAt, files: files.list() };
      const manifest: Manifest = { id: toReleaseId(body), ...body };
      await withLock(out, async () => {
        await moveIntoPlace(root, join(releases, manifest.id), async () => {
          files.put('manifest.json', Buffer.from(renderManifest(manifest)));
          if (!isTemporary) await flush(root, [...Object.keys(manifest.files), 'manifest.json']);
        });
        await makeCurrent(out, manifest.id);
      });
      return manifest;
    },
    discard: () => rm(root, { recursive: true, force: true }),
  };
}

/** The files of a stage and their manifest entries. */
function createFiles(root: string) {
  const files = new Map<string, Manifest['files'][string]>();
  const folders = new Set<string>();
  const pathOf = (file: string): string => {
    // Not by node:path: a release of 10,000 articles has 30,000 files.
    const path = `${root}/${file}`;
    const folder = path.slice(0, path.lastIndexOf('/'));
    if (!folders.has(folder)) createFolder(folder);
    folders.add(folder);
    return path;
  };
  return {
    /** Ordered by path. */
    list: () => Object.fromEntries([...files.keys()].toSorted().map((file) => [file, files.get(file)!])),
    put(file: string, bytes: Uint8Array): void {
      writeFileSync(pathOf(file), bytes, { flag: 'wx' });
      files.set(file, { bytes: bytes.length, sha256: hash('sha256', bytes) });
    },
    /** Links all files of another folder, or returns false if one is missing because its release is being removed. */
    link(from: string, entries: readonly [string, Manifest['files'][string]][]): boolean {
      try {
        for (const [file] of entries) linkOrCopy(`${from}/${file}`, pathOf(file));
      } catch {
        for (const [file] of entries) rmSync(pathOf(file), { force: true });
        return false;
      }
      for (const [file, entry] of entries) files.set(file, entry);
      return true;
    },
  };
}

/** Some file systems have no hard links, and all limit the links to one file. */
function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch {
    copyFileSync(from, to);
  }
}
