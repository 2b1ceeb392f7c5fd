import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { StoreError } from '../../server/store/database.ts';
import { migrate, migrations } from '../../server/store/migrations.ts';
import type { Migration } from '../../server/store/migrations.ts';
import { apiKey, claim, rotateKey } from './samples.ts';
import { openTwice, openWithQuery, runWorkers } from './target.ts';
import type { CreateTarget } from './target.ts';

const t0 = 1_800_000_000_000;

/** Tests several stores and processes on a shared database, for every kind of store. */
export function sharingSuite(createTarget: CreateTarget): void {
  test('another store sees each write at its next call', async () => {
    const [one, other] = await openTwice(createTarget);
    await one.apiKeys.create(apiKey());
    expect(await other.apiKeys.find('AbCdEfGhIj01')).toEqual(apiKey());
    await other.apiKeys.revoke('AbCdEfGhIj01', t0);
    expect(await one.apiKeys.find('AbCdEfGhIj01')).toMatchObject({ revokedAt: t0 });
    await other.close();
    expect(await one.apiKeys.list()).toHaveLength(1);
  });

  test('exactly one of 100 concurrent callers of two stores begins', async () => {
    const stores = await openTwice(createTarget);
    for (const [round, now] of [t0, t0 + 25 * 60 * 60 * 1000].entries()) {
      // In the second round, the expired record of the first round is replaced.
      const states = await Promise.all(
        Array.from({ length: 100 }, (_, index) =>
          stores[index % 2]!.idempotency.begin(
            claim({ fingerprint: `${round}-${index}`, requestId: `request-${index}`, now, deadline: now + 20_000 }),
          ),
        ),
      );
      const winners = states.flatMap(({ state }, index) => (state === 'begun' ? [`${round}-${index}`] : []));
      expect(winners).toHaveLength(1);
      for (const state of states) {
        if (state.state === 'begun') continue;
        const [winner] = winners;
        const requestId = `request-${winner!.split('-')[1]}`;
        expect(state).toEqual({ state: 'running', fingerprint: winner, requestId, deadline: now + 20_000 });
      }
    }
  });

  test('exactly one of 100 concurrent callers in four processes begins', async () => {
    const target = await createTarget();
    await target.open();
    const jobs = Array.from({ length: 4 }, () => ({ action: 'begin', count: 25 }));
    const begun = (await runWorkers(target, jobs)) as number[];
    expect(begun.reduce((sum, count) => sum + count)).toBe(1);
  });

  test('exactly one of 40 concurrent callers in four processes creates the key of a label', async () => {
    const target = await createTarget();
    const store = await target.open();
    const jobs = Array.from({ length: 4 }, () => ({ action: 'createIfAbsent', count: 10 }));
    for (const round of [1, 2]) {
      const created = (await runWorkers(target, jobs)) as number[];
      expect(created.reduce((sum, count) => sum + count)).toBe(1);
      const keys = await store.apiKeys.list();
      expect(keys).toHaveLength(round);
      // The key of the first round is revoked: the second round creates another.
      await Promise.all(keys.map(({ id }) => store.apiKeys.revoke(id, t0)));
    }
  });

  test('exactly one of 70 concurrent changes of a key as it was read is made, and one of 70 servers has a ref', async () => {
    const stores = await openTwice(createTarget);
    await stores[0].apiKeys.create(apiKey());
    const server = { provider: 'panel', ref: '1a7ce997', logFile: null };
    const made = await Promise.all(
      Array.from({ length: 70 }, async (_, at) => {
        const { apiKeys, servers } = stores[at % 2]!;
        const secretHash = at.toString(16).padStart(64, 'a');
        const isRotated = await apiKeys.update(
          'AbCdEfGhIj01',
          { secretHash, previousHash: 'a'.repeat(64), previousUntil: t0 },
          apiKey(),
        );
        return { isRotated, isAdded: await servers.add({ server: `game:${at}`, ...server }) };
      }),
    );
    expect(made.filter(({ isRotated }) => isRotated)).toHaveLength(1);
    expect(made.filter(({ isAdded }) => isAdded)).toHaveLength(1);
    await expect(stores[0].servers.put({ server: 'game:70', ...server })).rejects.toMatchObject({ fault: 'duplicate' });
  });

  test('processes that start concurrently on an empty database all start', async () => {
    const target = await createTarget();
    const jobs = Array.from({ length: 6 }, () => ({ action: 'open' }));
    expect(await runWorkers(target, jobs)).toEqual(jobs.map(() => []));
    const query = await target.connect();
    expect(await query('SELECT version FROM hosting_migrations')).toHaveLength(migrations.length);
  });

  test('a write that waits for another process does not block the event loop', async () => {
    const { store, free } = await openLocked(createTarget);
    let ticks = 0;
    let longest = 0;
    let last = performance.now();
    const clock = setInterval(() => {
      ticks += 1;
      longest = Math.max(longest, performance.now() - last);
      last = performance.now();
    }, 5);
    let done = false;
    const revoked = store.apiKeys.revoke('AbCdEfGhIj01', t0).finally(() => (done = true));
    await delay(1500);
    expect(done).toBe(false);
    clearInterval(clock);
    expect(ticks).toBeGreaterThan(5);
    expect(longest).toBeLessThan(1400);
    await free();
    expect(await revoked).toBe(true);
  });

  test('storing a use does not wait for a lock, and completes after the lock is released', async () => {
    const { store, free } = await openLocked(createTarget);
    const started = performance.now();
    await store.apiKeys.touch('AbCdEfGhIj01', t0);
    expect(performance.now() - started).toBeLessThan(3000);
    expect(await store.apiKeys.find('AbCdEfGhIj01')).toMatchObject({ lastUsedAt: null });
    await free();
    await expect.poll(() => store.apiKeys.find('AbCdEfGhIj01')).toMatchObject({ lastUsedAt: t0 });
  });

  test('a closed store refuses calls and may be closed again', async () => {
    const store = await (await createTarget()).open();
    await store.close();
    await expect(store.apiKeys.list()).rejects.toThrow(StoreError);
    await store.close();
  });

  test('migrations run in order, each once, even over several connections', async () => {
    const target = await createTarget();
    const list: Migration[] = [
      ({ text, tableEnd }) => [`CREATE TABLE hosting_test (name ${text})${tableEnd}`],
      () => [`INSERT INTO hosting_test (name) VALUES ('second')`],
      ({ integer }) => [
        `ALTER TABLE hosting_test ADD COLUMN size ${integer}`,
        'UPDATE hosting_test SET size = COALESCE(size, 0) + 1',
      ],
    ];
    const connections = await Promise.all(Array.from({ length: 4 }, () => target.connect()));
    await migrate(connections[0]!, target.dialect, list.slice(0, 1));
    await Promise.all(connections.map((query) => migrate(query, target.dialect, list)));
    const rows = await connections[0]!('SELECT name, size FROM hosting_test');
    expect(rows.map(({ name, size }) => [name, Number(size)])).toEqual([['second', 1]]);
    const versions = await connections[0]!('SELECT version FROM hosting_migrations ORDER BY version');
    expect(versions.map(({ version }) => Number(version))).toEqual([1, 2, 3]);
  });

  test('records of the previous version are kept, except for the signing secret of stream tokens', async () => {
    const target = await createTarget();
    const query = await target.connect();
    await migrate(query, target.dialect, migrations.slice(0, 2));
    await query(`INSERT INTO hosting_servers (server, provider, ref) VALUES ('game:a', 'panel', 'r')`);
    await query(`INSERT INTO hosting_secrets (name, value) VALUES ('console-stream', 'the-signing-secret')`);
    await query(
      `INSERT INTO hosting_audit (logged_at, phase, key_id, action, server, request_id, ip)
        VALUES (${t0}, 'requested', 'AbCdEfGhIj01', 'start', 'game:a', 'one', '::1')`,
    );
    const store = await target.open();
    expect(await store.servers.list()).toMatchObject([{ server: 'game:a', suspendedAt: null }]);
    expect(await Array.fromAsync(store.audit.entries({}))).toMatchObject([{ requestId: 'one', actor: null }]);
    await expect(query('SELECT name FROM hosting_secrets')).rejects.toThrow('hosting_secrets');
  });

  test('a failed migration is rolled back to the last version', async () => {
    const target = await createTarget();
    const query = await target.connect();
    const list: Migration[] = [
      ({ text, tableEnd }) => [`CREATE TABLE hosting_test (name ${text})${tableEnd}`],
      () => [`INSERT INTO hosting_test (name) VALUES ('half')`, 'INSERT INTO hosting_none (name) VALUES (1)'],
    ];
    await expect(migrate(query, target.dialect, list)).rejects.toThrow('hosting_none');
    expect(await query('SELECT name FROM hosting_test')).toEqual([]);
    expect((await query('SELECT version FROM hosting_migrations')).map(({ version }) => Number(version))).toEqual([1]);
    await migrate(query, target.dialect, list.slice(0, 1));
  });

  test('a database of a newer version is used if compatible, and otherwise refused', async () => {
    const target = await createTarget();
    const query = await target.connect();
    const own = migrations.length;
    const adds: Migration = Object.assign<Migration, object>(
      ({ text, tableEnd }) => [
        `CREATE TABLE hosting_made_up (name ${text})${tableEnd}`,
        `ALTER TABLE hosting_api_keys ADD COLUMN made_up ${text}`,
      ],
      { minVersion: own },
    );
    await migrate(query, target.dialect, [...migrations, adds]);
    const store = await target.open();
    await store.apiKeys.create(apiKey());
    expect(await rotateKey(store.apiKeys, 'AbCdEfGhIj01', 'b'.repeat(64), t0)).toBe(true);
    expect(await store.apiKeys.list()).toMatchObject([{ id: 'AbCdEfGhIj01', secretHash: 'b'.repeat(64) }]);

    const removes: Migration = Object.assign<Migration, object>(() => ['DROP TABLE hosting_made_up'], {
      minVersion: own + 1,
    });
    await migrate(query, target.dialect, [...migrations, adds, removes]);
    await expect(target.open()).rejects.toThrow(
      `a newer version of this program wrote the database (tables of version ${own + 2}, supported up to ` +
        `${own}): update the program, or restore the backup from before the update`,
    );
    // A later compatible version does not change this.
    await migrate(query, target.dialect, [...migrations, adds, removes, Object.assign(() => [], { minVersion: own })]);
    await expect(target.open()).rejects.toThrow(`version ${own + 3}, supported up to ${own}`);
  });

  test('a database of a newer version is refused without a change', async () => {
    const target = await createTarget();
    await (await target.open()).apiKeys.create(apiKey());
    const query = await target.connect();
    await query('INSERT INTO hosting_migrations (version, applied_at) VALUES (99, 0)');
    await expect(target.open()).rejects.toThrow(
      'a newer version of this program wrote the database (tables of version 99, supported up to ' +
        `${migrations.length}): update the program, or restore the backup from before the update`,
    );
    expect(await query('SELECT id FROM hosting_api_keys')).toHaveLength(1);
  });
}

/** Opens a store with a key and locks its record, or the database without row locks, until `free`. */
async function openLocked(createTarget: CreateTarget) {
  const { target, store, query } = await openWithQuery(createTarget);
  await store.apiKeys.create(apiKey());
  await query(target.dialect.beginMigration[0]!);
  await query(`UPDATE hosting_api_keys SET label = 'locked'`);
  return { store, free: () => query('ROLLBACK') };
}
