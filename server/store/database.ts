import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { OperatorError } from '../problem.ts';
import { SharedSettings, integer } from '../settings.ts';

/** A parameter of a statement. */
export type Value = string | number | null;

/** A row of a result, by column name. */
export type Row = Readonly<Record<string, unknown>>;

/** Runs a statement with parameters `$1`, `$2`; safe integers are returned as numbers. Throws a {@link StoreError}. */
export type Query = (sql: string, values?: readonly Value[]) => Promise<Row[]>;

/** An open connection to a database, whose tables may have any version. */
export interface Connection {
  readonly query: Query;
  readonly close: () => Promise<void>;
}

/** An open database with the tables of this version, or of a compatible later version. */
export interface Database extends Connection {
  readonly dialect: Dialect;
  /** The versions of the tables before and after the start. */
  readonly versions: { readonly from: number; readonly to: number };
}

/** The differences between the SQL of SQLite and PostgreSQL; all other statements work on both. */
export interface Dialect {
  /** The types of a 64-bit integer, of text ordered by code point, and of an auto-increment primary key. */
  readonly integer: string;
  readonly text: string;
  readonly sequence: string;
  /** Begins a CREATE TABLE statement of a table that a crash may empty. */
  readonly createUnlogged: string;
  readonly tableEnd: string;
  /** Returns one row if the table of migrations exists. */
  readonly findMigrations: string;
  readonly beginMigration: readonly string[];
  /** Writes 8 KiB that need room on the disk, and keeps nothing. */
  readonly needRoom: readonly string[];
}

/**
 * The cause of a failed call: an invalid `statement`; a `duplicate` of a unique value; a `conflict` with another
 * transaction, which changed nothing; a call that was `refused` or took too long; a database that takes `no_writes`; a
 * connection that is `lost` or not possible.
 */
export type StoreFault = 'statement' | 'duplicate' | 'conflict' | 'refused' | 'no_writes' | 'lost';

/** The store cannot be used. The message is for operators, without secrets and records. */
export class StoreError extends OperatorError {
  readonly fault: StoreFault;
  constructor(message: string, fault: StoreFault = 'statement') {
    super(message);
    this.fault = fault;
  }
}

/** Returns true if the store is unreachable or takes no writes, which its health logs, not each caller. */
export const isUnreachable = (error: unknown): error is StoreError =>
  error instanceof StoreError && !['statement', 'duplicate', 'conflict'].includes(error.fault);

/** Runs work again after a conflict, up to 10 times: a conflict changes nothing. */
export async function retryConflicts<Result>(work: () => Promise<Result>, retries = 10): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (retries === 0 || !(error instanceof StoreError && error.fault === 'conflict')) throw error;
  }
  await delay(Math.random() * 20);
  return await retryConflicts(work, retries - 1);
}

/** Converts an integer of a database to a number, if exact. */
export const toSafeNumber = (value: bigint | string): bigint | string | number =>
  Number.isSafeInteger(Number(value)) ? Number(value) : value;

/** Returns a short reason for operators: the code of a system call, or the message of a library. */
export function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return code === undefined || code.startsWith('ERR_') ? message : code;
}

/** Splits a database URL with several hosts, as libpq writes it, into a URL for each host. */
export function toHostUrls(text: string): [string, ...string[]] {
  const [, start = '', hosts = text, rest = ''] =
    /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/s.exec(text) ?? [];
  return hosts.split(',').map((host) => `${start}${host}${rest}`) as [string, ...string[]];
}

/** Explains what is wrong with a database URL, without parts of it; undefined for a valid URL. */
function findUrlProblem(text: string): string | undefined {
  const urls = toHostUrls(text).map((url) => URL.parse(url));
  if (!urls.every((url) => ['postgres:', 'postgresql:'].includes(url?.protocol ?? '')))
    return 'must be a URL such as postgres://user:password@host/database';
  const { searchParams: query } = urls[0]!;
  const unsupported = ['load_balance_hosts', 'hostaddr'].find((name) => query.has(name));
  if (unsupported !== undefined) return `must not have ${unsupported}`;
  const list = ['host', 'port'].find((name) => query.getAll(name).join(',').includes(','));
  if (list !== undefined) return `must not have a list in ${list}=; write several hosts as host:5432,other:5432`;
  return ['read-write', 'primary', 'any', null].includes(query.get(attributes))
    ? undefined
    : `must have ${attributes}=read-write or primary (or any, for store backup alone)`;
}

