/** What a statement may be given. */
export type Value = string | number | null;

/** A row of an answer, by the names its columns were given in the statement. */
export type Row = Readonly<Record<string, unknown>>;

/**
 * Runs one statement, whose values stand as `$1`, `$2` and so on, and answers its rows. Whole numbers come back as
 * numbers. Throws a {@link StoreError} where the database cannot be reached or refuses.
 */
export type Query = (sql: string, values?: readonly Value[]) => Promise<Row[]>;

/** A database that is open and has the tables of this version. */
export interface Database {
  readonly query: Query;
  readonly close: () => Promise<void>;
}

/** Where SQLite and PostgreSQL do not speak the same SQL; all other statements are written once for both. */
export interface Dialect {
  /** The types of a whole number of 64 bits, of text that is ordered by code point, and of a growing primary key. */
  readonly integer: string;
  readonly text: string;
  readonly sequence: string;
  /** What follows the columns of a new table. */
  readonly tableEnd: string;
  /** Answers one row where the table of migrations exists. */
  readonly findMigrations: string;
  /** Begins a transaction that waits until no other of its kind is open. */
  readonly beginMigration: readonly string[];
}
