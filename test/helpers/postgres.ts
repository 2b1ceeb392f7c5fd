import { execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { findFreePort } from './free-port.ts';
import { describeInstalled } from './installed.ts';

/** A real PostgreSQL server without databases. */
export type PostgresServer = Awaited<ReturnType<typeof startPostgres>>;

const password = 'correct-horse-battery';

/** Groups tests that share a PostgreSQL server. */
export function describePostgres(body: (server: () => PostgresServer) => void): void {
  const program = {
    name: 'PostgreSQL',
    package: 'postgresql',
    commands: ['initdb', 'postgres'],
    // Debian's folders are not in the PATH.
    folders: '/usr/lib/postgresql/*/bin',
    start: startPostgres,
    stop: (server: PostgresServer) => server.stop(),
  };
  describeInstalled(program, body);
}

async function startPostgres(binaries: string) {
  const folder = mkdtempSync(join(tmpdir(), 'hosting-api-postgres-'));
  const data = join(folder, 'data');
  // PostgreSQL refuses to run as root.
  const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  if (user.uid !== undefined) chownSync(folder, user.uid, user.gid);
  execFileSync('cp', ['-a', createTemplate(join(binaries, 'initdb'), folder, user), data]);
  const port = await findFreePort();
  const settings = { listen_addresses: '127.0.0.1', port, unix_socket_directories: '', fsync: 'off' };
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const url = (database: string) => `postgres://postgres:${password}@127.0.0.1:${port}/${database}`;
  let child: ChildProcess;
  const start = async (): Promise<void> => {
    let log = '';
    child = spawn(join(binaries, 'postgres'), ['-D', data, ...flags], { ...user, cwd: folder });
    child.stdout!.resume();
    child.stderr!.on('data', (chunk: Buffer) => (log += chunk.toString()));
    while (!(await answers(url('postgres')))) {
      if (child.exitCode !== null) throw new Error(`PostgreSQL did not start:\n${log}`);
      await delay(50);
    }
  };
  const end = async (signal: 'SIGINT' | 'SIGKILL'): Promise<void> => {
    const exited = once(child, 'exit');
    child.kill(signal);
    await exited;
  };
  const killed = () => child.kill('SIGQUIT');
  process.once('exit', killed);
  await start();
  let databases = 0;
  return {
    port,
    password,
    /** Returns the superuser's URL of a database. */
    url,
    async createDatabase(): Promise<string> {
      const name = `test${(databases += 1)}`;
      await withClient(url('postgres'), async (client) => {
        const version = await client.query<{ version: number }>(
          `SELECT current_setting('server_version_num')::int AS version`,
        );
        // An ICU locale sorts names like a dictionary; the store's order must not depend on the locale.
        const locale = version.rows[0]!.version >= 150_000 ? `LOCALE_PROVIDER icu ICU_LOCALE 'en'` : '';
        await client.query(`CREATE DATABASE ${name} TEMPLATE template0 ${locale}`);
      });
      return url(name);
    },
    /** Ends the server process: SIGINT disconnects all clients, SIGKILL is a crash. */
    end,
    /** Restarts the server on the same port and data. */
    start,
    /** Restarts the server as a standby, which takes no writes, until it is promoted. */
    async demote(): Promise<void> {
      await end('SIGINT');
      writeFileSync(join(data, 'standby.signal'), '');
      await start();
    },
    promote: () => withClient(url('postgres'), (client) => client.query('SELECT pg_promote()')),
    async stop(): Promise<void> {
      if (child.exitCode === null && child.signalCode === null) await end('SIGINT');
      process.off('exit', killed);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** An empty data folder. `initdb`, which takes a second of CPU, runs once for all servers of a run. */
function createTemplate(initdb: string, folder: string, user: { uid?: number; gid?: number }): string {
  // Other versions of PostgreSQL refuse the folder.
  const template = join(tmpdir(), `hosting-api-initdb-${Math.round(statSync(initdb).mtimeMs)}`);
  if (existsSync(template)) return template;
  const [made, passwordFile] = [join(folder, 'template'), join(folder, 'password')];
  writeFileSync(passwordFile, password, { mode: 0o644 });
  const options = ['--username=postgres', `--pwfile=${passwordFile}`, '--auth=scram-sha-256', '--encoding=UTF8'];
  const flags = [...options, '--no-locale', '--no-sync', `--pgdata=${made}`];
  execFileSync(initdb, flags, { ...user, cwd: folder, stdio: 'pipe' });
  try {
    renameSync(made, template);
  } catch {
    // Another process created the folder first.
    rmSync(made, { recursive: true });
  }
  return template;
}

/** Runs a function with a new connection. */
export async function withClient<Result>(url: string, work: (client: Client) => Promise<Result>): Promise<Result> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Reads all rows of all tables of a database. */
export function readTables(url: string): Promise<Record<string, unknown>[]> {
  return withClient(url, async (client) => {
    const tables = await client.query<{ name: string }>(
      `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'`,
    );
    const rows = [];
    for (const { name } of tables.rows) {
      rows.push(...(await client.query<Record<string, unknown>>(`SELECT * FROM ${name}`)).rows);
    }
    return rows;
  });
}

async function answers(url: string): Promise<boolean> {
  try {
    await withClient(url, (client) => client.query('SELECT 1'));
    return true;
  } catch {
    return false;
  }
}

/** Makes a server refuse or accept writes, like a managed database whose disk is full. */
export async function setReadOnly(url: string, to: 'on' | 'off'): Promise<void> {
  await withClient(url, async (client) => {
    await client.query('SET default_transaction_read_only = off');
    await client.query(`ALTER SYSTEM SET default_transaction_read_only = ${to}`);
    await client.query('SELECT pg_reload_conf()');
  });
}
