import { hash } from 'node:crypto';
import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { SQLTagStore } from 'node:sqlite';
import { gunzipSync } from 'node:zlib';
import { createFolder } from '../common/files.ts';
import type { Encodings } from '../release/compress.ts';
import type { SourceFile } from '../source/load.ts';
import type { ArticleMetadata } from './article.ts';

/** A cache on disk. Builds may share it, and it may be copied to another machine. */
export type ArticleCache = ReturnType<typeof openArticleCache>;

/** The cache key of an article: what its text is, and where it stands, which its links depend on. */
export const articleKey = ({ sha256, path }: SourceFile): string => `${sha256} ${path}`;
/** The cache key of what a media file is. */
export const mediaKey = ({ sha256 }: SourceFile): string => `media ${sha256}`;

/**
 * Compressed encodings have a table of their own, so that reading the metadata does not read them. The last statement fails
 * if a table is not ours. Checksums detect what a power loss leaves half written.
 */
const prepareTables = `
  PRAGMA synchronous = OFF;
  CREATE TABLE IF NOT EXISTS entries (name TEXT PRIMARY KEY, text TEXT);
  CREATE TABLE IF NOT EXISTS encodings (name TEXT PRIMARY KEY, gz BLOB, br BLOB);
  SELECT text, gz, br FROM entries, encodings LIMIT 0`;

/** The entries of one transaction; few, so that other builds do not wait long for the lock. */
const batchSize = 64;

const checksumLength = 64;
const toText = (name: string, json: string): string => hash('sha256', `${name} ${json}`) + json;

/** SQLITE_ERROR (a table is not ours), SQLITE_CORRUPT and SQLITE_NOTADB. */
const damageCodes = new Set([1, 11, 26]);

/**
 * Opens the cache in a file; without a file it is temporary. If it is read only, it is never created or written. Its entries
 * depend on the fingerprint of the generator. After a database error the cache is empty, which never fails a build.
 */
export function openArticleCache(
  file: string | undefined,
  { fingerprint, readOnly = false }: { readonly fingerprint: string; readonly readOnly?: boolean },
) {
  const isReadOnly = readOnly && file !== undefined;
  /** The values read or written so far, by key: `dev` reads all of them after each save. */
  const loaded = new Map<string, unknown>();
  const pending = new Map<string, Partial<Encodings> & { readonly text: string }>();
  const toName = (key: string): string => hash('sha256', `${fingerprint} ${key}`);

  let sql: SQLTagStore | undefined;
  const guard = <Result>(work: () => Result): Result | undefined => {
    try {
      return work();
    } catch (error) {
      sql?.db.close();
      sql = undefined;
      // The low byte is the primary result code.
      const isDamaged = damageCodes.has(((error as { errcode?: number }).errcode ?? 0) & 0xff);
      if (isDamaged && file !== undefined && !isReadOnly) remove(file);
      return undefined;
    }
  };
  const attempt = <Result>(work: (store: SQLTagStore) => Result) => guard(() => sql && work(sql));
  const open = (): void =>
    guard(() => {
      if (file !== undefined && !isReadOnly) createFolder(dirname(file));
      // SQLite creates a temporary file for an empty name.
      sql = new DatabaseSync(file ?? '', { readOnly: isReadOnly, timeout: 5000 }).createTagStore();
      if (!isReadOnly) sql.db.exec(prepareTables);
    });
  const flush = (): void => {
    if (pending.size > 0 && !isReadOnly) {
      attempt((store) => {
        store.db.exec('BEGIN IMMEDIATE');
        for (const [name, { text, gz, br }] of pending) {
          store.run`INSERT OR REPLACE INTO entries (name, text) VALUES (${name}, ${text})`;
          if (gz && br) store.run`INSERT OR REPLACE INTO encodings (name, gz, br) VALUES (${name}, ${gz}, ${br})`;
        }
        store.db.exec('COMMIT');
      });
    }
    pending.clear();
  };

  open();
  // The first attempt removed a damaged file.
  if (!sql) open();
  return {
    /** The value of a key, which is plain JSON; undefined if it is not cached. */
    read(key: string): unknown {
      if (loaded.has(key)) return loaded.get(key);
      const name = toName(key);
      const entry = attempt((store) => store.get`SELECT text FROM entries WHERE name = ${name}`);
      const text = entry?.['text'] as string | null | undefined;
      const json = text?.slice(checksumLength);
      if (!json || text !== toText(name, json)) return undefined;
      const value: unknown = JSON.parse(json);
      loaded.set(key, value);
      return value;
    },
    /** The file of an article; undefined if it is missing or does not match the hashes in the metadata. */
    readEncodings(key: string, { encodings }: ArticleMetadata): Encodings | undefined {
      const name = toName(key);
      const stored =
        pending.get(name) ?? attempt((store) => store.get`SELECT gz, br FROM encodings WHERE name = ${name}`);
      const { gz, br } = (stored ?? {}) as Partial<Encodings>;
      if (!gz || !br || hash('sha256', gz) !== encodings?.gz || hash('sha256', br) !== encodings.br) return undefined;
      return { identity: gunzipSync(gz), gz, br };
    },
    /** Adds a value; that of an article must contain the hashes of its file. */
    write(key: string, value: unknown, encodings?: Encodings): void {
      loaded.set(key, value);
      const name = toName(key);
      pending.set(name, { text: toText(name, JSON.stringify(value)), ...encodings });
      if (pending.size >= batchSize) flush();
    },
    /** Removes everything but these keys, which bounds the size of the cache. */
    prune(keys: Iterable<string>): void {
      flush();
      const names = JSON.stringify(Array.from(keys, toName));
      attempt((store) => {
        store.run`DELETE FROM entries WHERE name NOT IN (SELECT value FROM json_each(${names}))`;
        store.run`DELETE FROM encodings WHERE name NOT IN (SELECT value FROM json_each(${names}))`;
      });
    },
    /** Writes pending entries and closes the file. */
    close(): void {
      flush();
      sql?.db.close();
      sql = undefined;
    },
  };
}

/** Removes a damaged file. In a read-only folder it stays; the next build cannot use it either. */
function remove(file: string): void {
  try {
    for (const path of [file, `${file}-journal`]) rmSync(path, { force: true });
  } catch {
    // See above.
  }
}
