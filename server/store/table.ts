import { z } from 'zod';
import type { Query, Row, Value } from './database.ts';
import { StoreError } from './database.ts';

/** Milliseconds since 1970. */
export const Time = z.int().nonnegative();

/** A SHA-256 in hexadecimal. */
export const Hash = z.string().regex(/^[0-9a-f]{64}$/);

/**
 * Opens a table whose columns are the fields of its records in snake case; lists are stored as JSON. Messages identify a
 * record by the `key` columns. An invalid record is a {@link StoreError}, which quotes only its key.
 */
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
  return {
    parse,
    /** Selects records; `rest` follows the table name in the SELECT statement. */
    async select(rest: string, values: readonly Value[] = []): Promise<z.output<Schema>[]> {
      return (await query(`SELECT * FROM ${name} ${rest}`, values)).map(parse);
    },
    async insert(fields: Readonly<Record<string, Value | readonly Value[]>>): Promise<void> {
      const columns = Object.keys(fields).map(toColumn).join(', ');
      const values = Object.values(fields).map((value) =>
        value !== null && typeof value === 'object' ? JSON.stringify(value) : value,
      );
      await query(
        `INSERT INTO ${name} (${columns}) VALUES (${values.map((_, at) => `$${at + 1}`).join(', ')})`,
        values,
      );
    },
  };
}

/** The schema of a list that is stored as JSON. */
export const jsonList = <Item extends z.ZodType>(item: Item) =>
  z
    .string()
    .transform((text): unknown => JSON.parse(text))
    .pipe(z.array(item).readonly());

function toField(column: string): string {
  return column.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}

function toColumn(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
