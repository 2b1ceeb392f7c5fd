/** A parameter of a statement. */
export type Value = string | number | null;

/** A row of a result, by column name. */
export type Row = Readonly<Record<string, unknown>>;

/**
 * Runs one statement with parameters `$1`, `$2` and so on, and returns its rows. Safe integers are returned as numbers.
 * Throws a {@link StoreError} if the database cannot be reached or rejects the statement.
 */
export type Query = (sql: string, values?: readonly Value[]) => Promise<Row[]>;

/** An open database with the tables of this version. */
export interface Database {
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
