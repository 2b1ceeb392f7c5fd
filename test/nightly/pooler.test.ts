import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openStore } from '../../server/store/index.ts';
import { runHere } from '../commands/run-command.ts';
import { createInstallation } from '../doctor/installation.ts';
import { findFreePort } from '../helpers/free-port.ts';
import { describeInstalled } from '../helpers/installed.ts';
import { describePostgres, withClient } from '../helpers/postgres.ts';
import { temporaryFolder } from '../helpers/project.ts';
import { apiKey } from '../store/samples.ts';
import { openTestStore } from '../store/target.ts';

describePostgres((server) => {
  describeInstalled({ name: 'PgBouncer', package: 'pgbouncer', commands: ['pgbouncer'] }, (folder) => {
    /** Starts PgBouncer in transaction mode in front of a database, by default with one connection. */
    async function startPooler(database: string, settings: Readonly<Record<string, string>> = {}): Promise<string> {
      const { port: to, pathname } = new URL(database);
      const home = temporaryFolder();
      chmodSync(home, 0o755);
      const port = await findFreePort();
      const own = {
        listen_addr: '127.0.0.1',
        listen_port: String(port),
        unix_socket_dir: '',
        auth_type: 'plain',
        auth_file: join(home, 'users'),
        pool_mode: 'transaction',
        default_pool_size: '1',
        ...settings,
      };
      writeFileSync(join(home, 'users'), `"postgres" "${server().password}"\n`);
      const target = `host=127.0.0.1 port=${to} user=postgres password=${server().password}`;
      const lines = ['[databases]', `${pathname.slice(1)} = ${target}`, '[pgbouncer]'];
      const file = join(home, 'pgbouncer.ini');
      writeFileSync(
        file,
        [...lines, ...Object.entries(own).map(([name, value]) => `${name} = ${value}`), ''].join('\n'),
      );
      // PgBouncer refuses to run as root.
      const user = process.getuid!() === 0 ? { uid: 65_534, gid: 65_534 } : {};
      const child = spawn(join(folder(), 'pgbouncer'), [file], { ...user, stdio: 'ignore' });
      const exited = once(child, 'exit');
      onTestFinished(async () => {
        child.kill('SIGINT');
        child.kill('SIGQUIT');
        await exited;
      });
      const url = Object.assign(new URL(database), { port: String(port) }).href;
      await expect
        .poll(() => withClient(url, (client) => client.query('SELECT 1')).then(() => 'ready', String))
        .toBe('ready');
      return url;
    }

    test('writes work through a pooler with one connection, also after the doctor, a backup and a restore', async () => {
      const url = await startPooler(await server().createDatabase());
      const installation = await createInstallation(url);
      const app = await installation.start();
      const headers = { Authorization: `Bearer ${await installation.world.issueKey()}` };
      const act = async (): Promise<number> =>
        (await app.request('/v1/hosting/game/power/mine/restart', { method: 'POST', headers })).status;
      expect(await act()).toBe(200);
      expect((await installation.examine()).faults).toEqual([]);
      expect(await act()).toBe(200);
      const backup = join(temporaryFolder(), 'backup.dump');
      expect((await runHere(['store', 'backup', backup], { DATABASE_URL: url })).status).toBe(0);
      expect(await act()).toBe(200);
      expect((await app.request('/ready')).status).toBe(200);

      const other = await startPooler(await server().createDatabase());
      expect(await runHere(['store', 'restore', backup], { DATABASE_URL: other })).toMatchObject({ status: 0 });
      const store = await openTestStore({ DATABASE_URL: other });
      await store.apiKeys.create(apiKey());
      expect(await store.apiKeys.list()).toHaveLength(3);
    });

    test('a statement that waits too long for a lock is cancelled through a pooler', async () => {
      const direct = await server().createDatabase();
      const url = await startPooler(direct);
      const store = await openTestStore({ DATABASE_URL: url });
      await store.apiKeys.create(apiKey());
      await withClient(direct, async (client) => {
        await client.query(`BEGIN; UPDATE hosting_api_keys SET label = 'locked'`);
        await expect(store.apiKeys.revoke('AbCdEfGhIj01', 1)).rejects.toThrow(
          'the PostgreSQL database cannot be used: canceling statement due to user request (57014)',
        );
        await client.query('ROLLBACK');
      });
      expect(await store.apiKeys.find('AbCdEfGhIj01')).toMatchObject({ revokedAt: null });
      expect(await store.apiKeys.revoke('AbCdEfGhIj01', 1)).toBe(true);
    });

    test('a message has what the pooler says, without parts of the URL', async () => {
      const direct = await server().createDatabase();
      const url = await startPooler(direct, { query_wait_timeout: '1' });
      const fail = (DATABASE_URL: string) => openStore({ DATA_DIR: '', DATABASE_URL }).catch((error: unknown) => error);
      expect(await fail(url.replace(/[^/]+$/, 'elsewhere'))).toEqual(
        expect.objectContaining({ message: 'the PostgreSQL database cannot be used: no such database: *** (08P01)' }),
      );
      // The only connection of the pooler is busy.
      await withClient(url, async (client) => {
        await client.query('BEGIN');
        expect(await fail(url)).toEqual(
          expect.objectContaining({ message: 'the PostgreSQL database cannot be used: query_wait_timeout (08P01)' }),
        );
      });
    });
  });
});
