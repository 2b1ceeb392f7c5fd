import { hash } from 'node:crypto';
import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { StatementSync } from 'node:sqlite';
import { gunzipSync } from 'node:zlib';
import { createFolder } from '../common/folder.ts';
import type { Encodings } from '../release/compress.ts';
import type { ArticleMetadata } from './metadata.ts';

/** The cache key of an article. */
export interface ArticleKey {
  /** The hash of its source file. */
  readonly source: string;
  readonly path: string;
}

/** A cache of compiled articles on disk. Builds may share it, and it may be copied to another machine. */
export interface ArticleCache {
  /** The metadata of an article; undefined if it is not cached. */
  read(key: ArticleKey): ArticleMetadata | undefined;
  /** The file of an article; undefined if it is missing or does not match the hashes in the metadata. */
  readEncodings(key: ArticleKey, metadata: ArticleMetadata): Encodings | undefined;
  /** Adds an article; its metadata must contain the hashes of its file. */
  write(key: ArticleKey, metadata: ArticleMetadata, encodings: Encodings): void;
  /** Removes all other articles, which bounds the size of the cache. */
  prune(keys: Iterable<ArticleKey>): void;
  /** Writes pending entries and closes the file. */
  close(): void;
}

/** Options of {@link openArticleCache}. */
export interface ArticleCacheOptions {
  /** The fingerprint of the generator, on which compiled articles depend too. */
  readonly fingerprint: string;
  /** Never writes, and does not create a missing file. */
  readonly readOnly?: boolean;
}

/**
 * Opens the cache in a file; without a file it is temporary. The name of an entry is a hash of everything that it depends
 * on: the source file, the site path and the fingerprint. An entry with a wrong checksum counts as missing.
 */
export function openArticleCache(
  file: string | undefined,
  { fingerprint, readOnly = false }: ArticleCacheOptions,
): ArticleCache {
  const toName = (key: ArticleKey): string => hash('sha256', `${fingerprint} ${toText(key)}`);
  const entries = openEntries(file, readOnly);
  /** The entries read or written so far: `dev` reads all of them after each save. */
  const loaded = new Map<string, ArticleMetadata>();
  const parse = (name: string): ArticleMetadata | undefined => {
    const text = entries.read(name);
    const json = text?.slice(checksumLength);
    return text && text === checksum(name, json!) + json! ? (JSON.parse(json!) as ArticleMetadata) : undefined;
  };
  return {
    read(key) {
      const metadata = loaded.get(toText(key)) ?? parse(toName(key));
      if (metadata) loaded.set(toText(key), metadata);
      return metadata;
    },
    readEncodings(key, { encodings }) {
      const { gz, br } = entries.readEncodings(toName(key)) ?? {};
      if (!gz || !br || hash('sha256', gz) !== encodings?.gz || hash('sha256', br) !== encodings.br) return undefined;
      return { identity: gunzipSync(gz), gz, br };
    },
    write(key, metadata, { gz, br }) {
      const name = toName(key);
      const json = JSON.stringify(metadata);
      entries.write(name, { text: checksum(name, json) + json, gz, br });
      loaded.set(toText(key), metadata);
    },
    prune: (keys) => entries.keepOnly(Array.from(keys, toName)),
    close: () => entries.close(),
  };
}

const toText = ({ source, path }: ArticleKey): string => `${source} ${path}`;

const checksumLength = 64;

function checksum(name: string, json: string): string {
  return hash('sha256', `${name} ${json}`);
}

/** The compressed encodings of a file. */
type Compressed = Pick<Encodings, 'gz' | 'br'>;

interface Entry extends Compressed {
  readonly text: string;
}

/** Entries by name, in one database file: it is created, copied and removed faster than one file per entry. */
interface Entries {
  read(name: string): string | undefined;
  readEncodings(name: string): Partial<Compressed> | undefined;
  write(name: string, entry: Entry): void;
  keepOnly(names: readonly string[]): void;
  close(): void;
}

/** The entries of one transaction; few, so that other builds do not wait long for the lock. */
const batchSize = 64;

/** Opens entries. After a database error they are empty, which costs time but never fails a build. */
function openEntries(file: string | undefined, readOnly: boolean): Entries {
  // The first attempt removes a damaged file.
  let connection = readOnly && file !== undefined ? connectReadOnly(file) : (connect(file) ?? connect(file));
  const pending = new Map<string, Entry>();
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
    if (pending.size === 0) return;
    attempt(({ database, write, writeEncodings }) => {
      database.exec('BEGIN IMMEDIATE');
      for (const [name, { text, gz, br }] of pending) {
        write.run(name, text);
        writeEncodings.run(name, gz, br);
      }
      database.exec('COMMIT');
    });
    pending.clear();
  };
  return {
    read: (name) => pending.get(name)?.text ?? attempt(({ read }) => read.get(name)?.['text'] as string | undefined),
    readEncodings: (name) =>
      pending.get(name) ?? attempt(({ readEncodings }) => readEncodings.get(name) as unknown as Compressed | undefined),
    write(name, entry) {
      pending.set(name, entry);
      if (pending.size >= batchSize) flush();
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
  readonly readEncodings: StatementSync;
  readonly write: StatementSync;
  readonly writeEncodings: StatementSync;
  readonly keepOnly: readonly StatementSync[];
}

/** Compressed encodings have a table of their own, so that reading the metadata does not read them. */
const tables = `
  CREATE TABLE IF NOT EXISTS entries (name TEXT PRIMARY KEY, text TEXT);
  CREATE TABLE IF NOT EXISTS encodings (name TEXT PRIMARY KEY, gz BLOB, br BLOB)`;

/** Opens or creates the file. Returns undefined if it cannot be used, and removes a damaged one. */
function connect(file: string | undefined): Connection | undefined {
  try {
    if (file !== undefined) createFolder(dirname(file));
    // SQLite creates a temporary file for an empty name.
    const database = new DatabaseSync(file ?? '', { timeout: 5000 });
    // Checksums detect what a power loss leaves half written.
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
    readEncodings: database.prepare('SELECT gz, br FROM encodings WHERE name = ?'),
    write: database.prepare('INSERT OR REPLACE INTO entries (name, text) VALUES (?, ?)'),
    writeEncodings: database.prepare('INSERT OR REPLACE INTO encodings (name, gz, br) VALUES (?, ?, ?)'),
    keepOnly: ['entries', 'encodings'].map((table) =>
      database.prepare(`DELETE FROM ${table} WHERE name NOT IN (SELECT value FROM json_each(?))`),
    ),
  };
}

/** SQLITE_ERROR (a table is not ours), SQLITE_CORRUPT and SQLITE_NOTADB. */
const damageCodes = new Set([1, 11, 26]);

function removeDamaged(file: string, error: unknown): void {
  const { errcode = 0 } = error as { errcode?: number };
  // The low byte is the primary result code.
  if (!damageCodes.has(errcode & 0xff)) return;
  try {
    for (const path of [file, `${file}-journal`]) rmSync(path, { force: true });
  } catch {
    // In a read-only folder the file stays; the next build cannot use it either.
  }
}
