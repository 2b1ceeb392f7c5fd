import { z } from 'zod';

/** A parameter of a statement. */
export type Value = string | number | null;

/** A row of a result, by column name. */
export type Row = Readonly<Record<string, unknown>>;

/**
 * Runs one statement with parameters `$1`, `$2` and so on, and returns its rows. Safe integers are returned as numbers.
 * Throws a {@link StoreError}: a `StoreUnreachableError` unless the statement does not fit the tables.
 */
export type Query = (sql: string, values?: readonly Value[]) => Promise<Row[]>;

/** The versions of the tables before and after the start. */
export interface MigratedVersions {
  readonly from: number;
  readonly to: number;
}

/** An open database with the tables of this version, or of a later one that only added to them. */
export interface Database {
  readonly versions: MigratedVersions;
  readonly query: Query;
  readonly close: () => Promise<void>;
}

/** The differences between the SQL of SQLite and PostgreSQL; all other statements work on both. */
export interface Dialect {
  /** The types of a 64-bit integer, of text ordered by code point, and of an auto-increment primary key. */
  readonly integer: string;
  readonly text: string;
  readonly sequence: string;
  /** Begins a CREATE TABLE statement of a table that a crash may empty. */
  readonly createUnlogged: string;
  /** The end of a CREATE TABLE statement. */
  readonly tableEnd: string;
  /** Returns one row if the table of migrations exists. */
  readonly findMigrations: string;
  /** Begins a transaction that waits for other migrations. */
  readonly beginMigration: readonly string[];
}

/** The store cannot be used. The message is for operators, and holds no secret and no record. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
}

/** The database does not answer, or refuses a statement. The health of the store reports it, not each caller. */
export class StoreUnreachableError extends StoreError {
  constructor(message: string) {
    // The message names the cause. A stack for each failed call would fill the log.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message);
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** The settings of the store, named as their environment variables. */
export const StoreSettings = z.object({
  DATA_DIR: z.string().default('.data').describe('Where SQLite and the logs of local servers are kept.'),
  DATABASE_URL: z
    .string()
    .refine(
      (text) => ['postgres:', 'postgresql:'].includes(URL.parse(text)?.protocol ?? ''),
      'must be a URL such as postgres://user:password@host/database',
    )
    .optional()
    .describe('A PostgreSQL database, `postgres://...`, which instances may share; without it, SQLite in `DATA_DIR`.'),
});
export type StoreSettings = z.infer<typeof StoreSettings>;
