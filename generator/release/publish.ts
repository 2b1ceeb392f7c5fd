import { execFile } from 'node:child_process';
import { hash } from 'node:crypto';
import { closeSync, fdatasyncSync, lstatSync, openSync, readdirSync } from 'node:fs';
import { readFile, realpath, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { Manifest } from '#contract/release.ts';
import { parseManifest } from '../common/manifest.ts';
import { readMachine, stageName } from './current.ts';
import type { FormerRelease } from './previous-release.ts';
import { makeCurrent } from './history.ts';
import { inTurn } from './lock.ts';

/** Reads the manifest of a release and proves every byte of it. Throws an error that names the first wrong file. */
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
 * Puts a stage that `complete` makes whole where its release belongs, as if in one step. A sound release that is there
 * already, or that another build puts there meanwhile, holds the same, and stays.
 */
export async function moveIntoPlace(stage: string, release: string, complete: () => Promise<void>): Promise<void> {
  if (!(await isSound(release))) {
    await complete();
    if (await renameOntoNothing(stage, release)) return;
    // What is there is broken, or another build has put it there meanwhile.
    if (!(await isSound(release))) {
      const broken = await hide(release);
      const isInPlace = await renameOntoNothing(stage, release);
      await rm(broken, { recursive: true });
      if (isInPlace) return;
    }
  }
  await rm(stage, { recursive: true, force: true });
}

/** Answers false where something is there already: only an empty folder gives way. */
async function renameOntoNothing(stage: string, release: string): Promise<boolean> {
  return rename(stage, release).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (!['ENOTEMPTY', 'EEXIST', 'ENOTDIR'].includes(error.code ?? '')) throw error;
      return false;
    },
  );
}

/** Makes a release that is kept the current one; answers false where it is no longer whole. */
export function publishAgain(out: string, { manifest, isWhole }: FormerRelease): Promise<boolean> {
  return inTurn(out, async () => {
    if (!isWhole()) return false;
    await makeCurrent(out, manifest.id);
    return true;
  });
}

/** Removes a release, or a stage; it is renamed first, so that it is there whole or not at all. */
export async function removeRelease(release: string): Promise<void> {
  await rm(await hide(release), { recursive: true });
}

async function hide(release: string): Promise<string> {
  const hidden = join(dirname(release), stageName());
  await rename(release, hidden);
  return hidden;
}

/** Whether a release is whole: one that is stays as it is, also where its compressed forms came from another zlib. */
async function isSound(release: string): Promise<boolean> {
  return verifyRelease(release).then(
    () => true,
    () => false,
  );
}

/**
 * Has files of a folder reach the disk: they must be there before a release that names them can be seen. `sync -f` is
 * one system call for all of them; where that command is missing, they are synced one by one.
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

const abandonedAfterMs = 24 * 60 * 60 * 1000;

/** Removes the stages of builds that no longer run: of this machine by their process, of others by their age. */
export async function removeAbandoned(releases: string): Promise<void> {
  const here = readMachine();
  for (const name of readdirSync(releases)) {
    const [, machine, pid] = /^\.stage-(.+)-(\d+)-[0-9a-f]+$/.exec(name) ?? [];
    if (machine === undefined) continue;
    const path = join(releases, name);
    const abandoned = machine === here ? !isRunning(Number(pid)) : ageOf(path) > abandonedAfterMs;
    // Another build may be at it as well; and what cannot be removed is in nobody's way.
    if (abandoned) await removeRelease(path).catch(() => undefined);
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function ageOf(path: string): number {
  return Date.now() - (lstatSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
}
