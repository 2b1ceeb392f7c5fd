import { once } from 'node:events';
import { relative, sep } from 'node:path';
import { watch } from 'chokidar';
import pLimit from 'p-limit';
import { isEditorFile } from './load.ts';

type Change = 'changed' | 'added' | 'removed';

/** The changed files by absolute path; `structure` if files or folders were added or removed. */
export interface Changes {
  readonly files: ReadonlyMap<string, Change>;
  readonly structure: boolean;
}

/** The kinds of change by file event of chokidar. */
const kinds: Partial<Record<string, Change>> = { change: 'changed', add: 'added', unlink: 'removed' };

/** Editors save a file in several steps. */
const debounceMs = 10;

/**
 * Watches folders. Calls `onChange`, which must not throw, now and after each debounced change, one call at a time.
 * Returns a function that stops watching.
 */
export async function watchFolders(
  roots: readonly string[],
  onChange: (changes: Changes) => Promise<void>,
): Promise<() => Promise<void>> {
  let files = new Map<string, Change>();
  let structure = true;
  let timer: NodeJS.Timeout | undefined;
  const limit = pLimit(1);
  const run = (): Promise<void> =>
    limit(async () => {
      // The previous run may have handled the change.
      if (files.size === 0 && !structure) return;
      const changes = { files, structure };
      files = new Map();
      structure = false;
      await onChange(changes);
    });
  const onEvent = (event: string, path: string): void => {
    const change = kinds[event];
    // Some editors replace a file instead of changing it.
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
  await run();
  return async () => {
    clearTimeout(timer);
    await watcher.close();
    await limit(() => undefined);
  };
}
