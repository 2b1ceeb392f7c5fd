import { hash } from 'node:crypto';
import { mkdirSync, readdirSync, renameSync, rmSync, rmdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { contractVersion, idSource } from '#contract/release.ts';
import type { Manifest } from '#contract/release.ts';
import { fileOf, toJsonText } from './stage.ts';
import type { Stage } from './stage.ts';

type Files = Map<string, Manifest['files'][string]>;

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
  let present: Files = new Map();
  let lists = new Map<string, readonly unknown[]>();
  return {
    begin() {
      rmSync(waiting, { recursive: true, force: true });
      const files: Files = new Map();
      const nextLists = new Map<string, readonly unknown[]>();
      const written: string[] = [];

      const next = (file: string): string => {
        written.push(file);
        return makeRoom(waiting, file);
      };
      const put = (file: string, text: string): void => {
        const bytes = Buffer.from(text);
        const entry = { bytes: bytes.length, sha256: hash('sha256', bytes) };
        files.set(file, entry);
        if (present.get(file)?.sha256 !== entry.sha256) writeFileSync(next(file), bytes);
      };

      return {
        async write(name, params, value) {
          const file = fileOf(name, params);
          const list: readonly unknown[] | undefined = Array.isArray(value) ? value : undefined;
          if (list) nextLists.set(file, list);
          // The lists of ten thousand articles take longer to check and write than the one article that was saved.
          if (list && isSameList(lists.get(file), list)) files.set(file, present.get(file)!);
          else put(file, toJsonText(name, value));
        },

        writeScript: async (name, params, script) => put(fileOf(name, params), script),

        async writeMedia(path, { bytes, sha256 }, read) {
          const file = fileOf('media', { path });
          const content = present.get(file)?.sha256 === sha256 ? undefined : read();
          if (content) writeFileSync(next(file), content);
          files.set(file, { bytes, sha256 });
        },

        reuse(file) {
          const entry = present.get(file);
          if (entry) files.set(file, entry);
          return entry !== undefined;
        },

        async publish(counts, nextChangeAt) {
          const before = present;
          // Until all of it is done, nothing is known of what is there.
          present = new Map();
          lists = new Map();
          if (before.size === 0) empty(root);
          // First, as a folder may be where a file was, or the other way round.
          for (const file of before.keys()) if (!files.has(file)) remove(root, file);
          for (const file of written) renameSync(join(waiting, file), makeRoom(root, file));
          const body = { contractVersion, compression: 'fast' as const, counts, nextChangeAt };
          const manifest = { ...body, files: Object.fromEntries(files) };
          const id = hash('sha256', idSource(manifest)).slice(0, 16);
          writeFileSync(join(root, 'manifest.json.next'), JSON.stringify({ id, ...manifest }));
          renameSync(join(root, 'manifest.json.next'), join(root, 'manifest.json'));
          // A server looks at the time of the folder, which a change further down does not touch.
          utimesSync(root, new Date(), new Date());
          present = files;
          lists = nextLists;
          return { id, ...manifest };
        },

        discard: async () => rmSync(waiting, { recursive: true, force: true }),
      };
    },
  };
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
