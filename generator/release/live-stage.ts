import { hash } from 'node:crypto';
import { mkdirSync, readdirSync, renameSync, rmSync, rmdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { contractVersion } from '#contract/release.ts';
import type { Manifest } from '#contract/release.ts';
import { fileOf } from '#contract/resources.ts';
import { replaceFile } from '../common/atomic-file.ts';
import { renderManifest, toReleaseId } from '../common/manifest.ts';
import { createListBytes } from './list-bytes.ts';
import { toJsonText } from './stage.ts';
import type { Stage } from './stage.ts';

type Entry = Manifest['files'][string];

/**
 * A file that is there, and the number of the last build that wanted it there, be it one that was discarded: to say so of
 * ten thousand must take no time.
 */
interface LiveFile {
  readonly entry: Entry;
  wantedBy: number;
}

/** A release for whoever writes: always the same folder, in which only the files that change are written. */
export interface LiveRelease {
  /** Begins the next state of the release. */
  begin(): Stage;
}

/**
 * Creates an empty live release in a folder, and a link `current` to it, so that a server can serve it. It has no
 * compressed forms, and is no release to keep: what is in its folder changes.
 */
export function createLiveRelease(folder: string): LiveRelease {
  const root = join(folder, 'live');
  /** Where the next state of files waits until all of them are there. */
  const waiting = join(folder, `next-${process.pid}`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(root, { recursive: true });
  symlinkSync('live', join(folder, 'current'));
  let present = new Map<string, LiveFile>();
  let builds = 0;
  let lists = new Map<string, readonly unknown[]>();
  const toListBytes = createListBytes();
  return {
    begin() {
      rmSync(waiting, { recursive: true, force: true });
      const build = (builds += 1);
      const changed = new Map<string, Entry>();
      const nextLists = new Map<string, readonly unknown[]>();

      const want = (file: string): boolean => {
        const there = present.get(file);
        if (there) there.wantedBy = build;
        return there !== undefined;
      };
      const isSame = (file: string, sha256: string): boolean =>
        present.get(file)?.entry.sha256 === sha256 && want(file);
      const put = (file: string, bytes: Buffer, sha256: string): void => {
        writeFileSync(makeRoom(waiting, file), bytes);
        changed.set(file, { bytes: bytes.length, sha256 });
      };
      const putChanged = (file: string, bytes: Buffer): void => {
        const sha256 = hash('sha256', bytes);
        if (!isSame(file, sha256)) put(file, bytes, sha256);
      };

      return {
        async write(name, params, value) {
          const file = fileOf(name, params);
          if (!Array.isArray(value)) {
            putChanged(file, Buffer.from(toJsonText(name, value)));
            return;
          }
          nextLists.set(file, value);
          // The lists of ten thousand articles take longer to check and write than the one article that was saved.
          if (!isSameList(lists.get(file), value) || !want(file)) putChanged(file, toListBytes(name, value));
        },

        writeScript: async (name, params, script) => putChanged(fileOf(name, params), Buffer.from(script)),

        async writeMedia(path, sha256, read) {
          const file = fileOf('media', { path });
          const bytes = isSame(file, sha256) ? undefined : read();
          if (bytes) put(file, bytes, sha256);
        },

        reuse: want,

        async publish(counts, nextChangeAt) {
          const files = present;
          // Until all of it is done, nothing is known of what is there.
          present = new Map();
          lists = new Map();
          if (files.size === 0) empty(root);
          // First, as a folder may be where a file was, or the other way round.
          for (const [file, { wantedBy }] of files) {
            if (wantedBy === build || changed.has(file)) continue;
            remove(root, file);
            files.delete(file);
          }
          for (const [file, entry] of changed) {
            renameSync(join(waiting, file), makeRoom(root, file));
            files.set(file, { entry, wantedBy: build });
          }
          const body = { contractVersion, compression: 'fast' as const, counts, nextChangeAt };
          const manifest = { ...body, files: toManifest(files) };
          const id = toReleaseId(manifest);
          // This also changes the time of the folder, by which a server notices the new state.
          await replaceFile(join(root, 'manifest.json'), renderManifest({ id, ...manifest }));
          present = files;
          lists = nextLists;
          return { id, ...manifest };
        },

        discard: async () => rmSync(waiting, { recursive: true, force: true }),
      };
    },
  };
}

/** The files of a manifest, in the same order whatever became of them before. */
function toManifest(files: ReadonlyMap<string, LiveFile>): Manifest['files'] {
  return Object.fromEntries([...files.keys()].toSorted().map((file) => [file, files.get(file)!.entry]));
}

/** The path of a file below a folder, in which there is room for it then. */
function makeRoom(root: string, file: string): string {
  const path = join(root, file);
  mkdirSync(dirname(path), { recursive: true });
  return path;
}

/** Removes a file, and the folders that hold nothing without it. */
function remove(root: string, file: string): void {
  rmSync(join(root, file));
  for (let folder = dirname(file); folder !== '.' && isEmpty(join(root, folder)); folder = dirname(folder)) {
    rmdirSync(join(root, folder));
  }
}

const isEmpty = (folder: string): boolean => readdirSync(folder).length === 0;

function empty(folder: string): void {
  for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true });
}

/** Whether two lists hold the very same entries: one that was compiled anew is another. */
function isSameList(before: readonly unknown[] | undefined, after: readonly unknown[]): boolean {
  return before?.length === after.length && after.every((entry, index) => entry === before[index]);
}
