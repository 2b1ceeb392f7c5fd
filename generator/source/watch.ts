import { once } from 'node:events';
import { relative, sep } from 'node:path';
import { watch } from 'chokidar';
import { isEditorFile } from './load.ts';

type Change = 'changed' | 'added' | 'removed';

/** Changes in watched folders. */
export interface Changes {
  /** The absolute paths of the files that were modified, added or removed. */
  readonly files: ReadonlyMap<string, Change>;
  /** Whether files or folders were added or removed. */
  readonly structure: boolean;
}

/** The kinds of change by the events of chokidar; those of folders have none. */
const kinds: Partial<Record<string, Change>> = { change: 'changed', add: 'added', unlink: 'removed' };

/** Editors write a file in several steps. */
const debounceMs = 10;

/**
 * Watches folders, without dot files and files of editors. Calls `onChange` at once, and again for each debounced change; calls never overlap.
 * Resolves after the first call. `onChange` must not throw. `close` waits for a running call.
 */
export async function watchFolders(
  roots: readonly string[],
  onChange: (changes: Changes) => Promise<void>,
): Promise<{ close(): Promise<void> }> {
  let files = new Map<string, Change>();
  let structure = false;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;

  const drain = async (): Promise<void> => {
    while (files.size > 0 || structure) {
      const changes = { files, structure };
      files = new Map();
      structure = false;
      // The next iteration handles the changes that arrive during this one.
      // oxlint-disable-next-line no-await-in-loop
      await onChange(changes);
    }
  };
  const run = (): Promise<void> => (running ??= drain().finally(() => (running = undefined)));
  const onEvent = (event: string, path: string): void => {
    const change = kinds[event];
    // Some editors save a file by replacing it.
    if (change) files.set(path, change === 'added' && files.get(path) === 'removed' ? 'changed' : change);
    if (change !== 'changed') structure = true;
    clearTimeout(timer);
    timer = setTimeout(() => void run(), debounceMs);
  };

  const isHidden = (path: string): boolean =>
    roots.some((root) => {
      const inside = relative(root, path);
      if (inside.startsWith('..')) return false;
      return isEditorFile(inside) || inside.split(sep).some((name) => name.startsWith('.'));
    });
  const watcher = watch([...roots], { ignoreInitial: true, followSymlinks: false, ignored: isHidden });
  await once(watcher, 'ready');
  watcher.on('all', onEvent);
  structure = true;
  await run();
  return {
    async close() {
      clearTimeout(timer);
      await watcher.close();
      await running;
    },
  };
}
