import { Counter, Histogram } from '@prometheus-io/client';
import type { Registry } from '@prometheus-io/client';
import type { OnQuery } from '../store/index.ts';

/** Most calls take less than a millisecond with SQLite, and a few with PostgreSQL; they are given up after 10 s. */
const buckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** What a statement does to which table. */
interface Statement {
  readonly operation: string;
  readonly table: string;
}

/** Counts the calls of the store. The texts of statements are of this program, and hold no values. */
export function countQueries(registry: Registry): OnQuery {
  const labels = { labelNames: ['operation', 'table'] as const, registers: [registry] };
  const durations = new Histogram({
    name: 'hosting_api_store_call_duration_seconds',
    help: 'Time of calls of the store by operation and table, also of those that failed; one reads migrations once a second.',
    ...labels,
    buckets,
  });
  const errors = new Counter({
    name: 'hosting_api_store_errors_total',
    help: 'Calls of the store that failed, by operation and table.',
    ...labels,
  });
  const statements = new Map<string, Statement>();
  return (sql, ms, error) => {
    let statement = statements.get(sql);
    if (!statement) statements.set(sql, (statement = toStatement(sql)));
    durations.observe(statement, ms / 1000);
    errors.inc(statement, error === undefined ? 0 : 1);
  };
}

function toStatement(sql: string): Statement {
  const [, operation = 'other'] = /\b(select|insert|update|delete)\b/i.exec(sql) ?? [];
  const [, table = 'other'] = /\bhosting_(\w+)/.exec(sql) ?? [];
  return { operation: operation.toLowerCase(), table };
}
