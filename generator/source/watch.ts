import { existsSync, realpathSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { watch } from 'chokidar';
import pLimit from 'p-limit';
import { CommandError } from '../common/command-line.ts';
import { isTemporaryFile } from './load.ts';

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

/** The limits of the system by error code. */
const limits: Partial<Record<string, string>> = { ENOSPC: 'max_user_watches', EMFILE: 'max_user_instances' };

function toWatchError({ code = '', message }: NodeJS.ErrnoException): CommandError {
  const raise = limits[code] && `set CHOKIDAR_USEPOLLING=1, or raise fs.inotify.${limits[code]} with sysctl`;
  const fault = raise ? 'the system allows no more file watches' : message;
  return new CommandError(`${fault}, so some changes are not seen: ${raise ?? 'make it readable'}, and restart dev`);
}

/**
 * Watches folders. Calls `onChange`, which must not throw, now and after each debounced change, one call at a time.
 * Calls `onError` once for each folder that cannot be watched. Returns a function that stops watching.
 */
export async function watchFolders(
  roots: readonly string[],
  onChange: (changes: Changes) => Promise<void>,
  onError: (error: CommandError) => void,
): Promise<() => Promise<void>> {
  // Chokidar sees no changes behind a symbolic link.
  const watched = roots.map((root) => (existsSync(root) ? realpathSync(root) : root));
  /** Finds a path below a root, and as if below the root that was given. */
  const find = (path: string) => {
    const insides = watched.map((root) => relative(root, path));
    const at = insides.findIndex((inside) => !inside.startsWith('..'));
    return at < 0 ? undefined : { inside: insides[at]!, given: join(roots[at]!, insides[at]!) };
  };
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
    const { given } = find(path)!;
    // Some editors replace a file instead of changing it.
    if (change) files.set(given, change === 'added' && files.get(given) === 'removed' ? 'changed' : change);
    if (change !== 'changed') structure = true;
    clearTimeout(timer);
    timer = setTimeout(() => void run(), debounceMs);
  };

  const isHidden = (path: string): boolean => {
    const { inside = '' } = find(path) ?? {};
    return isTemporaryFile(inside) || inside.split(sep).some((name) => name.startsWith('.'));
  };
  const watcher = watch(watched, { ignoreInitial: true, followSymlinks: false, ignored: isHidden });
  const reported = new Set<string>();
  watcher.on('error', (error) => {
    const failure = toWatchError(error as NodeJS.ErrnoException);
    if (!reported.has(failure.message)) onError(failure);
    reported.add(failure.message);
  });
  // Not `once`, which rejects on the first error.
  await new Promise<void>((ready) => void watcher.once('ready', ready));
  watcher.on('all', onEvent);
  await run();
  return async () => {
    clearTimeout(timer);
    await watcher.close();
    await limit(() => undefined);
  };
}
