import { once } from 'node:events';
import { relative, sep } from 'node:path';
import { watch } from 'chokidar';

/** What happened to watched folders: files whose bytes changed, or more than that. */
export interface Changes {
  /** Absolute paths of files that were written again. */
  readonly files: ReadonlySet<string>;
  /** Whether files or folders came or went. */
  readonly structure: boolean;
}

/** Editors write a file in several steps; a pause this long ends them. */
const pauseMs = 10;

/**
 * Watches folders, dot files aside. It tells of their structure at once, and after each pause of what changed since; what
 * comes meanwhile is told once that was dealt with, so that two are never dealt with at a time. Resolves when the first
 * was. What deals with changes must not throw.
 */
export async function watchFolders(
  roots: readonly string[],
  changed: (changes: Changes) => Promise<void>,
): Promise<{ close(): Promise<void> }> {
  let files = new Set<string>();
  let structure = false;
  let timer: NodeJS.Timeout | undefined;
  let busy = false;

  const deal = async (): Promise<void> => {
    busy = true;
    while (files.size > 0 || structure) {
      const changes = { files, structure };
      files = new Set();
      structure = false;
      // What comes meanwhile is dealt with behind it, together.
      // oxlint-disable-next-line no-await-in-loop
      await changed(changes);
    }
    busy = false;
  };
  const note = (event: string, path: string): void => {
    if (event === 'change') files.add(path);
    else structure = true;
    clearTimeout(timer);
    timer = setTimeout(() => busy || void deal(), pauseMs);
  };

  const isHidden = (path: string): boolean =>
    roots.some((root) => {
      const inside = relative(root, path);
      return !inside.startsWith('..') && inside.split(sep).some((name) => name.startsWith('.'));
    });
  const watcher = watch([...roots], { ignoreInitial: true, followSymlinks: false, ignored: isHidden });
  await once(watcher, 'ready');
  watcher.on('all', note);
  structure = true;
  await deal();
  return {
    async close() {
      clearTimeout(timer);
      await watcher.close();
    },
  };
}
