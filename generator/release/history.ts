import { closeSync, existsSync, lstatSync, openSync, readFileSync, readdirSync, statSync, writeSync } from 'node:fs';
import { lutimes, rename, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { readCurrent, createStageName } from './current.ts';

/** The moment when a release became the current one. */
export interface Switch {
  readonly id: string;
  readonly at: Date;
}

const historyOf = (out: string): string => join(out, 'history');

/**
 * Lists the switches of `current`, oldest first: the lines of `history`, or if it is empty the releases up to the current
 * one by the time of their folders. If the last line is not the current release, because a build ended before it wrote the
 * line, the current release is added with the time of the link.
 */
export async function readSwitches(out: string): Promise<Switch[]> {
  const current = await readCurrent(out);
  const recorded = parseHistory(readHistory(out));
  if (recorded.length === 0) {
    const folders = readFolders(out);
    return folders.slice(0, folders.findIndex(({ id }) => id === current) + 1);
  }
  if (current === undefined || recorded.at(-1)!.id === current) return recorded;
  return [...recorded, { id: current, at: lstatSync(join(out, 'current')).mtime }];
}

/** Lists the folders of releases, oldest first. */
export function readFolders(out: string): Switch[] {
  const root = join(out, 'releases');
  const ids = existsSync(root) ? readdirSync(root).filter((name) => /^[0-9a-f]{16}$/.test(name)) : [];
  return ids
    .flatMap((id) => {
      // Another process may remove it meanwhile.
      const at = statSync(join(root, id), { throwIfNoEntry: false })?.mtime;
      return at ? [{ id, at }] : [];
    })
    .toSorted((a, b) => a.at.getTime() - b.at.getTime());
}

/**
 * Makes a release the current one atomically and appends a line to `history`. The caller must hold the lock of `lock.ts`.
 */
export async function makeCurrent(out: string, id: string, now = new Date()): Promise<void> {
  if ((await readCurrent(out)) === id) {
    await confirmCurrent(out);
    return;
  }
  const text = readHistory(out);
  const recorded = parseHistory(text);
  const missing = (await readSwitches(out))
    .slice(recorded.length === 0 ? 0 : -1)
    .filter((line) => line.id !== recorded.at(-1)?.id);
  const lines = [...missing, { id, at: now }].map((line) => `${line.at.toISOString()} ${line.id}\n`).join('');
  // Opened first: if the history cannot be written, the current release must not change.
  const history = openSync(historyOf(out), 'a');
  try {
    await replaceCurrent(out, id);
    // The last line may be incomplete, for example after a full disk.
    tryWrite(history, (text === '' || text.endsWith('\n') ? '' : '\n') + lines);
  } finally {
    closeSync(history);
  }
}

async function replaceCurrent(out: string, id: string): Promise<void> {
  const link = join(out, 'releases', createStageName());
  await symlink(join('releases', id), link);
  await rename(link, join(out, 'current'));
}

/**
 * Notes in the time of the link that a build found the current release up to date: monitoring looks at it. Only the owner of
 * the link may set it, so that of another user is replaced. Returns why neither was possible. The caller must hold the lock.
 */
export async function confirmCurrent(out: string): Promise<NodeJS.ErrnoException | undefined> {
  const now = new Date();
  try {
    await lutimes(join(out, 'current'), now, now);
  } catch {
    const id = await readCurrent(out);
    if (id === undefined) return undefined;
    return replaceCurrent(out, id).then(
      () => undefined,
      (error: NodeJS.ErrnoException) => error,
    );
  }
  return undefined;
}

function tryWrite(file: number, text: string): void {
  try {
    writeSync(file, text);
  } catch {
    // The release is already current, so this is not an error; the next switch adds the missing line.
  }
}

function readHistory(out: string): string {
  try {
    return readFileSync(historyOf(out), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}

/** Skips invalid lines. */
function parseHistory(text: string): Switch[] {
  return text.split('\n').flatMap((line) => {
    const [, time = '', id = ''] = /^(\d{4}-\S+Z) ([0-9a-f]{16})$/.exec(line) ?? [];
    const at = new Date(time);
    return Number.isNaN(at.getTime()) ? [] : [{ id, at }];
  });
}
