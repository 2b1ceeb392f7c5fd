import { execFile } from 'node:child_process';
import { hash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  linkSync,
  lstatSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { open, readFile, realpath, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { LRUCache } from 'lru-cache';
import { contractVersion } from '#contract/release.ts';
import type { Manifest } from '#contract/release.ts';
import { createFolder } from '../common/files.ts';
import { parseManifest, renderManifest, toReleaseId } from '../common/manifest.ts';
import { toHashed } from './compress.ts';
import type { Compressor, Encodings, HashedBytes } from './compress.ts';
import { createStageName, makeCurrent, withLock } from './history.ts';
import type { EarlierRelease } from './history.ts';

/** Options of {@link createReleaseStage}. */
interface ReleaseStageOptions {
  /** The folder of all releases. */
  readonly out: string;
  readonly compressor: Compressor;
  /** Links unchanged files of this release. */
  readonly previous: EarlierRelease | undefined;
  /** Makes a release for `dev`: without compressed files, and not flushed to disk. */
  readonly isPreview?: boolean;
  /** Does not flush the release to disk: it may be lost in a power failure. */
  readonly isTemporary?: boolean | undefined;
}

/** A release being written, invisible to readers until it is published. */
export type Stage = Awaited<ReturnType<typeof createReleaseStage>>;

/**
 * Compressed static files. A process that builds several releases compresses constant files once, which saves a third
 * of a small build.
 */
const compressed = new LRUCache<string, Encodings>({ max: 100 });

/** Creates a stage, and removes the abandoned stages of killed builds. */
export async function createReleaseStage(options: ReleaseStageOptions) {
  const { out, compressor, previous, isPreview = false, isTemporary = isPreview } = options;
  const releases = join(out, 'releases');
  createFolder(releases);
  await removeAbandonedStages(releases);
  const root = join(releases, createStageName());
  const files = new Map<string, Manifest['files'][string]>();
  const folders = new Set<string>();

  const pathOf = (file: string): string => {
    // node:path is too slow for the 30,000 files of 10,000 articles.
    const path = `${root}/${file}`;
    const folder = path.slice(0, path.lastIndexOf('/'));
    if (!folders.has(folder)) createFolder(folder);
    folders.add(folder);
    return path;
  };
  const put = (file: string, { bytes, sha256 }: HashedBytes): void => {
    writeFileSync(pathOf(file), bytes, { flag: 'wx' });
    files.set(file, { bytes: bytes.length, sha256 });
  };
  const reuse = (file: string, sha256: string): boolean => {
    if (previous?.manifest.files[file]?.sha256 !== sha256) return false;
    const { directory, manifest, isIntact } = previous;
    const names = [file, `${file}.gz`, `${file}.br`].filter((name) => Object.hasOwn(manifest.files, name));
    if (!names.every(isIntact)) return false;
    try {
      for (const name of names) linkOrCopy(`${directory}/${name}`, pathOf(name));
    } catch {
      // Another process is removing that release.
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
    /** The size and hash of each file so far. */
    files: files as ReadonlyMap<string, Manifest['files'][string]>,
    /** Links an intact file of the previous release with this hash, and its encodings. */
    reuse,
    /** Writes a text and its compressed encodings, or links an equal file. Returns the hash. */
    async write(file: string, text: string): Promise<string> {
      const identity = toHashed(Buffer.from(text));
      const { sha256 } = identity;
      if (files.get(file)?.sha256 === sha256 || reuse(file, sha256)) return sha256;
      if (isPreview) {
        put(file, identity);
      } else {
        const key = `${compressor.name} ${sha256}`;
        const encodings = compressed.get(key) ?? (await compressor.compress(identity));
        compressed.set(key, encodings);
        writeEncodings(file, encodings);
      }
      return sha256;
    },
    /** Writes a compressed file in all its encodings. */
    writeEncodings,
    /** Writes a file without compressing it. */
    writeUncompressed: put,
    /** Reads the text of a file in the stage. */
    readText: (file: string): string => readFileSync(`${root}/${file}`, 'utf8'),
    /** Makes the release the current one, atomically. */
    async publish(counts: Manifest['counts'], nextChangeAt: string | null): Promise<Manifest> {
      const sorted = Object.fromEntries([...files.keys()].toSorted().map((file) => [file, files.get(file)!]));
      const body = { contractVersion, compression: compressor.name, counts, nextChangeAt, files: sorted };
      const manifest: Manifest = { id: toReleaseId(body), ...body };
      await withLock(out, async () => {
        await moveIntoPlace(root, join(releases, manifest.id), async () => {
          writeFileSync(pathOf('manifest.json'), renderManifest(manifest), { flag: 'wx' });
          if (!isTemporary) await flush(root, [...files.keys(), 'manifest.json']);
        });
        await makeCurrent(out, manifest.id);
      });
      return manifest;
    },
    /** Removes the stage, unless it was published. */
    [Symbol.asyncDispose]: () => rm(root, { recursive: true, force: true }),
  };
}

/** Copies if linking fails: file systems may have no hard links, and limit links per file. */
function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch {
    copyFileSync(from, to);
  }
}

/** Flushes files to disk, with one `sync -f` where available. */
async function flush(root: string, files: readonly string[]): Promise<void> {
  try {
    await promisify(execFile)('sync', ['-f', root]);
  } catch {
    for (const name of files) {
      await using file = await open(join(root, name), 'r+');
      await file.datasync();
    }
  }
}

/** Verifies every file against the manifest. Throws an error naming a damaged file. */
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
 * Completes a stage and renames it, so readers never see a partial release. An existing valid release has the same
 * content and is kept.
 */
export async function moveIntoPlace(stage: string, release: string, complete: () => Promise<void>): Promise<void> {
  const isValid = (): Promise<boolean> => verifyRelease(release).then(Boolean, () => false);
  if (!(await isValid())) {
    await complete();
    // Without locks, a concurrent build may have just created the release.
    if (!(await isValid())) {
      const broken = existsSync(release) ? await renameAside(release) : undefined;
      await rename(stage, release);
      if (broken !== undefined) await rm(broken, { recursive: true });
      return;
    }
  }
  await rm(stage, { recursive: true, force: true });
}

/** Removes a release or stage. Renames it first, so readers never see a partial release. */
export async function removeRelease(release: string): Promise<void> {
  await rm(await renameAside(release), { recursive: true });
}

async function renameAside(release: string): Promise<string> {
  const aside = join(dirname(release), createStageName());
  await rename(release, aside);
  return aside;
}

/** No running build leaves its stage untouched for this long. */
const abandonedAfterMs = 60 * 60 * 1000;

/** Removes stages that killed builds left behind. */
async function removeAbandonedStages(releases: string): Promise<void> {
  for (const name of readdirSync(releases).filter((entry) => entry.startsWith('.stage-'))) {
    const path = join(releases, name);
    const begun = lstatSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    // A concurrent build may remove the stage, too; a leftover stage is harmless.
    if (Date.now() - begun > abandonedAfterMs) await removeRelease(path).catch(() => undefined);
  }
}
