import { z } from 'zod';
import type { Query, Row, Value } from './database.ts';
import { StoreError } from './error.ts';

/** Milliseconds since 1970. */
export const Time = z.int().nonnegative();

/**
 * A table whose columns are the fields of its records in snake case; a list is kept as JSON. `key` names the columns by
 * which messages name a record. A record that is not what it must be is a {@link StoreError}, which quotes nothing of it.
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
    /** The records that the rest of a SELECT statement chooses. */
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

/** A list, which its column holds as JSON. */
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
