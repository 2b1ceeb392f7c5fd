import { hash } from 'node:crypto';
import { mkdirSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { StatementSync } from 'node:sqlite';
import type { Rendered } from './render.ts';
import type { Render } from './renderer.ts';

/** Remembers on disk what earlier builds rendered. It may be copied between machines, and shared by builds. */
export interface RenderCache {
  /** Answers what the source file of that hash became at a site path; renders it where that is not known. */
  render(source: string, sitePath: string, markdown: string): Promise<Rendered>;
  /** Removes all but what the source files of those hashes became at those site paths. */
  prune(articles: Iterable<readonly [source: string, sitePath: string]>): void;
  /** Writes what is not yet written, and ends. */
  close(): void;
}

/** Where the cache is kept. */
export interface RenderCachePlace {
  readonly file: string;
  /** What a result depends on beside the article: the code of the generator and its libraries. */
  readonly fingerprint: string;
}

/**
 * Opens the cache in a file; without one, nothing is remembered. An entry is named after everything that the result
 * depends on: the source file, the path of the article, and the fingerprint of the generator. One that does not prove
 * itself by its own checksum is rendered anew.
 */
export function openRenderCache(place: RenderCachePlace | undefined, render: Render): RenderCache {
  if (place === undefined) {
    return { render: (_, sitePath, markdown) => render(markdown, sitePath), prune() {}, close() {} };
  }
  const { file, fingerprint } = place;
  const toName = (source: string, sitePath: string): string => hash('sha256', `${fingerprint} ${source} ${sitePath}`);
  const entries = openEntries(file);
  return {
    async render(source, sitePath, markdown) {
      const name = toName(source, sitePath);
      const known = entries.read(name);
      if (known?.startsWith(checksum(name, known.slice(checksumLength)))) {
        return JSON.parse(known.slice(checksumLength)) as Rendered;
      }
      const rendered = await render(markdown, sitePath);
      const json = JSON.stringify(rendered);
      entries.write(name, checksum(name, json) + json);
      return rendered;
    },
    prune: (articles) => entries.keepOnly(Array.from(articles, ([source, sitePath]) => toName(source, sitePath))),
    close: () => entries.close(),
  };
}

const checksumLength = 64;

function checksum(name: string, json: string): string {
  return hash('sha256', `${name} ${json}`);
}

/** Texts by name, in one file, which is made, copied and removed faster than a file for each. */
interface Entries {
  read(name: string): string | undefined;
  write(name: string, text: string): void;
  keepOnly(names: readonly string[]): void;
  close(): void;
}

/** Entries that are written together, so that other builds need not wait long for this one. */
const batch = 64;

/** Opens entries. Where that cannot be done, or no longer, they are empty: that costs time, never a build. */
function openEntries(file: string): Entries {
  // The second time without what was damaged.
  let connection = connect(file) ?? connect(file);
  const waiting = new Map<string, string>();
  const attempt = <Result>(work: (open: Connection) => Result): Result | undefined => {
    try {
      return connection && work(connection);
    } catch (error) {
      connection?.database.close();
      removeDamaged(file, error);
      connection = undefined;
      return undefined;
    }
  };
  const flush = (): void => {
    attempt(({ database, write }) => {
      database.exec('BEGIN IMMEDIATE');
      for (const [name, text] of waiting) write.run(name, text);
      database.exec('COMMIT');
    });
    waiting.clear();
  };
  return {
    read: (name) => waiting.get(name) ?? attempt(({ read }) => read.get(name)?.['text'] as string | undefined),
    write(name, text) {
      waiting.set(name, text);
      if (waiting.size >= batch) flush();
    },
    keepOnly(names) {
      flush();
      attempt(({ keepOnly }) => keepOnly.run(JSON.stringify(names)));
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
  readonly write: StatementSync;
  readonly keepOnly: StatementSync;
}

/** Opens the file, which is made where it is missing; where it cannot be used, answers undefined, and has removed one that is damaged. */
function connect(file: string): Connection | undefined {
  try {
    mkdirSync(dirname(file), { recursive: true });
    const database = new DatabaseSync(file, { timeout: 5000 });
    // What a loss of power leaves half written does not prove itself later on.
    database.exec('PRAGMA synchronous = OFF; CREATE TABLE IF NOT EXISTS entries (name TEXT PRIMARY KEY, text TEXT)');
    return {
      database,
      read: database.prepare('SELECT text FROM entries WHERE name = ?'),
      write: database.prepare('INSERT OR REPLACE INTO entries (name, text) VALUES (?, ?)'),
      keepOnly: database.prepare('DELETE FROM entries WHERE name NOT IN (SELECT value FROM json_each(?))'),
    };
  } catch (error) {
    removeDamaged(file, error);
    return undefined;
  }
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
