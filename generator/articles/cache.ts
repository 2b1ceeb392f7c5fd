import { hash } from 'node:crypto';
import { mkdirSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { StatementSync } from 'node:sqlite';
import { gunzipSync } from 'node:zlib';
import type { Forms } from '../release/compress.ts';
import type { Outline } from './article.ts';

/** What an article is known by: the hash of its source file, and its site path. */
export interface ArticleKey {
  readonly source: string;
  readonly path: string;
}

/** Remembers on disk what articles became. It may be copied between machines, and shared by builds. */
export interface ArticleCache {
  /** The outline of an article, where it is known. */
  read(key: ArticleKey): Outline | undefined;
  /** The file of an article whose outline is known; undefined where it is not there, or not what the outline says. */
  readForms(key: ArticleKey, outline: Outline): Forms | undefined;
  /** Keeps an article, where its outline says what its file is. */
  write(key: ArticleKey, outline: Outline, forms: Forms): void;
  /** Removes all other articles, so that the cache is bounded by what it is kept for. */
  prune(keys: Iterable<ArticleKey>): void;
  /** Writes what is not yet written, and ends. */
  close(): void;
}

/** How a cache is used. */
export interface ArticleCacheOptions {
  /** What an outline depends on beside the article: the code of the generator and its libraries. */
  readonly fingerprint: string;
  /** Only reads; a file that is missing is not made. */
  readonly readOnly?: boolean;
}

/**
 * Opens the cache in a file; without one, it is a temporary one. An entry is named after everything that it depends on: the source file, the path of the article, and the
 * fingerprint of the generator. One that does not prove itself by its own checksum is as if it were not there.
 */
export function openArticleCache(
  file: string | undefined,
  { fingerprint, readOnly = false }: ArticleCacheOptions,
): ArticleCache {
  const toName = ({ source, path }: ArticleKey): string => hash('sha256', `${fingerprint} ${source} ${path}`);
  const entries = openEntries(file, readOnly);
  /** What was read or written before: `dev` asks for the same ten thousand with every save. */
  const known = new Map<string, Outline>();
  const toMemo = ({ source, path }: ArticleKey): string => `${source} ${path}`;
  const parse = (name: string): Outline | undefined => {
    const text = entries.read(name);
    const json = text?.slice(checksumLength);
    return text && text === checksum(name, json!) + json! ? (JSON.parse(json!) as Outline) : undefined;
  };
  return {
    read(key) {
      const outline = known.get(toMemo(key)) ?? parse(toName(key));
      if (outline) known.set(toMemo(key), outline);
      return outline;
    },
    readForms(key, { forms }) {
      const { gz, br } = entries.readForms(toName(key)) ?? {};
      if (!gz || !br || hash('sha256', gz) !== forms?.gz || hash('sha256', br) !== forms.br) return undefined;
      return { identity: gunzipSync(gz), gz, br };
    },
    write(key, outline, { gz, br }) {
      const name = toName(key);
      const json = JSON.stringify(outline);
      entries.write(name, { text: checksum(name, json) + json, gz, br });
      known.set(toMemo(key), outline);
    },
    prune: (keys) => entries.keepOnly(Array.from(keys, toName)),
    close: () => entries.close(),
  };
}

const checksumLength = 64;

function checksum(name: string, json: string): string {
  return hash('sha256', `${name} ${json}`);
}

/** The compressed forms of a file. */
type Compressed = Pick<Forms, 'gz' | 'br'>;

interface Entry extends Compressed {
  readonly text: string;
}

/** Entries by name, in one file, which is made, copied and removed faster than a file for each. */
interface Entries {
  read(name: string): string | undefined;
  readForms(name: string): Partial<Compressed> | undefined;
  write(name: string, entry: Entry): void;
  keepOnly(names: readonly string[]): void;
  close(): void;
}

/** Entries that are written together, so that other builds need not wait long for this one. */
const batch = 64;

/** Opens entries. Where that cannot be done, or no longer, they are empty: that costs time, never a build. */
function openEntries(file: string | undefined, readOnly: boolean): Entries {
  // The second time without what was damaged.
  let connection = readOnly && file !== undefined ? connectReadOnly(file) : (connect(file) ?? connect(file));
  const waiting = new Map<string, Entry>();
  const attempt = <Result>(work: (open: Connection) => Result): Result | undefined => {
    try {
      return connection && work(connection);
    } catch (error) {
      connection?.database.close();
      if (file !== undefined && !readOnly) removeDamaged(file, error);
      connection = undefined;
      return undefined;
    }
  };
  const flush = (): void => {
    if (waiting.size === 0) return;
    attempt(({ database, write, writeForms }) => {
      database.exec('BEGIN IMMEDIATE');
      for (const [name, { text, gz, br }] of waiting) {
        write.run(name, text);
        writeForms.run(name, gz, br);
      }
      database.exec('COMMIT');
    });
    waiting.clear();
  };
  return {
    read: (name) => waiting.get(name)?.text ?? attempt(({ read }) => read.get(name)?.['text'] as string | undefined),
    readForms: (name) =>
      waiting.get(name) ?? attempt(({ readForms }) => readForms.get(name) as unknown as Compressed | undefined),
    write(name, entry) {
      waiting.set(name, entry);
      if (waiting.size >= batch) flush();
    },
    keepOnly(names) {
      flush();
      attempt(({ keepOnly }) => keepOnly.forEach((statement) => statement.run(JSON.stringify(names))));
    },
    close() {
      flush();
      connection?.database.close();
      connection = undefined;
    },
  };
}

interface Connection {
  readonly database: DatabaseSync;
  readonly read: StatementSync;
  readonly readForms: StatementSync;
  readonly write: StatementSync;
  readonly writeForms: StatementSync;
  readonly keepOnly: readonly StatementSync[];
}

/** Compressed forms are apart, so that reading all outlines does not read them. */
const tables = `
  CREATE TABLE IF NOT EXISTS entries (name TEXT PRIMARY KEY, text TEXT);
  CREATE TABLE IF NOT EXISTS forms (name TEXT PRIMARY KEY, gz BLOB, br BLOB)`;

/** Opens the file, which is made where it is missing; where it cannot be used, answers undefined, and has removed one that is damaged. */
function connect(file: string | undefined): Connection | undefined {
  try {
    if (file !== undefined) mkdirSync(dirname(file), { recursive: true });
    // SQLite makes a temporary file for an empty name.
    const database = new DatabaseSync(file ?? '', { timeout: 5000 });
    // What a loss of power leaves half written does not prove itself later on.
    database.exec(`PRAGMA synchronous = OFF; ${tables}`);
    return prepare(database);
  } catch (error) {
    if (file !== undefined) removeDamaged(file, error);
    return undefined;
  }
}

function connectReadOnly(file: string): Connection | undefined {
  try {
    return prepare(new DatabaseSync(file, { readOnly: true, timeout: 5000 }));
  } catch {
    return undefined;
  }
}

function prepare(database: DatabaseSync): Connection {
  return {
    database,
    read: database.prepare('SELECT text FROM entries WHERE name = ?'),
    readForms: database.prepare('SELECT gz, br FROM forms WHERE name = ?'),
    write: database.prepare('INSERT OR REPLACE INTO entries (name, text) VALUES (?, ?)'),
    writeForms: database.prepare('INSERT OR REPLACE INTO forms (name, gz, br) VALUES (?, ?, ?)'),
    keepOnly: ['entries', 'forms'].map((table) =>
      database.prepare(`DELETE FROM ${table} WHERE name NOT IN (SELECT value FROM json_each(?))`),
    ),
  };
}

/** SQLite's codes for what is no table of ours, a damaged file, and no database at all. */
const damaged = new Set([1, 11, 26]);

function removeDamaged(file: string, error: unknown): void {
  const { errcode = 0 } = error as { errcode?: number };
  // The low byte: what is above it tells the kinds of damage apart.
  if (!damaged.has(errcode & 0xff)) return;
  try {
    for (const path of [file, `${file}-journal`]) rmSync(path, { force: true });
  } catch {
    // In a folder that cannot be written it stays, and is of no use to the next build either.
  }
}
