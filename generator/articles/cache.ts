import { hash } from 'node:crypto';
import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { StatementSync } from 'node:sqlite';
import { gunzipSync } from 'node:zlib';
import { createFolder } from '../common/folder.ts';
import type { Encodings } from '../release/compress.ts';
import type { MediaFacts } from '../source/media/facts.ts';
import type { ArticleMetadata } from './metadata.ts';

/** The cache key of an article. */
export interface ArticleKey {
  /** The hash of its source file. */
  readonly source: string;
  readonly path: string;
}

/** A cache of compiled articles, and of what media files are, on disk. Builds may share it, and it may be copied to another machine. */
export interface ArticleCache {
  /** The metadata of an article; undefined if it is not cached. */
  read(key: ArticleKey): ArticleMetadata | undefined;
  /** The file of an article; undefined if it is missing or does not match the hashes in the metadata. */
  readEncodings(key: ArticleKey, metadata: ArticleMetadata): Encodings | undefined;
  /** Adds an article; its metadata must contain the hashes of its file. */
  write(key: ArticleKey, metadata: ArticleMetadata, encodings: Encodings): void;
  /** What a media file is, by the hash of its bytes; undefined if it is not cached. */
  readMedia(sha256: string): MediaFacts | undefined;
  writeMedia(sha256: string, facts: MediaFacts): void;
  /** Removes all other articles and media, which bounds the size of the cache. */
  prune(keys: Iterable<ArticleKey>, media: Iterable<string>): void;
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
 * Opens the cache in a file; without a file it is temporary. The name of an entry is a hash of the source file, the site path
 * and the fingerprint. An article also depends on the sizes of its pictures, which its metadata holds. An entry with a wrong
 * checksum counts as missing.
 */
export function openArticleCache(
  file: string | undefined,
  { fingerprint, readOnly = false }: ArticleCacheOptions,
): ArticleCache {
  const toHash = (text: string): string => hash('sha256', `${fingerprint} ${text}`);
  const toName = (key: ArticleKey): string => toHash(toText(key));
  const toMediaName = (sha256: string): string => toHash(`media ${sha256}`);
  const entries = openEntries(file, readOnly);
  /** The entries read or written so far: `dev` reads all of them after each save. */
  const loaded = new Map<string, ArticleMetadata>();
  const loadedMedia = new Map<string, MediaFacts>();
  const parse = (name: string): unknown => {
    const text = entries.read(name);
    const json = text?.slice(checksumLength);
    return text && text === checksum(name, json!) + json! ? JSON.parse(json!) : undefined;
  };
  const write = (name: string, value: unknown, compressed?: Compressed): void => {
    const json = JSON.stringify(value);
    entries.write(name, { text: checksum(name, json) + json, compressed });
  };
  return {
    read(key) {
      const metadata = loaded.get(toText(key)) ?? (parse(toName(key)) as ArticleMetadata | undefined);
      if (metadata) loaded.set(toText(key), metadata);
      return metadata;
    },
    readEncodings(key, { encodings }) {
      const { gz, br } = entries.readEncodings(toName(key)) ?? {};
      if (!gz || !br || hash('sha256', gz) !== encodings?.gz || hash('sha256', br) !== encodings.br) return undefined;
      return { identity: gunzipSync(gz), gz, br };
    },
    write(key, metadata, { gz, br }) {
      write(toName(key), metadata, { gz, br });
      loaded.set(toText(key), metadata);
    },
    readMedia(sha256) {
      const facts = loadedMedia.get(sha256) ?? (parse(toMediaName(sha256)) as MediaFacts | undefined);
      if (facts) loadedMedia.set(sha256, facts);
      return facts;
    },
    writeMedia(sha256, facts) {
      write(toMediaName(sha256), facts);
      loadedMedia.set(sha256, facts);
    },
    prune: (keys, media) => entries.keepOnly([...Array.from(keys, toName), ...Array.from(media, toMediaName)]),
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

interface Entry {
  readonly text: string;
  readonly compressed: Compressed | undefined;
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
      for (const [name, { text, compressed }] of pending) {
        write.run(name, text);
        if (compressed) writeEncodings.run(name, compressed.gz, compressed.br);
      }
      database.exec('COMMIT');
    });
    pending.clear();
  };
  return {
    read: (name) => pending.get(name)?.text ?? attempt(({ read }) => read.get(name)?.['text'] as string | undefined),
    readEncodings: (name) =>
      pending.get(name)?.compressed ??
      attempt(({ readEncodings }) => readEncodings.get(name) as unknown as Compressed | undefined),
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
