import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { lutimes, open, readlink, rename, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Manifest } from '#contract/release.ts';
import { tryLock } from '../common/file-lock.ts';

/** Creates the temporary name of a folder or link. */
export function createStageName(): string {
  return `.stage-${randomBytes(8).toString('hex')}`;
}

/** Reads the ID of the current release below `out`, if there is one. */
export async function readCurrent(out: string): Promise<string | undefined> {
  const target = await readlink(join(out, 'current')).catch(() => undefined);
  return target?.split('/').at(-1);
}

/** An earlier release; a new release links its unchanged files. */
export interface EarlierRelease {
  readonly directory: string;
  readonly manifest: Manifest;
  /** Checks that a file exists and is unmodified. */
  readonly isIntact: (file: string) => boolean;
}

/** Lists when `current` switched to each release, from the `history` file, oldest first. Skips invalid lines. */
export function readSwitches(out: string) {
  return readHistory(out)
    .split('\n')
    .flatMap((line) => {
      const [, time = '', id = ''] = /^(\d{4}-\S+Z) ([0-9a-f]{16})$/.exec(line) ?? [];
      const at = new Date(time);
      return Number.isNaN(at.getTime()) ? [] : [{ id, at }];
    });
}

function readHistory(out: string): string {
  const file = join(out, 'history');
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
}

/** Lists the folders of releases, oldest first. */
export function readFolders(out: string) {
  const root = join(out, 'releases');
  const ids = existsSync(root) ? readdirSync(root).filter((name) => /^[0-9a-f]{16}$/.test(name)) : [];
  return ids
    .flatMap((id) => {
      // Another process may have just removed the folder.
      const at = statSync(join(root, id), { throwIfNoEntry: false })?.mtime;
      return at ? [{ id, at }] : [];
    })
    .toSorted((a, b) => a.at.getTime() - b.at.getTime());
}

/** Makes a release current, atomically, and records the switch. Requires the lock. */
export async function makeCurrent(out: string, id: string, now = new Date()): Promise<void> {
  if ((await readCurrent(out)) === id) return confirmCurrent(out);
  // Opened first: without a writable history, the current release must not change.
  await using history = await open(join(out, 'history'), 'a');
  await replaceCurrent(out, id);
  try {
    // The last line may be incomplete, for example after the disk was full.
    await history.write(`${/[^\n]$/.test(readHistory(out)) ? '\n' : ''}${now.toISOString()} ${id}\n`);
  } catch {
    // The release is already current, so the build must not fail.
  }
}

async function replaceCurrent(out: string, id: string): Promise<void> {
  const link = join(out, 'releases', createStageName());
  await symlink(join('releases', id), link);
  await rename(link, join(out, 'current'));
}

/** Updates the timestamp of `current`, which monitoring uses, or replaces another user's link. Requires the lock. */
export async function confirmCurrent(out: string): Promise<void> {
  const now = new Date();
  await lutimes(join(out, 'current'), now, now).catch(async () => {
    const id = await readCurrent(out);
    if (id !== undefined) await replaceCurrent(out, id);
  });
}

/** Runs `work` under the lock of a folder of releases, or unlocked if the file system has no locks. */
export async function withLock<Result>(out: string, work: () => Promise<Result>): Promise<Result> {
  let unlock: (() => void) | undefined;
  try {
    while (existsSync(out) && !(unlock = tryLock(join(out, '.lock')))) await sleep(10);
  } catch {
    // The file system has no locks.
  }
  try {
    return await work();
  } finally {
    unlock?.();
  }
}
