/**
 * Fills a store like that of a company with 5,000 customers, to measure starts, looks and commands:
 *
 *     DATA_DIR=/tmp/large node test/bench/fill.ts            # or DATABASE_URL=postgres://...
 *     SERVERS=20000 KEYS=20000 ENTRIES=2000000 VOTES=1000000 ...
 */
import { openStore, sqliteFileIn } from '../../server/store/index.ts';
import { readSettings } from '../../server/settings.ts';
import { StoreSettings } from '../../server/store/database.ts';
import { withConnection } from '../../server/store/postgres.ts';
import { connectSqlite } from '../../server/store/sqlite.ts';

const countOf = (name: string, preset: number): number => Number(process.env[name] ?? preset);
const [servers, keys] = [countOf('SERVERS', 10_000), countOf('KEYS', 20_000)];
const [entries, votes] = [countOf('ENTRIES', 2_000_000), countOf('VOTES', 1_000_000)];
const settings = readSettings(StoreSettings, process.env);
await (await openStore(settings)).close();

const { DATABASE_URL: url } = settings;
/** Numbers from 1, as a table `series (n)`. */
const series = (count: number): string =>
  url === undefined
    ? `(WITH RECURSIVE series (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM series WHERE n < ${count}) SELECT n FROM series) AS series`
    : `generate_series(1, ${count}) AS series (n)`;
const day = 86_400_000;
const start = Date.now() - 300 * day;
const hash = `'${'0'.repeat(64)}'`;
const key = `'k' || substr('00000000000' || ((n * 7919) % ${keys} + 1), -11)`.replace(
  /substr\((.*), -11\)/,
  url === undefined ? 'substr($1, -11)' : 'right($1, 11)',
);
const statements = [
  `INSERT INTO hosting_servers (server, provider, ref) SELECT 'vps:c' || n, 'cloud', CAST(100000 + n AS TEXT) FROM ${series(servers)}`,
  `INSERT INTO hosting_api_keys (id, secret_hash, label, servers, scopes, created_at)
    SELECT ${key.replace('(n * 7919)', '(n - 1)')}, ${hash}, 'customer ' || n, '["vps:c' || (n % ${servers} + 1) || '"]',
      '["vps-power:read_write"]', ${start} + n FROM ${series(keys)}`,
  `INSERT INTO hosting_audit (logged_at, phase, action_id, key_id, action, server, request_id, ip, outcome, ms)
    SELECT ${start} + n * CAST(${Math.floor((300 * day) / entries)} AS BIGINT),
      CASE WHEN n % 2 = 1 THEN 'requested' ELSE 'finished' END, 'a' || ((n + 1) / 2), ${key}, 'start',
      'vps:c' || (n % ${servers} + 1), 'r' || ((n + 1) / 2), '192.0.2.1',
      CASE WHEN n % 2 = 1 THEN NULL ELSE 'ok' END, CASE WHEN n % 2 = 1 THEN NULL ELSE 9 END FROM ${series(entries)}`,
  `INSERT INTO hosting_feedback (path, day, helpful, unhelpful)
    SELECT '/knowledgebase/vps/' || (n % 3000), CAST(2000000 + n / 3000 AS TEXT), 3, 1 FROM ${series(votes)}`,
  'ANALYZE',
];
const run = async (query: (sql: string) => Promise<unknown>): Promise<void> => {
  for (const sql of statements) {
    const began = performance.now();
    await query(sql);
    console.log(`${Math.round(performance.now() - began)} ms  ${sql.slice(0, 60).replaceAll(/\s+/g, ' ')}`);
  }
};
if (url === undefined) {
  const { query, close } = await connectSqlite(sqliteFileIn(settings.DATA_DIR));
  await run(query);
  await close();
} else {
  await withConnection(url, run, 600_000);
}
