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
 * Watches folders without their dot files. Calls `changed` at once, and again after each pause in the changes, never twice
 * at a time. Resolves after the first call. `changed` must not throw. `close` waits for the call that is under way.
 */
export async function watchFolders(
  roots: readonly string[],
  changed: (changes: Changes) => Promise<void>,
): Promise<{ close(): Promise<void> }> {
  let files = new Set<string>();
  let structure = false;
  let timer: NodeJS.Timeout | undefined;
  let busy: Promise<void> | undefined;

  const drain = async (): Promise<void> => {
    while (files.size > 0 || structure) {
      const changes = { files, structure };
      files = new Set();
      structure = false;
      // Changes that come meanwhile are handled together, in the next turn.
      // oxlint-disable-next-line no-await-in-loop
      await changed(changes);
    }
  };
  const run = (): Promise<void> => (busy ??= drain().finally(() => (busy = undefined)));
  const note = (event: string, path: string): void => {
    if (event === 'change') files.add(path);
    else structure = true;
    clearTimeout(timer);
    timer = setTimeout(() => void run(), pauseMs);
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
  await run();
  return {
    async close() {
      clearTimeout(timer);
      await watcher.close();
      await busy;
    },
  };
}