/** The parameter of a database URL that chooses among hosts. */
export const attributes = 'target_session_attrs';

/** The settings of the store, named like their environment variables. */
export const StoreSettings = z.object({
  DATA_DIR: SharedSettings.shape.DATA_DIR,
  DATABASE_URL: z
    .string()
    .superRefine((text, context) => {
      const problem = findUrlProblem(text);
      if (problem !== undefined) context.addIssue(problem);
    })
    .optional()
    .describe(
      'A PostgreSQL database, `postgres://...`, which instances may share; the default is SQLite in `DATA_DIR`. Several ' +
        'hosts are written `host:5432,other:5432`.',
    ),
  DATABASE_CONNECTIONS: integer(2, 50)
    .default(8)
    .describe('The most connections that an instance opens to PostgreSQL; a command opens one.'),
});
export type StoreSettings = z.infer<typeof StoreSettings>;

/** Milliseconds since 1970. */
export const Time = z.int().nonnegative();

type Field = Value | boolean | readonly Value[];

/** Few enough to read and check within milliseconds. */
const pageSize = 500;

/** Opens a table: columns in snake case, lists as JSON. An invalid record is a {@link StoreError} with its `key`. */
export function openTable<Schema extends z.ZodType>(
  query: Query,
  name: string,
  key: readonly string[],
  record: Schema,
) {
  const parse = (row: Row): z.output<Schema> => {
    try {
      return record.parse(Object.fromEntries(Object.entries(row).map(([column, value]) => [toField(column), value])));
    } catch {
      const id = key.map((column) => String(row[column])).join(' ');
      throw new StoreError(`the record ${JSON.stringify(id)} of ${name} is corrupted`);
    }
  };
  const change = async (sql: string, values: readonly Field[]): Promise<boolean> => {
    const toStored = (value: Field): Value => (typeof value === 'boolean' ? Number(value) : (value as Value));
    const stored = values.map((value) => (Array.isArray(value) ? JSON.stringify(value) : toStored(value)));
    return (await query(`${sql} RETURNING ${key[0]}`, stored)).length > 0;
  };
  const insert = (fields: Readonly<Record<string, Field>>, onConflict = ''): Promise<boolean> => {
    const columns = Object.keys(fields).map(toColumn).join(', ');
    const marks = Object.keys(fields).map((_, at) => `$${at + 1}`);
    return change(`INSERT INTO ${name} (${columns}) VALUES (${marks.join(', ')}) ${onConflict}`, Object.values(fields));
  };
  return {
    parse,
    /** Selects records; `rest` follows the name of the table. */
    async select(rest: string, values: readonly Value[] = []): Promise<z.output<Schema>[]> {
      return (await query(`SELECT * FROM ${name} ${rest}`, values)).map(parse);
    },
    /** Selects all records by their key, in pages: other work may run in between. */
    async listAll(): Promise<z.output<Schema>[]> {
      const all: z.output<Schema>[] = [];
      for (let last = ''; ; last = String((all.at(-1) as Row)[key[0]!])) {
        const page = await this.select(`WHERE ${key[0]} > $1 ORDER BY ${key[0]} LIMIT ${pageSize}`, [last]);
        all.push(...page);
        if (page.length < pageSize) return all;
        await nextTurn();
      }
    },
    async find(rest: string, values: readonly Value[]): Promise<z.output<Schema> | undefined> {
      const [row] = await query(`SELECT * FROM ${name} ${rest} LIMIT 1`, values);
      return row && parse(row);
    },
    /** Runs a statement; returns whether a record changed. */
    change,
    /** Adds a record; returns false on a conflict that `onConflict` ignores. */
    insert,
    /** Adds a record or updates these fields of an existing record; returns false if that record fails the condition. */
    put(fields: Parameters<typeof insert>[0], condition = 'true'): Promise<boolean> {
      const set = Object.keys(fields).map((field) => `${toColumn(field)} = excluded.${toColumn(field)}`);
      return insert(fields, `ON CONFLICT (${key.join(', ')}) DO UPDATE SET ${set.join(', ')} WHERE ${condition}`);
    },
  };
}

const toField = (column: string): string => column.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
/** Converts the name of a field to the name of its column. */
export const toColumn = (field: string): string => field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
