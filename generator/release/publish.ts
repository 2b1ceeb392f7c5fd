import { execFile } from 'node:child_process';
import { hash } from 'node:crypto';
import {
  closeSync,
  copyFileSync,
  fdatasyncSync,
  linkSync,
  lstatSync,
  openSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { readFile, realpath, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { contractVersion } from '#contract/release.ts';
import type { Manifest } from '#contract/release.ts';
import { createFolder } from '../common/files.ts';
import { parseManifest, renderManifest, toReleaseId } from '../common/manifest.ts';
import type { Compressor, Encodings } from './compress.ts';
import { createStageName, makeCurrent, withLock } from './history.ts';

/** The release of an earlier build, whose files a new release can reuse. */
export interface PreviousRelease {
  readonly directory: string;
  readonly manifest: Manifest;
  /** Whether a file of the manifest is there and was not modified. */
  readonly isUnchanged: (file: string) => boolean;
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

/** A release that is being written; readers cannot see it before it is published. Files are named by path in the release. */
export type Stage = Awaited<ReturnType<typeof createReleaseStage>>;

/** Starts a release, and removes the abandoned stages of killed builds. */
export async function createReleaseStage(options: ReleaseStageOptions) {
  const { out, compressor, previous, isPreview = false, isTemporary = isPreview } = options;
  const releases = join(out, 'releases');
  createFolder(releases);
  await removeAbandonedStages(releases);
  const root = join(releases, createStageName());
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
  const put = (file: string, bytes: Uint8Array): void => {
    writeFileSync(pathOf(file), bytes, { flag: 'wx' });
    files.set(file, { bytes: bytes.length, sha256: hash('sha256', bytes) });
  };
  const reuse = (file: string, sha256 = previous?.manifest.files[file]?.sha256): boolean => {
    if (sha256 === undefined || previous?.manifest.files[file]?.sha256 !== sha256) return false;
    const { directory, manifest, isUnchanged } = previous;
    const names = [file, `${file}.gz`, `${file}.br`].filter((name) => Object.hasOwn(manifest.files, name));
    if (!names.every(isUnchanged)) return false;
    try {
      for (const name of names) linkOrCopy(`${directory}/${name}`, pathOf(name));
    } catch {
      // One is missing, because its release is being removed.
      for (const name of names) rmSync(pathOf(name), { force: true });
      return false;
    }
    for (const name of names) files.set(name, manifest.files[name]!);
    return true;
  };
  const writeEncodings = (file: string, { identity, gz, br }: Encodings): void => {
    put(file, identity);
    if (isPreview) return;
    put(`${file}.gz`, gz);
    put(`${file}.br`, br);
  };

  return {
    /**
     * Reuses a file of the previous release and its compressed encodings. Returns false if the file is missing, modified or
     * has another hash.
     */
    reuse,
    /** Writes a file and its compressed encodings, or reuses an equal one. */
    async write(file: string, bytes: Uint8Array): Promise<void> {
      if (reuse(file, hash('sha256', bytes))) return;
      if (isPreview) put(file, bytes);
      else writeEncodings(file, await compressor.compress(bytes));
    },
    /** Writes a file that is already compressed. */
    writeEncodings,
    /** Writes a file without compressing it. */
    writeMedia: put,
    /** Makes the release the current one, atomically. */
    async publish(counts: Manifest['counts'], nextChangeAt: string | null): Promise<Manifest> {
      const sorted = Object.fromEntries([...files.keys()].toSorted().map((file) => [file, files.get(file)!]));
      const body = { contractVersion, compression: compressor.name, counts, nextChangeAt, files: sorted };
      const manifest: Manifest = { id: toReleaseId(body), ...body };
      await withLock(out, async () => {
        await moveIntoPlace(root, join(releases, manifest.id), async () => {
          put('manifest.json', Buffer.from(renderManifest(manifest)));
          if (!isTemporary) await flush(root, [...files.keys()]);
        });
        await makeCurrent(out, manifest.id);
      });
      return manifest;
    },
    /** Removes the stage. */
    discard: () => rm(root, { recursive: true, force: true }),
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

/**
 * Flushes the files of a folder to disk, which must happen before their release is published. `sync -f` is one system call
 * for all files; without that command they are synced one by one.
 */
async function flush(root: string, files: readonly string[]): Promise<void> {
  try {
    await promisify(execFile)('sync', ['-f', root]);
  } catch {
    for (const name of files) {
      const file = openSync(join(root, name), 'r+');
      try {
        fdatasyncSync(file);
      } finally {
        closeSync(file);
      }
    }
  }
}

/** Verifies every file of a release against its manifest. Throws an error that names the first wrong file. */
export async function verifyRelease(directory: string): Promise<Manifest> {
  const manifest = await parseManifest(await readFile(join(directory, 'manifest.json'), 'utf8'));
  if (manifest.id !== basename(await realpath(directory))) throw new Error('manifest.json has been changed');
  for (const [file, { bytes, sha256 }] of Object.entries(manifest.files)) {
    const content = await readFile(join(directory, file));
    if (content.length !== bytes || hash('sha256', content) !== sha256) throw new Error(`${file} has been changed`);
  }
  return manifest;
}

/**
 * Moves a stage, after `complete` has finished it, to the folder of its release. Readers never see a part of it. A valid
 * release that is already there, possibly from a concurrent build, has the same content and stays.
 */
export async function moveIntoPlace(stage: string, release: string, complete: () => Promise<void>): Promise<void> {
  const isValid = (): Promise<boolean> =>
    verifyRelease(release).then(
      () => true,
      () => false,
    );
  /** Returns false if the release exists; `rename` replaces only an empty folder. */
  const move = (): Promise<boolean> =>
    rename(stage, release).then(
      () => true,
      (error: NodeJS.ErrnoException) => {
        if (['ENOTEMPTY', 'EEXIST', 'ENOTDIR'].includes(error.code ?? '')) return false;
        throw error;
      },
    );
  if (!(await isValid())) {
    await complete();
    if (await move()) return;
    // The existing release is broken, or a concurrent build has just created it.
    if (!(await isValid())) {
      const broken = await renameAside(release);
      const isInPlace = await move();
      await rm(broken, { recursive: true });
      if (isInPlace) return;
    }
  }
  await rm(stage, { recursive: true, force: true });
}

/** Removes a release or a stage. It is renamed first, so that readers never see a part of it. */
export async function removeRelease(release: string): Promise<void> {
  await rm(await renameAside(release), { recursive: true });
}

async function renameAside(release: string): Promise<string> {
  const aside = join(dirname(release), createStageName());
  await rename(release, aside);
  return aside;
}

/** A build that still runs has written to its stage since. */
const abandonedAfterMs = 60 * 60 * 1000;

/** Removes the stages that were begun over an hour ago: those of builds that were killed. */
async function removeAbandonedStages(releases: string): Promise<void> {
  for (const name of readdirSync(releases).filter((entry) => entry.startsWith('.stage-'))) {
    const path = join(releases, name);
    const begun = lstatSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    // A concurrent build may remove it too. A stage that cannot be removed does no harm.
    if (Date.now() - begun > abandonedAfterMs) await removeRelease(path).catch(() => undefined);
  }
}
