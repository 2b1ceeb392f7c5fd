import { connect, createServer } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createInstallation } from '../../doctor/installation.ts';
import { listen } from '../../helpers/free-port.ts';
import { describePostgres, setReadOnly, withClient } from '../../helpers/postgres.ts';

/** Starts a proxy that delays the answers of a database. */
async function delayed(databaseUrl: string, ms: number): Promise<string> {
  const url = new URL(databaseUrl);
  const target = { host: url.hostname, port: Number(url.port) };
  const server = createServer((client) => {
    const upstream = connect(target);
    client.pipe(upstream);
    upstream.on('data', (chunk) => void setTimeout(() => client.writable && client.write(chunk), ms));
    client.on('close', () => upstream.destroy()).on('error', () => undefined);
    upstream.on('close', () => client.destroy()).on('error', () => undefined);
  });
  onTestFinished(() => void server.close());
  url.port = String(await listen(server));
  return url.href;
}

describePostgres((server) => {
  test('an installation with PostgreSQL has no fault, before and after its first start', async () => {
    const url = await server().createDatabase();
    const empty = await createInstallation();
    const early = await empty.examine({ DATABASE_URL: url });
    expect(early.faults).toEqual([]);
    expect(early.findings).toContainEqual({
      check: 'tables',
      state: 'ok',
      seen: 'no tables yet: the first start creates them',
    });
    const tables = await withClient(url, (client) =>
      client.query(`SELECT 1 FROM pg_tables WHERE tablename LIKE 'hosting%'`),
    );
    expect(tables.rows).toEqual([]);

    const installation = await createInstallation(url);
    await installation.start();
    const { faults, findings } = await installation.examine();
    expect(faults).toEqual([]);
    const seen = findings.filter(({ check }) =>
      ['store', 'tables', 'clock of the store', 'rights in the store'].includes(check),
    );
    expect(seen.map(({ check, state, seen: text }) => `${check}: ${state}: ${text}`)).toEqual([
      expect.stringMatching(/^store: ok: PostgreSQL [\d.]+, answers in \d+ ms$/),
      expect.stringMatching(/^clock of the store: ok: agrees with the database within \d s$/),
      expect.stringMatching(/^tables: ok: version \d+$/),
      'rights in the store: ok: reads, writes, and creates tables',
    ]);
  });

  test('a clock that is an hour behind is a single fault, although the store and an upstream show it', async () => {
    const installation = await createInstallation(await server().createDatabase());
    await installation.start();
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 3_600_000 });
    onTestFinished(() => void vi.useRealTimers());
    const { faults } = await installation.examine();
    expect(faults).toMatchObject([
      {
        check: 'clock of the store',
        seen: expect.stringMatching(/^the database is 3[56]\d\d s ahead of this machine$/),
      },
    ]);
  });

  test.each([
    [1000, 20, 'ok', 'agrees with the database within 3 s'],
    // The answer takes 400 ms, so half of it is allowed.
    [-1900, 400, 'ok', 'agrees with the database within 3 s'],
    [5000, 20, 'fault', 'the database is 5 s ahead of this machine'],
    [-90_000, 20, 'fault', 'the database is 90 s behind this machine'],
  ])('a clock of a database that is %d ms off, with %d ms for an answer, is %s', async (ms, delayMs, state, seen) => {
    const url = await server().createDatabase();
    const installation = await createInstallation();
    const { now } = Date;
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => now() - ms);
    onTestFinished(() => clock.mockRestore());
    const { findings } = await installation.examine({ DATABASE_URL: await delayed(url, delayMs) });
    expect(findings).toContainEqual(expect.objectContaining({ check: 'clock of the store', state, seen }));
  });

  test('a database user without the right to write is a fault; without the right to create tables, a hint', async () => {
    const url = await server().createDatabase();
    const installation = await createInstallation(url);
    const user = `limited_${Date.now()}`;
    await withClient(url, async (client) => {
      await client.query(`CREATE ROLE ${user} LOGIN PASSWORD 'hunter2'`);
      await client.query('REVOKE CREATE ON SCHEMA public FROM PUBLIC');
      await client.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ${user}`);
    });
    const limited = new URL(url);
    limited.username = user;
    limited.password = 'hunter2';
    const hinted = await installation.examine({ DATABASE_URL: limited.href });
    expect(hinted.faults).toEqual([]);
    expect(hinted.findings).toContainEqual({
      check: 'rights in the store',
      state: 'ok',
      seen: 'reads and writes, but cannot create tables',
      advice: expect.stringMatching(/store -- migrate/),
    });
    await withClient(url, (client) => client.query(`REVOKE INSERT ON hosting_audit FROM ${user}`));
    const refused = await installation.examine({ DATABASE_URL: limited.href });
    expect(refused.faults).toMatchObject([
      { check: 'rights in the store', seen: 'the user of DATABASE_URL cannot read and write hosting_audit' },
    ]);
    limited.password = 'hunter3';
    const wrong = await installation.examine({ DATABASE_URL: limited.href });
    expect(wrong.faults).toMatchObject([
      { check: 'store', seen: expect.stringMatching(/refuses the user or the password \(28P01\)$/) },
    ]);
    expect(wrong.findings).toContainEqual({ check: 'servers', state: 'skipped', seen: 'the store cannot be read' });
    expect(JSON.stringify([hinted, refused, wrong])).not.toMatch(/hunter|correct-horse/);
  });

  test('a database that takes no writes is a single fault, which explains an unready server', async () => {
    const url = await server().createDatabase();
    const installation = await createInstallation(url);
    const app = await installation.start();
    await setReadOnly(url, 'on');
    onTestFinished(() => setReadOnly(url, 'off'));
    const ready = async (): Promise<number> => (await fetch(`${app.url}/ready`)).status;
    await expect.poll(ready).toBe(503);
    const { faults, findings } = await installation.examine();
    expect(faults).toMatchObject([
      { check: 'store', seen: 'the database takes no writes: default_transaction_read_only is on' },
    ]);
    const seen = '/ready answers 503: the store has a fault';
    expect(findings).toContainEqual({ check: 'server', state: 'skipped', seen });
  });

  test('a distant database and a stopped database are faults', async () => {
    const url = await server().createDatabase();
    const installation = await createInstallation(url);
    const slow = await installation.examine({ DATABASE_URL: await delayed(url, 250) });
    expect(slow.faults).toMatchObject([
      {
        check: 'store',
        seen: expect.stringMatching(/^PostgreSQL \S+, answers in \d{3,} ms: too slow for rate limits shared/),
      },
    ]);
    const gone = new URL(url);
    gone.port = '1';
    const { faults } = await installation.examine({ DATABASE_URL: gone.href });
    expect(faults).toMatchObject([
      { check: 'store', seen: expect.stringMatching(/cannot be reached \(ECONNREFUSED\)$/) },
    ]);
    expect(JSON.stringify([slow, faults])).not.toContain('correct-horse');
  });
});
