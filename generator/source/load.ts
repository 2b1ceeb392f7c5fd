import { isUtf8 } from 'node:buffer';
import { createHash, hash } from 'node:crypto';
import { closeSync, constants, existsSync, fstatSync, openSync, readFileSync, readSync, statSync } from 'node:fs';
import { basename, dirname, join, relative, sep } from 'node:path';
import fastGlob from 'fast-glob';
import { compareText } from './diagnostics.ts';
import type { Diagnostics } from './diagnostics.ts';

/** A regular file below content/ or catalog/, as it was when the folder was listed; `display` is for messages. */
export interface SourceFile {
  /** Path relative to the folder, with slashes. */
  readonly path: string;
  readonly absolute: string;
  readonly display: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** All sources of a build: articles and media, and the catalog. */
export type SourceFolders = Readonly<Record<'content' | 'catalog', SourceFolder>>;

/** A folder of sources and its files, ordered by path. */
export interface SourceFolder {
  readonly display: string;
  readonly files: readonly SourceFile[];
}

/** Far above any real article (the longest of 10,000 has 321 kB), far below a size that would stall a build. */
const maxTextBytes = 512 * 1024;
const maxMediaBytes = 64 * 1024 ** 2;

/** Whether a file is a lock, backup or temporary file of an editor or a file manager, which is no content. */
export function isEditorFile(path: string): boolean {
  const name = /^(?:#.*#|~\$.*|4913|Thumbs\.db|desktop\.ini|sed(?=\w*[A-Z\d])\w{6}|.*(?:~|\.tmp|\.orig))$/;
  return name.test(basename(path));
}

/**
 * Lists the regular files below a folder, each with its hash; skips dot files and those of editors. Reports symbolic links,
 * special files, unreadable files, files above the size limits, and paths that differ only in case or Unicode form.
 */
export function loadFolder(root: string, diagnostics: Diagnostics): SourceFolder {
  const folder = { display: displayRoot(root), files: [] as SourceFile[] };
  if (!statSync(root, { throwIfNoEntry: false })?.isDirectory()) {
    const hint = 'name another with CONTENT_DIR and CATALOG_DIR, or --content and --catalog';
    diagnostics.error(folder, 'the folder does not exist', hint);
    return folder;
  }
  const entries = fastGlob.sync('**', { cwd: root, onlyFiles: false, followSymbolicLinks: false, objectMode: true });
  const byFoldedPath = new Map<string, string>();
  for (const { path, dirent } of entries.toSorted((a, b) => compareText(a.path, b.path))) {
    if (dirent.isDirectory() || isEditorFile(path)) continue;
    const display = displayIn(folder, path);
    const folded = path.normalize('NFC').toLowerCase();
    const duplicate = byFoldedPath.get(folded);
    if (!dirent.isFile()) {
      const kind = dirent.isSymbolicLink() ? 'symbolic links are not followed' : 'this is not a regular file';
      diagnostics.error({ display }, kind, 'put a copy of the file here');
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

/** Hashes the changed files of a folder again, given by absolute path, and keeps the others. */
export function reloadFiles(
  folder: SourceFolder,
  changed: { has(path: string): boolean },
  diagnostics: Diagnostics,
): SourceFolder {
  const files = folder.files.map((file) => (changed.has(file.absolute) ? loadFile(file, diagnostics) : file));
  return { ...folder, files: files.filter((file) => file !== undefined) };
}

/** Hashes a file. Reports one that cannot be read or is above the size limit. */
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

/** Shared by all files: allocating 10,000 buffers would cost as much as reading the files. */
const buffer = Buffer.allocUnsafe(1024 ** 2);

/** The size of a file, and its hash if it is within the limit. Most files take one read and no `fstat`. */
function hashFile(path: string, limit: number): { bytes: number; sha256?: string } {
  // The listing rejects symbolic links, but one may replace a file afterwards.
  const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    let length = readSync(file, buffer);
    const bytes = length < buffer.length ? length : fstatSync(file).size;
    if (bytes > limit) return { bytes };
    if (bytes === length) return { bytes, sha256: hash('sha256', buffer.subarray(0, length)) };
    const digest = createHash('sha256');
    for (; length > 0; length = readSync(file, buffer)) digest.update(buffer.subarray(0, length));
    return { bytes, sha256: digest.digest('hex') };
  } finally {
    closeSync(file);
  }
}

/** Reads a whole file. Reports one that has changed since it was listed. */
export function readSource(file: SourceFile, diagnostics: Diagnostics): Buffer | undefined {
  try {
    const bytes = readFileSync(file.absolute);
    if (hash('sha256', bytes) === file.sha256) return bytes;
  } catch {
    // A removed or locked file counts as changed.
  }
  diagnostics.error(file, 'the file was changed while the build read it', 'build once more');
  return undefined;
}

/** Reads a UTF-8 file, with line ends as LF and without a byte order mark. Reports one that is not text or has changed. */
export function readText(file: SourceFile, diagnostics: Diagnostics): string | undefined {
  const bytes = readSource(file, diagnostics);
  if (!bytes) return undefined;
  if (!isUtf8(bytes)) {
    const isUtf16 = ['fffe', 'feff'].includes(bytes.toString('hex', 0, 2));
    const hint = isUtf16 ? 'it looks like UTF-16; save it as UTF-8' : 'save it as UTF-8';
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

/** A line break is never part of a longer UTF-8 sequence, so each line can be checked separately. */
function firstBadLine(bytes: Buffer): number {
  const lines = bytes.toString('latin1').split(/\r\n?|\n/);
  return lines.findIndex((line) => !isUtf8(Buffer.from(line, 'latin1'))) + 1;
}

/** The path of a file of a folder as shown in messages. */
export function displayIn({ display }: Pick<SourceFolder, 'display'>, path: string): string {
  return display === '.' ? path : `${display}/${path}`;
}

/** A folder of sources as shown in messages: as in its repository, if the working directory is not in that. */
function displayRoot(root: string): string {
  let repository = dirname(root);
  while (!existsSync(join(repository, '.git')) && repository !== dirname(repository)) repository = dirname(repository);
  const seenFrom = existsSync(join(repository, '.git')) ? repository : dirname(root);
  const isElsewhere = displayPath(root).startsWith('../') && relative(seenFrom, process.cwd()).startsWith('..');
  return isElsewhere ? relative(seenFrom, root).replaceAll(sep, '/') : displayPath(root);
}

/** A path as shown in messages: relative to the working directory, so that a terminal or a CI can open it. */
export function displayPath(path: string): string {
  return relative(process.cwd(), path).replaceAll(sep, '/') || '.';
}
