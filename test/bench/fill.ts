/**
 * Fills a store like that of a company with 5,000 customers, to measure starts, looks and commands:
 *
 *     DATA_DIR=/tmp/large node test/bench/fill.ts            # or DATABASE_URL=postgres://...
 *     SERVERS=20000 KEYS=20000 ENTRIES=2000000 VOTES=1000000 ...
 */
import { openStore, sqliteFileIn } from '../../server/store/index.ts';
import { readSettings } from '../../server/settings.ts';
import { StoreSettings } from '../../server/store/database.ts';
import type { Query } from '../../server/store/database.ts';
import { withConnection } from '../../server/store/postgres.ts';
import { connectSqlite } from '../../server/store/sqlite.ts';

const countOf = (name: string, preset: number): number => Number(process.env[name] ?? preset);
const [servers, keys] = [countOf('SERVERS', 10_000), countOf('KEYS', 20_000)];
const [entries, votes] = [countOf('ENTRIES', 2_000_000), countOf('VOTES', 1_000_000)];
const settings = readSettings(StoreSettings, process.env);
await (await openStore(settings)).close();
const { DATABASE_URL: url } = settings;

const day = 86_400_000;
const start = Date.now() - 300 * day;
const keyId = (number: string) => `'k' || substr(CAST(100000000000 + ${number} AS TEXT), 2)`;
/** Inserts a row for each number n from 1. */
const insert = (table: string, columns: string, values: string, count: number): string =>
  `INSERT INTO ${table} (${columns})
    WITH RECURSIVE series (n) AS (SELECT CAST(1 AS BIGINT) UNION ALL SELECT n + 1 FROM series WHERE n < ${count})
    SELECT ${values} FROM series`;
const statements = [
  insert('hosting_servers', 'server, provider, ref', `'vps:c' || n, 'cloud', CAST(100000 + n AS TEXT)`, servers),
  insert(
    'hosting_api_keys',
    'id, secret_hash, label, servers, scopes, created_at',
    `${keyId('n')}, '${'0'.repeat(64)}', 'customer ' || n, '["vps:c' || (n % ${servers} + 1) || '"]',
      '["vps-power:read_write"]', ${start} + n`,
    keys,
  ),
  // Two entries for each action.
  insert(
    'hosting_audit',
    'logged_at, phase, action_id, key_id, action, server, request_id, ip, outcome, ms',
    `${start} + n * ${Math.floor((300 * day) / entries)}, CASE WHEN n % 2 = 1 THEN 'requested' ELSE 'finished' END,
      'a' || ((n + 1) / 2), ${keyId(`((n + 1) / 2 * 7919) % ${keys} + 1`)}, 'start', 'vps:c' || (n % ${servers} + 1),
      'r' || ((n + 1) / 2), '192.0.2.1', CASE WHEN n % 2 = 0 THEN 'ok' END, CASE WHEN n % 2 = 0 THEN 9 END`,
    entries,
  ),
  insert(
    'hosting_feedback',
    'path, day, helpful, unhelpful',
    `'/knowledgebase/vps/' || (n % 3000), CAST(2000000 + n / 3000 AS TEXT), 3, 1`,
    votes,
  ),
];
/** Statements that create the indexes of the audit log: with them, each row would take ten times as long. */
const findIndexes =
  url === undefined
    ? `SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'hosting_audit'`
    : `SELECT indexname AS name, indexdef AS sql FROM pg_indexes
        WHERE tablename = 'hosting_audit' AND indexname NOT LIKE '%_pkey'`;

async function fill(query: Query): Promise<void> {
  const indexes = await query(findIndexes);
  const drops = indexes.map(({ name }) => `DROP INDEX ${String(name)}`);
  for (const sql of [...drops, ...statements, ...indexes.map((index) => String(index['sql'])), 'ANALYZE']) {
    const began = performance.now();
    await query(sql);
    console.log(`${Math.round(performance.now() - began)} ms  ${sql.slice(0, 60).replaceAll(/\s+/g, ' ')}`);
  }
}

if (url === undefined) {
  const { query, close } = await connectSqlite(sqliteFileIn(settings.DATA_DIR));
  for (const pragma of ['synchronous = OFF', 'cache_size = -400000', 'temp_store = MEMORY'])
    await query(`PRAGMA ${pragma}`);
  await fill(query);
  await close();
} else {
  await withConnection(url, fill, 600_000);
}
