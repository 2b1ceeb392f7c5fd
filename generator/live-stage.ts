import { hash } from 'node:crypto';
import { copyFileSync, mkdirSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
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
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(root, { recursive: true });
  symlinkSync('live', join(folder, 'current'));
  let present: Files = new Map();
  let lists = new Map<string, readonly unknown[]>();
  return {
    begin() {
      const files: Files = new Map();
      const nextLists = new Map<string, readonly unknown[]>();
      const written: string[] = [];

      /** Where the next state of a file waits until all of them are there. */
      const next = (file: string): string => {
        written.push(file);
        const path = join(root, `${file}.next`);
        mkdirSync(dirname(path), { recursive: true });
        return path;
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

        async copyMedia(path, { absolute, bytes, sha256 }) {
          const file = fileOf('media', { path });
          files.set(file, { bytes, sha256 });
          if (present.get(file)?.sha256 !== sha256) copyFileSync(absolute, next(file));
        },

        reuse(name, params) {
          const file = fileOf(name, params);
          const entry = present.get(file);
          if (entry) files.set(file, entry);
          return entry !== undefined;
        },

        async publish(counts, nextChangeAt) {
          for (const file of written) renameSync(join(root, `${file}.next`), join(root, file));
          for (const file of present.keys()) if (!files.has(file)) rmSync(join(root, file));
          present = files;
          lists = nextLists;
          const body = { contractVersion, compression: 'fast' as const, counts, nextChangeAt };
          const manifest = { ...body, files: Object.fromEntries(files) };
          const id = hash('sha256', idSource(manifest)).slice(0, 16);
          writeFileSync(join(root, 'manifest.json.next'), JSON.stringify({ id, ...manifest }));
          renameSync(join(root, 'manifest.json.next'), join(root, 'manifest.json'));
          // A server looks at the time of the folder, which a change further down does not touch.
          utimesSync(root, new Date(), new Date());
          return { id, ...manifest };
        },

        async discard() {
          for (const file of written) rmSync(join(root, `${file}.next`), { force: true });
        },
      };
    },
  };
}

/** Whether two lists hold the very same entries: one that was compiled anew is another. */
function isSameList(before: readonly unknown[] | undefined, after: readonly unknown[]): boolean {
  return before?.length === after.length && after.every((entry, index) => entry === before[index]);
}
