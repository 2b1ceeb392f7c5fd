import { execFile } from 'node:child_process';
import { hash } from 'node:crypto';
import { closeSync, fdatasyncSync, lstatSync, openSync, readdirSync } from 'node:fs';
import { readFile, realpath, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { Manifest } from '#contract/release.ts';
import { parseManifest } from '../common/manifest.ts';
import type { PreviousRelease } from './previous-release.ts';
import { createStageName, makeCurrent, withLock } from './history.ts';

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
  if (!(await isValid(release))) {
    await complete();
    if (await renameIfAbsent(stage, release)) return;
    // The existing release is broken, or a concurrent build has just created it.
    if (!(await isValid(release))) {
      const broken = await renameAside(release);
      const isInPlace = await renameIfAbsent(stage, release);
      await rm(broken, { recursive: true });
      if (isInPlace) return;
    }
  }
  await rm(stage, { recursive: true, force: true });
}

/** Returns false if the target exists; `rename` replaces only an empty folder. */
async function renameIfAbsent(stage: string, release: string): Promise<boolean> {
  return rename(stage, release).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (!['ENOTEMPTY', 'EEXIST', 'ENOTDIR'].includes(error.code ?? '')) throw error;
      return false;
    },
  );
}

/** Makes an existing release the current one again; returns false if it is no longer intact. */
export function republish(out: string, { manifest, isIntact }: PreviousRelease): Promise<boolean> {
  return withLock(out, async () => {
    if (!isIntact()) return false;
    await makeCurrent(out, manifest.id);
    return true;
  });
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

/** Whether a release verifies; its compressed files may differ from those of this build's zlib. */
async function isValid(release: string): Promise<boolean> {
  return verifyRelease(release).then(
    () => true,
    () => false,
  );
}

/**
 * Flushes the files of a folder to disk, which must happen before their release is published. `sync -f` is one system call
 * for all files; without that command they are synced one by one.
 */
export async function flush(root: string, files: readonly string[]): Promise<void> {
  try {
    await promisify(execFile)('sync', ['-f', root]);
  } catch {
    for (const file of files) syncFile(join(root, file));
  }
}

function syncFile(path: string): void {
  const file = openSync(path, 'r+');
  try {
    fdatasyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** A build that still runs has written to its stage since. */
const abandonedAfterMs = 60 * 60 * 1000;

/** Removes the stages that were begun over an hour ago: those of builds that were killed. */
export async function removeAbandonedStages(releases: string): Promise<void> {
  for (const name of readdirSync(releases).filter((entry) => entry.startsWith('.stage-'))) {
    const path = join(releases, name);
    const begun = lstatSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    // A concurrent build may remove it too. A stage that cannot be removed does no harm.
    if (Date.now() - begun > abandonedAfterMs) await removeRelease(path).catch(() => undefined);
  }
}
