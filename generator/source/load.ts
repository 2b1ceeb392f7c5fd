import { isUtf8 } from 'node:buffer';
import { createHash, hash } from 'node:crypto';
import { closeSync, constants, existsSync, openSync, readFileSync, readSync, readdirSync, statSync } from 'node:fs';
import type { Dirent } from 'node:fs';
import { basename, dirname, join, relative, sep } from 'node:path';
import fastGlob from 'fast-glob';
import type { Entry } from 'fast-glob';
import { compareText } from './diagnostics.ts';
import type { Diagnostics } from './diagnostics.ts';

/** A regular file below content/ or catalog/ at the time of listing; `display` is the path in messages. */
export interface SourceFile {
  /** The path relative to the folder, with slashes. */
  readonly path: string;
  readonly absolute: string;
  readonly display: string;
  readonly bytes: number;
  readonly sha256: string;
}

export type SourceSet = Readonly<Record<'content' | 'catalog', SourceFolder>>;

/** A source folder, with files ordered by path. */
export interface SourceFolder {
  readonly display: string;
  readonly files: readonly SourceFile[];
}

/** Real articles reach 321 kB; much larger ones would stall the build. */
const maxTextBytes = 512 * 1024;
const maxMediaBytes = 64 * 1024 ** 2;

/** Checks whether a file is a lock, backup or temporary file of an editor or file manager. */
export function isEditorFile(path: string): boolean {
  const name = /^(?:#.*#|~\$.*|4913|Thumbs\.db|desktop\.ini|sed(?=\w*[A-Z\d])\w{6}|.*(?:~|\.tmp|\.orig))$/;
  return name.test(basename(path));
}

/**
 * Lists and hashes the regular files below a folder, without dot files and editor files. Reports symbolic links,
 * special, unreadable and oversized files, and paths that differ only in case or Unicode form.
 */
export function loadFolder(root: string, diagnostics: Diagnostics): SourceFolder {
  const folder = { display: displayRoot(root), files: [] as SourceFile[] };
  if (!statSync(root, { throwIfNoEntry: false })?.isDirectory()) {
    const hint = 'set CONTENT_DIR and CATALOG_DIR, or use --content and --catalog';
    diagnostics.error(folder, 'the folder does not exist', hint);
    return folder;
  }
  const byFoldedPath = new Map<string, string>();
  for (const { path, dirent } of listEntries(root).toSorted((a, b) => compareText(a.path, b.path))) {
    if (isEditorFile(path)) continue;
    const display = displayIn(folder, path);
    const folded = path.normalize('NFC').toLowerCase();
    const duplicate = byFoldedPath.get(folded);
    if (path.includes('\uFFFD')) {
      diagnostics.error({ display }, 'the name is not valid UTF-8', 'rename it');
    } else if (dirent.isDirectory()) {
      diagnostics.error({ display }, 'the name of a folder must not have a line break or a backslash', 'rename it');
    } else if (!dirent.isFile()) {
      const kind = dirent.isSymbolicLink() ? 'symbolic links are not followed' : 'not a regular file';
      diagnostics.error({ display }, kind, 'replace it with a copy of the file');
    } else if (duplicate !== undefined) {
      const message = `the path differs from ${duplicate} only in case or Unicode form`;
      diagnostics.error({ display }, message, 'rename one of the two');
    } else {
      byFoldedPath.set(folded, display);
      const file = loadFile({ path, absolute: join(root, path), display }, diagnostics);
      if (file) folder.files.push(file);
    }
  }
  return folder;
}

/** Characters of names that fast-glob leaves out in silence. */
const unmatched = /[\n\r\\\uFFFD]/;

/** Lists the files below a folder, folders with unmatched names, and links, but no dot files. */
function listEntries(root: string): Pick<Entry, 'path' | 'dirent'>[] {
  const odd: Pick<Entry, 'path' | 'dirent'>[] = [];
  const readFolder = (folder: string): Dirent[] => {
    const entries = readdirSync(join(root, folder), { withFileTypes: true });
    const left = entries.filter(({ name }) => unmatched.test(name) && !name.startsWith('.'));
    odd.push(...left.map((dirent) => ({ path: join(folder, dirent.name).slice(1), dirent })));
    return entries.filter(({ name }) => !unmatched.test(name));
  };
  // As if the folder were `/`: fast-glob finds nothing below a path with a backslash.
  const fs = { readdirSync: readFolder as unknown as typeof readdirSync };
  const found = fastGlob.sync('**', { cwd: '/', fs, onlyFiles: false, followSymbolicLinks: false, objectMode: true });
  return [...found.filter(({ dirent }) => !dirent.isDirectory()), ...odd];
}

/** Hashes the changed files of a folder again, given by absolute path. */
export function reloadFiles(
  folder: SourceFolder,
  changed: { has(path: string): boolean },
  diagnostics: Diagnostics,
): SourceFolder {
  const files = folder.files.map((file) => (changed.has(file.absolute) ? loadFile(file, diagnostics) : file));
  return { ...folder, files: files.filter((file) => file !== undefined) };
}

function loadFile(listed: Omit<SourceFile, 'bytes' | 'sha256'>, diagnostics: Diagnostics): SourceFile | undefined {
  const limit = /\.(?:md|yaml)$/.test(listed.path) ? maxTextBytes : maxMediaBytes;
  try {
    const { bytes, sha256 } = hashFile(listed.absolute, limit);
    if (sha256 !== undefined) return { ...listed, bytes, sha256 };
    const message = `the file has ${bytes} bytes, more than the limit of ${limit}`;
    diagnostics.error(listed, message, 'split it up');
  } catch (error) {
    diagnostics.error(listed, `the file cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
  return undefined;
}

/** Shared, because allocating 10,000 buffers would take as long as reading the files. */
const buffer = Buffer.allocUnsafe(1024 ** 2);

/** Returns the size of a file, with the hash if within the limit. Most files need one read and no `stat`. */
function hashFile(path: string, limit: number): { bytes: number; sha256?: string } {
  // A symbolic link may have replaced the file since the listing.
  const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    let length = readSync(file, buffer);
    const bytes = length < buffer.length ? length : statSync(path).size;
    if (bytes > limit) return { bytes };
    if (bytes === length) return { bytes, sha256: hash('sha256', buffer.subarray(0, length)) };
    const digest = createHash('sha256');
    for (; length > 0; length = readSync(file, buffer)) digest.update(buffer.subarray(0, length));
    return { bytes, sha256: digest.digest('hex') };
  } finally {
    closeSync(file);
  }
}

/** Reads a file. Reports a file that changed since the listing. */
export function readSource(file: SourceFile, diagnostics: Diagnostics): Buffer | undefined {
  try {
    const bytes = readFileSync(file.absolute);
    if (hash('sha256', bytes) === file.sha256) return bytes;
  } catch {
    // A removed or locked file counts as changed.
  }
  diagnostics.error(file, 'the file changed during the build', 'build again');
  return undefined;
}

/** Reads a UTF-8 file, with LF line ends and without a byte order mark. Reports binary and changed files. */
export function readText(file: SourceFile, diagnostics: Diagnostics): string | undefined {
  const bytes = readSource(file, diagnostics);
  if (!bytes) return undefined;
  if (!isUtf8(bytes)) {
    const isUtf16 = ['fffe', 'feff'].includes(bytes.toString('hex', 0, 2));
    const hint = isUtf16 ? 'the file looks like UTF-16; save it as UTF-8' : 'save the file as UTF-8';
    diagnostics.error({ ...file, line: firstBadLine(bytes) }, 'the text is not valid UTF-8', hint);
    return undefined;
  }
  const text = bytes
    .toString('utf8')
    .replace(/^\uFEFF/, '')
    .replace(/\r\n?/g, '\n');
  const nul = text.indexOf('\0');
  if (nul < 0) return text;
  const before = text.slice(0, nul).split('\n');
  const place = { ...file, line: before.length, column: before.at(-1)!.length + 1 };
  diagnostics.error(place, 'the text contains a NUL character', 'remove it');
  return undefined;
}

/** Finds the first invalid line: no UTF-8 sequence contains a line break. */
function firstBadLine(bytes: Buffer): number {
  const lines = bytes.toString('latin1').split(/\r\n?|\n/);
  return lines.findIndex((line) => !isUtf8(Buffer.from(line, 'latin1'))) + 1;
}

/** Returns the display path of a file in a folder. */
export function displayIn({ display }: Pick<SourceFolder, 'display'>, path: string): string {
  return display === '.' ? path : `${display}/${path}`;
}

/** Returns the display path of a source folder; relative to its repository if the working directory is elsewhere. */
function displayRoot(root: string): string {
  let repository = dirname(root);
  while (!existsSync(join(repository, '.git')) && repository !== dirname(repository)) repository = dirname(repository);
  const seenFrom = existsSync(join(repository, '.git')) ? repository : dirname(root);
  const isElsewhere = displayPath(root).startsWith('../') && relative(seenFrom, process.cwd()).startsWith('..');
  return isElsewhere ? relative(seenFrom, root).replaceAll(sep, '/') : displayPath(root);
}

/** Returns a path relative to the working directory, which a terminal or CI can open. */
export function displayPath(path: string): string {
  return relative(process.cwd(), path).replaceAll(sep, '/') || '.';
}
