import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { openStore } from '../../../server/store/index.ts';
import { auditSuite } from '../../store/audit-suite.ts';
import { damageSuite } from '../../store/damage-suite.ts';
import { describePostgres, withClient } from '../../helpers/postgres.ts';
import { recordsSuite } from '../../store/records-suite.ts';
import { apiKey } from '../../store/samples.ts';
import { sharingSuite } from '../../store/sharing-suite.ts';
import { createPostgresTarget, openTestStore } from '../../store/target.ts';

describePostgres((server) => {
  const createTarget = async () => createPostgresTarget(await server().createDatabase());
  recordsSuite(createTarget);
  auditSuite(createTarget);
  sharingSuite(createTarget);
  damageSuite(createTarget);

  test('reports the cause of a failed connection without any part of the URL', async () => {
    const { port, password } = server();
    const cases = {
      [`postgres://postgres:wrong-secret@127.0.0.1:${port}/postgres`]:
        'the server refuses the user or the password (28P01)',
      [`postgres://someone:${password}@127.0.0.1:${port}/postgres`]:
        'the server refuses the user or the password (28P01)',
      [`postgres://postgres:${password}@127.0.0.1:${port}/somewhere`]: 'the server does not have this database (3D000)',
      [`postgres://someone:${password}@127.0.0.1:1/somewhere`]: 'the server cannot be reached (ECONNREFUSED)',
      [`postgres://someone:${password}@[::1:99/somewhere`]: 'the server cannot be reached (ERR_INVALID_URL)',
      [`postgres://someone:${password}@127.0.0.1:${port}/somewhere?sslmode=verify-full`]:
        'The server does not support SSL connections',
      [`postgres://someone:${password}@127.0.0.1:${port}/somewhere?sslmode=verify-full&sslrootcert=/nowhere/ca.pem`]:
        'the server cannot be reached (ENOENT)',
    };
    for (const [url, reason] of Object.entries(cases)) {
      const error = await openStore({ DATA_DIR: '', DATABASE_URL: url }).then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      expect(error).toMatchObject({ name: 'StoreError', message: `the PostgreSQL database cannot be used: ${reason}` });
      const everything = inspect(error, { depth: null, showHidden: true });
      for (const part of ['wrong-secret', password, '127.0.0.1', 'someone', 'somewhere', 'nowhere']) {
        expect(everything).not.toContain(part);
      }
    }
  });

  test('reconnects after its connections are lost', async () => {
    const url = await server().createDatabase();
    const store = await openTestStore({ DATABASE_URL: url });
    await store.apiKeys.create(apiKey());
    await withClient(url, (client) =>
      client.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()'),
    );
    await expect.poll(() => store.apiKeys.list().catch(() => 'lost')).toEqual([apiKey()]);
  });

  test('ends a call that waits too long for a lock', async () => {
    const target = await createTarget();
    const store = await target.open();
    await store.apiKeys.create(apiKey());
    const query = await target.connect();
    await query('BEGIN');
    await query(`UPDATE hosting_api_keys SET label = 'locked'`);
    await expect(store.apiKeys.revoke('AbCdEfGhIj01', 1)).rejects.toThrow(
      'the PostgreSQL database cannot be used: canceling statement due to user request (57014)',
    );
    await query('ROLLBACK');
    expect(await store.apiKeys.revoke('AbCdEfGhIj01', 1)).toBe(true);
  });

  test('starts as a user without CREATE rights if the tables exist', async () => {
    const url = await server().createDatabase();
    await (await openTestStore({ DATABASE_URL: url })).close();
    await withClient(url, async (client) => {
      await client.query(`CREATE ROLE app LOGIN PASSWORD 'app-password'`);
      await client.query('REVOKE CREATE ON SCHEMA public FROM PUBLIC');
      await client.query('GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO app');
    });
    const DATABASE_URL = url.replace(`postgres:${server().password}@`, 'app:app-password@');
    const store = await openTestStore({ DATABASE_URL });
    await store.apiKeys.create(apiKey());
    expect(await store.apiKeys.list()).toEqual([apiKey()]);
  });
});
