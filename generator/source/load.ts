import { isUtf8 } from 'node:buffer';
import { createHash, hash } from 'node:crypto';
import { closeSync, constants, existsSync, openSync, readFileSync, readSync, readdirSync, statSync } from 'node:fs';
import type { Dirent } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import fastGlob from 'fast-glob';
import type { Entry } from 'fast-glob';
import { readIfFile } from '../common/files.ts';
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
  /** The paths of files and folders that were refused, such as unreadable files and symbolic links. */
  readonly refused: readonly string[];
}

/** Real articles reach 321 kB; much larger ones would stall the build. */
const maxTextBytes = 512 * 1024;
const maxMediaBytes = 64 * 1024 ** 2;

const makeReadable = 'make it readable for the user of this command';
const copyIt = 'replace it with a copy of the file';

const backup = /\.(?:bak|backup|old|rej|save)$/i;

/** Paths of locks and temporary files of editors, file managers and browsers, which exist during a save or download. */
const temporary = [
  /(?:^|[\\/])(?:#[^\\/]*#|~\$[^\\/]*|4913|sed\w{6}|(?:eh)?thumbs\.db|desktop\.ini)$/i,
  /(?:~|~rf\w+\.tmp|\.tmp(?:-\w+)?|\.orig|___jb_(?:old|tmp)___|\.crdownload|\.part)$/i,
  // macOS, and six random letters of KDE.
  /\.(?:sb-[\da-f]+-\w+|\w+\.[a-z]{6})$/i,
];

/** Checks whether a file is a lock or temporary file of another program. */
export function isTemporaryFile(path: string): boolean {
  return temporary.some((pattern) => pattern.test(path)) && !backup.test(path);
}

const reserved = /(?:^|\/)(?:(?:con|prn|aux|nul|com\d|lpt\d)(?:\.[^/]*)?|[^/]*[. ])(?:\/|$)/i;

/**
 * Lists and hashes the regular files below a folder, without dot files and temporary files. Reports symbolic links,
 * special, unreadable and oversized files, and paths that differ only in case or Unicode form. Does not read `known` files
 * again.
 */
export function loadFolder(root: string, diagnostics: Diagnostics, known: readonly SourceFile[] = []): SourceFolder {
  const folder = { display: displayRoot(root), files: [] as SourceFile[], refused: [] as string[] };
  const byPath = new Map(known.map((file) => [file.path, file]));
  const byFoldedPath = new Map<string, string>();
  for (const entry of listEntries(root).toSorted((a, b) => compareText(a.path, b.path))) {
    const { path } = entry;
    if (isTemporaryFile(path)) continue;
    const display = displayIn(folder, path);
    if (backup.test(path)) {
      diagnostics.warning({ display }, 'this file is a backup that an editor or merge tool left', 'delete it');
      continue;
    }
    if (reserved.test(path)) diagnostics.warning({ display }, 'Windows cannot have a file of this name', 'rename it');
    const folded = path.normalize('NFC').toLowerCase();
    const fault = findFault(entry, byFoldedPath.get(folded));
    if (fault) diagnostics.error({ display }, ...fault);
    else byFoldedPath.set(folded, display);
    const listed = { path, absolute: join(root, path), display };
    const file = fault ? undefined : (byPath.get(path) ?? loadFile(listed, diagnostics));
    if (file) folder.files.push(file);
    else folder.refused.push(path);
  }
  return folder;
}

/** Finds what keeps an entry from being a source file, with the remedy; `duplicate` is a file of the same folded path. */
function findFault(
  { path, dirent, code = '' }: Listed,
  duplicate?: string,
): [message: string, hint: string] | undefined {
  if (/^ENO(?:ENT|TDIR)$/.test(code)) {
    return ['the folder does not exist', 'set CONTENT_DIR and CATALOG_DIR, or use --content and --catalog'];
  }
  if (code) return [`the folder cannot be read (${code})`, makeReadable];
  if (path.includes('\uFFFD')) return ['the name is not valid UTF-8', 'rename it'];
  if (dirent?.isDirectory()) return ['the name of a folder must not have a line break or a backslash', 'rename it'];
  if (dirent?.isSymbolicLink()) return ['symbolic links are not followed', copyIt];
  if (!dirent?.isFile()) return ['not a regular file', copyIt];
  if (!duplicate) return undefined;
  return [`the path differs from ${duplicate} only in case or Unicode form`, 'rename one of the two'];
}

/** Characters of names that fast-glob leaves out in silence. */
const unmatched = /[\n\r\\\uFFFD]/;

/** A file, link or folder; `code` is the error of a folder that cannot be read. */
type Listed = Pick<Entry, 'path'> & { readonly dirent?: Dirent; readonly code?: string | undefined };

/** Lists the files below a folder, folders with a fault, and links, but no dot files. */
function listEntries(root: string): Listed[] {
  const odd: Listed[] = [];
  const readFolder = (folder: string): Dirent[] => {
    let entries: Dirent[] = [];
    try {
      entries = readdirSync(join(root, folder), { withFileTypes: true });
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      // Other folders may be removed meanwhile.
      if (folder === '/' || code !== 'ENOENT') odd.push({ path: folder.slice(1), code });
    }
    const left = entries.filter(({ name }) => unmatched.test(name) && !name.startsWith('.'));
    odd.push(...left.map((dirent) => ({ path: join(folder, dirent.name).slice(1), dirent })));
    return entries.filter(({ name }) => !unmatched.test(name));
  };
  // As if the folder were `/`: fast-glob finds nothing below a path with a backslash.
  const fs = { readdirSync: readFolder as unknown as typeof readdirSync };
  const found = fastGlob.sync('**', { cwd: '/', fs, onlyFiles: false, followSymbolicLinks: false, objectMode: true });
  return [...found.filter(({ dirent }) => !dirent.isDirectory()), ...odd] as Listed[];
}

function loadFile(listed: Omit<SourceFile, 'bytes' | 'sha256'>, diagnostics: Diagnostics): SourceFile | undefined {
  const isText = /\.(?:md|yaml)$/.test(listed.path);
  const limit = isText ? maxTextBytes : maxMediaBytes;
  try {
    const { bytes, sha256, hasPicture } = hashFile(listed.absolute, limit);
    if (sha256 !== undefined) return { ...listed, bytes, sha256 };
    const message = `the file has ${bytes} bytes, more than the limit of ${limit}`;
    const split = hasPicture ? 'save its pictures, which are data: addresses, in content/media/' : 'split it up';
    diagnostics.error(listed, message, isText ? split : 'make it smaller');
  } catch (error) {
    const message = `the file cannot be read (${(error as NodeJS.ErrnoException).code})`;
    diagnostics.error(listed, message, makeReadable);
  }
  return undefined;
}

/** Shared, because allocating 10,000 buffers would take as long as reading the files. */
const buffer = Buffer.allocUnsafe(1024 ** 2);

/** Returns the size of a file, with the hash if within the limit. Most files need one read and no `stat`. */
function hashFile(path: string, limit: number): { bytes: number; sha256?: string; hasPicture?: boolean } {
  // A symbolic link may have replaced the file since the listing.
  const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    let length = readSync(file, buffer);
    const bytes = length < buffer.length ? length : statSync(path).size;
    if (bytes > limit) return { bytes, hasPicture: buffer.subarray(0, length).includes('data:image/') };
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

/** Finds a source file by its display path. */
export const findSource = (display: string, sources?: SourceSet): SourceFile | undefined =>
  Object.values(sources ?? {})
    .flatMap(({ files }) => files)
    .find((file) => file.display === display);

/** Reads the lines of a source file, given by its display path; none if it is unreadable or not a text. */
export function readLines(display: string, sources?: SourceSet): string[] {
  const file = findSource(display, sources);
  // Problems of other files concern only their names.
  const text = file && /\.(?:md|yaml)$/.test(display) ? readIfFile(file.absolute) : undefined;
  return text?.replace(/^\uFEFF/, '').split(/\r\n?|\n/) ?? [];
}

/** Returns the display path of a file in a folder. */
export function displayIn({ display }: Pick<SourceFolder, 'display'>, path: string): string {
  return [display === '.' ? '' : display, path].filter(Boolean).join('/') || '.';
}

/** Finds the repository that contains a folder; without one, the parent folder. */
export function findRepository(folder: string, at = dirname(folder)): string {
  if (existsSync(join(at, '.git'))) return at;
  return at === dirname(at) ? dirname(folder) : findRepository(folder, dirname(at));
}

/** Returns the display path of a source folder; relative to its repository if the working directory is elsewhere. */
function displayRoot(root: string): string {
  const seenFrom = findRepository(root);
  const isElsewhere = displayPath(root).startsWith('../') && relative(seenFrom, process.cwd()).startsWith('..');
  return isElsewhere ? relative(seenFrom, root).replaceAll(sep, '/') : displayPath(root);
}

/** Returns a path relative to the working directory, which a terminal or CI can open. */
export function displayPath(path: string): string {
  return relative(process.cwd(), path).replaceAll(sep, '/') || '.';
}
