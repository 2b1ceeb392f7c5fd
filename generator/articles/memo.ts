import { hash } from 'node:crypto';
import { readFileSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { SQLTagStore } from 'node:sqlite';
import { createFolder } from '../common/files.ts';

/** Remembers results on disk. Builds may share the file or copy it. */
export type Memo = ReturnType<typeof openMemo>;

/** The compressed encodings of an article's file. */
type CompressedBytes = Readonly<Record<'gz' | 'br', Uint8Array>>;

/** A value in plain JSON, and the input it was made from. */
interface Entry {
  readonly input: string;
  readonly value: unknown;
}

/** Compressed bytes have a separate table, so reading values skips them. The SELECT fails on other columns. */
const prepareTables = `
  PRAGMA synchronous = OFF;
  CREATE TABLE IF NOT EXISTS entries (name TEXT PRIMARY KEY, checksum TEXT, json BLOB);
  CREATE TABLE IF NOT EXISTS encodings (name TEXT PRIMARY KEY, gz BLOB, br BLOB);
  SELECT checksum, json, gz, br FROM entries, encodings LIMIT 0`;

/** Entries per transaction; few, so that concurrent builds wait only briefly for the lock. */
const batchSize = 64;

/** Detects entries that a power loss left half written. */
const toChecksum = (id: string, json: Uint8Array): string => hash('sha256', `${id} ${hash('sha256', json)}`);

/** SQLITE_ERROR (a table has other columns), SQLITE_CORRUPT and SQLITE_NOTADB. */
const damageCodes = new Set([1, 11, 26]);

/** Opens the memo below `out`; without a folder, a temporary one. Database errors empty it, but never fail a build. */
export function openMemo(out: string | undefined, readOnly = false) {
  const file = out === undefined ? undefined : join(out, '.cache', 'renders.sqlite');
  const isReadOnly = readOnly && file !== undefined;
  const generator = readGeneratorHash();
  const toId = (name: string): string => hash('sha256', `${generator} ${name}`);
  /** Entries read or written so far: `dev` reads all of them after each save. */
  const loaded = new Map<string, Entry>();
  const unsaved = new Map<string, CompressedBytes | undefined>();
  /** The IDs of entries read or written by this build. */
  const used = new Set<string>();

  let sql: SQLTagStore | undefined;
  const guard = <Result>(work: () => Result): Result | undefined => {
    try {
      return work();
    } catch (error) {
      sql?.db.close();
      sql = undefined;
      // The low byte is the primary result code.
      const isDamaged = damageCodes.has(((error as { errcode?: number }).errcode ?? 0) & 0xff);
      if (!isDamaged || file === undefined || isReadOnly) return undefined;
      for (const path of [file, `${file}-journal`]) rmSync(path, { force: true });
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
    if (unsaved.size > 0 && !isReadOnly) {
      attempt((store) => {
        store.db.exec('BEGIN IMMEDIATE');
        for (const [id, bytes] of unsaved) {
          const { input, value } = loaded.get(id)!;
          const json = Buffer.from(JSON.stringify([input, value]));
          const checksum = toChecksum(id, json);
          store.run`INSERT OR REPLACE INTO entries (name, checksum, json) VALUES (${id}, ${checksum}, ${json})`;
          if (!bytes) continue;
          store.run`INSERT OR REPLACE INTO encodings (name, gz, br) VALUES (${id}, ${bytes.gz}, ${bytes.br})`;
        }
        store.db.exec('COMMIT');
      });
    }
    unsaved.clear();
  };
  const load = (id: string): Entry | undefined => {
    const row = attempt((store) => store.get`SELECT checksum, json FROM entries WHERE name = ${id}`);
    const { checksum, json } = row ?? {};
    if (!(json instanceof Uint8Array) || checksum !== toChecksum(id, json)) return undefined;
    const [input, value] = JSON.parse(new TextDecoder().decode(json)) as [string, unknown];
    loaded.set(id, { input, value });
    return { input, value };
  };

  open();
  // The first attempt has removed a damaged file.
  if (!sql) open();
  const memo = {
    /** Reads a value made from this input. */
    read(name: string, input: string): unknown {
      const id = toId(name);
      used.add(id);
      const entry = loaded.get(id) ?? load(id);
      return entry?.input === input ? entry.value : undefined;
    },
    /** Keeps the value of a name that this build does not read. */
    keep: (name: string): void => void used.add(toId(name)),
    /** Stores a value in plain JSON, with compressed bytes, under a name. */
    write(name: string, input: string, value: unknown, bytes?: CompressedBytes): void {
      const id = toId(name);
      used.add(id);
      loaded.set(id, { input, value });
      unsaved.set(id, bytes);
      if (unsaved.size >= batchSize) flush();
    },
    /** Reads a value, or makes and stores it. Does not store undefined. */
    async get<Value>(name: string, input: string, make: () => Value | Promise<Value>): Promise<Value> {
      const known = memo.read(name, input);
      if (known !== undefined) return known as Value;
      const value = await make();
      if (value !== undefined) memo.write(name, input, value);
      return value;
    },
    /** Reads compressed bytes. Compare their hashes: they may be damaged, or replaced by another build. */
    readBytes(name: string): CompressedBytes | undefined {
      const id = toId(name);
      const row = unsaved.get(id) ?? attempt((store) => store.get`SELECT gz, br FROM encodings WHERE name = ${id}`);
      return row as CompressedBytes | undefined;
    },
    /** Removes entries that this build did not use, which bounds the size of the file. */
    prune(): void {
      flush();
      const ids = JSON.stringify([...used]);
      attempt((store) => {
        store.run`DELETE FROM entries WHERE name NOT IN (SELECT value FROM json_each(${ids}))`;
        store.run`DELETE FROM encodings WHERE name NOT IN (SELECT value FROM json_each(${ids}))`;
      });
    },
    /** Writes unsaved entries and closes the file. */
    [Symbol.dispose](): void {
      flush();
      sql?.db.close();
      sql = undefined;
    },
  };
  return memo;
}

let generatorHash: string | undefined;

const hashOf = (path: string): string => hash('sha256', readFileSync(path));

/** Hashes everything else a build depends on: code, guide and console of /docs, libraries, and Node.js with its zlib. */
function readGeneratorHash(): string {
  if (generatorHash !== undefined) return generatorHash;
  const root = join(import.meta.dirname, '..');
  const code = readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted()
    .map((path) => [path.slice(root.length), hashOf(path)]);
  const parts = ['console.css', 'console.js', 'stream.js'].map((name) => `examples/clients/browser/${name}`);
  const others = ['package-lock.json', 'docs/customers.md', ...parts].map((path) => hashOf(join(root, '..', path)));
  return (generatorHash = hash('sha256', JSON.stringify([process.version, others, code])));
}
