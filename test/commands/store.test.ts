import { execFileSync } from 'node:child_process';
import fs, {
  chownSync,
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { basename, dirname, join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createSecret } from '../../server/keys/authorize.ts';
import type { NamedResult } from '../../server/doctor/run.ts';
import { migrate, migrations } from '../../server/store/migrations.ts';
import { connectSqlite, sqliteDialect } from '../../server/store/sqlite.ts';
import type { Store } from '../../server/store/types.ts';
import { describePostgres, withClient } from '../helpers/postgres.ts';
import { temporaryFolder } from '../helpers/project.ts';
import { createCertificates } from '../helpers/upstream-tls.ts';
import { apiKey, auditEntry, claim, streamToken, childKey } from '../store/samples.ts';
import { createPostgresTarget, openTestStore } from '../store/target.ts';
import { createCommandLine, damage, refused, runCommand, runHere } from './run-command.ts';

const idsOf = async ({ audit }: Store): Promise<(string | null)[]> =>
  (await Array.fromAsync(audit.entries({}))).map(({ requestId }) => requestId);

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

const newFile = (): string => join(temporaryFolder(), 'backup.sqlite');

/** Backs up the store of these settings to a file or folder; returns the file. */
async function backUp(env: Readonly<Record<string, string>>, to = newFile()): Promise<string> {
  const { status, stdout, stderr } = await runHere(['store', 'backup', to], env);
  const name = env.DATABASE_URL === undefined ? '' : 'PostgreSQL database ';
  expect({ status, stderr }).toEqual({ status: 0, stderr: expect.stringContaining(`${name}is backed up`) });
  return stdout.trim();
}

const restore = (file: string, env: Readonly<Record<string, string>>) => runHere(['store', 'restore', file], env);

test('a backup during 1,000 writes is a consistent copy that can be restored', async () => {
  const { env, store } = await createCommandLine();
  const folder = temporaryFolder();
  const backup = join(folder, 'backup.sqlite');
  await store.apiKeys.create(apiKey());
  let running: ReturnType<typeof runCommand> | undefined;
  for (let count = 0; count < 1000; count += 1) {
    await store.audit.append(auditEntry({ at: count, requestId: `r-${count}` }));
    if (count === 100) running = runCommand(['store', 'backup', backup], { cwd: folder, env });
  }
  const result = await running!;
  expect(result).toEqual({ status: 0, stdout: `${backup}\n`, stderr: expect.stringContaining('is backed up') });
  expect(modeOf(backup)).toBe('600');
  // A single file, without a WAL.
  expect(readdirSync(folder)).toEqual(['backup.sqlite']);

  const DATA_DIR = join(temporaryFolder(), 'data');
  const restored = await restore(backup, { DATA_DIR });
  expect(restored).toMatchObject({ status: 0, stderr: expect.stringContaining('revoked') });
  expect(modeOf(join(DATA_DIR, 'hosting.sqlite'))).toBe('600');
  const copy = await openTestStore({ DATA_DIR });
  expect(await copy.apiKeys.list()).toEqual([apiKey()]);
  const ids = await idsOf(copy);
  expect(ids.length).toBeGreaterThan(100);
  expect(ids).toEqual(Array.from({ length: ids.length }, (_, index) => `r-${index}`));
});

describe('backup', () => {
  test('refuses to overwrite a file', async () => {
    const { run } = await createCommandLine();
    const file = newFile();
    writeFileSync(file, 'precious');
    expect(await run('store', 'backup', file)).toEqual(refused(`${file} exists: choose a new file\n`));
  });

  test('works on a file system without hard links, but never overwrites a file', async () => {
    const line = await createCommandLine();
    await line.store.apiKeys.create(apiKey());
    const link = vi.spyOn(fs, 'linkSync').mockImplementation(() => {
      throw Object.assign(new Error('operation not permitted'), { code: 'EPERM' });
    });
    syncBuiltinESMExports();
    onTestFinished(() => {
      link.mockRestore();
      syncBuiltinESMExports();
    });
    const file = await backUp(line.env);
    expect([readdirSync(dirname(file)), modeOf(file)]).toEqual([[basename(file)], '600']);
    expect(await line.run('store', 'backup', file)).toEqual(refused(`${file} exists: choose a new file\n`));
    const DATA_DIR = temporaryFolder();
    expect((await restore(file, { DATA_DIR })).status).toBe(0);
    expect(readdirSync(DATA_DIR)).toEqual(['hosting.sqlite']);
    expect(await (await openTestStore({ DATA_DIR })).apiKeys.list()).toEqual([apiKey()]);
    expect(link).toHaveBeenCalledTimes(2);
  });

  test('refuses a folder without a store, and creates no store', async () => {
    const DATA_DIR = join(temporaryFolder(), 'data');
    expect(await runHere(['store', 'backup', newFile()], { DATA_DIR })).toEqual(
      refused(`there is no database ${join(DATA_DIR, 'hosting.sqlite')}\n`),
    );
    expect(readdirSync(dirname(DATA_DIR))).toEqual([]);
  });

  test('in a folder keeps the newest backups, and removes no other file', async () => {
    const { run } = await createCommandLine();
    const folder = join(temporaryFolder(), 'backups');
    const first = await run('store', 'backup', folder, '--keep', '2');
    expect(first).toMatchObject({ status: 0, stdout: expect.stringMatching(/\/hosting-[\d-]{17}\.sqlite\n$/) });
    expect(modeOf(folder)).toBe('700');
    rmSync(first.stdout.trim());
    const others = ['hosting-2026-01-01-000000.sqlite.part', 'last-2026-01-01-000000.sqlite', 'notes'];
    const old = [
      'hosting-2026-01-01-000000.dump',
      'hosting-2026-01-02-000000.sqlite',
      'hosting-2026-01-03-000000.dump',
    ];
    for (const name of [...others, ...old]) writeFileSync(join(folder, name), '');
    const { stdout } = await run('store', 'backup', folder, '--keep', '2');
    expect(new Set(readdirSync(folder))).toEqual(new Set([basename(stdout.trim()), old[2], ...others]));
    expect(await run('store', 'backup', folder, '--keep', '0')).toEqual(
      refused('--keep must be the number of backups to keep, at least 1\n'),
    );
    expect(await run('store', 'backup', join(folder, 'notes'), '--keep', '2')).toEqual(
      refused(`${join(folder, 'notes')} cannot be created as a folder: EEXIST\n`),
    );
  });

  test('reports a missing folder, and leaves no partial file', async () => {
    const { run, env } = await createCommandLine();
    const file = join(temporaryFolder(), 'missing', 'backup.sqlite');
    expect(await run('store', 'backup', file)).toEqual(
      refused(expect.stringContaining(`${file} cannot be written: ENOENT`)),
    );
    expect(readdirSync(env.DATA_DIR!).filter((name) => name.endsWith('.tmp'))).toEqual([]);
  });
});

/** Returns a function that backs up a store after these statements. */
const changedBy = (statements: string) => async (file: string) => {
  const line = await createCommandLine();
  damage(line, statements);
  await backUp(line.env, file);
};

async function makeDamaged(file: string): Promise<void> {
  const { env, store } = await createCommandLine();
  for (let count = 0; count < 200; count += 1) await store.audit.append(auditEntry({ detail: 'x'.repeat(60) }));
  await backUp(env, file);
  const damaged = openSync(file, 'r+');
  writeSync(damaged, Buffer.alloc(20 * 4096, 'noise'), 0, 20 * 4096, 5 * 4096);
  closeSync(damaged);
}

/** Makes a backup with a trigger that has a name of SQLite. */
async function makeHidden(file: string): Promise<void> {
  await backUp((await createCommandLine()).env, file);
  using database = new DatabaseSync(file);
  database.enableDefensive(false);
  database.exec('PRAGMA writable_schema = ON');
  const trigger = 'CREATE TRIGGER sqlite_planted AFTER INSERT ON hosting_audit BEGIN DELETE FROM hosting_audit; END';
  const insert = `INSERT INTO sqlite_schema VALUES ('trigger', 'sqlite_planted', 'hosting_audit', 0, ?)`;
  database.prepare(insert).run(trigger);
}

describe('restore', () => {
  test.each(['hosting.sqlite', 'hosting.sqlite-wal', 'hosting.sqlite-shm'])(
    'refuses a folder that has a %s',
    async (name) => {
      const backup = await backUp((await createCommandLine()).env);
      const DATA_DIR = temporaryFolder();
      writeFileSync(join(DATA_DIR, name), '');
      expect(await restore(backup, { DATA_DIR })).toEqual(
        refused(
          `${join(DATA_DIR, name)} exists: stop the server, and move the old database with its -wal and -shm files away\n`,
        ),
      );
      expect(readdirSync(DATA_DIR)).toEqual([name]);
    },
  );

  const holds = 'the backup has the unknown';
  test.each<[string, (file: string) => unknown, string]>([
    ['is missing', () => undefined, 'ENOENT'],
    ['is a folder', (file) => mkdirSync(file), 'EISDIR'],
    ['is not a database', (file) => writeFileSync(file, 'text'.repeat(1000)), 'file is not a database'],
    ['is empty', (file) => writeFileSync(file, ''), 'the database is not a store of this program'],
    ['is a FIFO', (file) => execFileSync('mkfifo', [file]), 'the file is not a regular file'],
    ['is a device', (file) => symlinkSync('/dev/zero', file), 'the file is not a regular file'],
    ['is a link', (file) => symlinkSync(resolve('package.json'), file), 'the file is not a regular file'],
    ['is damaged', makeDamaged, ''],
    [
      'has a trigger',
      changedBy('CREATE TRIGGER planted AFTER INSERT ON hosting_audit BEGIN DELETE FROM hosting_audit; END'),
      `${holds} trigger planted`,
    ],
    ['hides a trigger', makeHidden, `${holds} trigger sqlite_planted`],
    ['has a view', changedBy('CREATE VIEW planted AS SELECT 1'), `${holds} view planted`],
    [
      'has an unknown column',
      changedBy('ALTER TABLE hosting_servers ADD COLUMN planted TEXT'),
      `${holds} table hosting_servers.planted`,
    ],
    [
      'has a table with SQL as its name',
      changedBy('CREATE TABLE "hosting_x; DROP TABLE y" (id TEXT)'),
      `${holds} table hosting_x; DROP TABLE y`,
    ],
    [
      'has a column that tables do not list',
      changedBy('ALTER TABLE hosting_servers ADD COLUMN planted TEXT GENERATED ALWAYS AS (ref) VIRTUAL'),
      `${holds} table hosting_servers.planted`,
    ],
    ['lacks a table', changedBy('DROP TABLE hosting_feedback'), 'the backup lacks the table hosting_feedback'],
  ])('refuses a backup that %s before writing anything', async (_, make, reason) => {
    const file = newFile();
    await make(file);
    const DATA_DIR = temporaryFolder();
    expect(await restore(file, { DATA_DIR })).toEqual(
      refused(expect.stringContaining(`${file} cannot be restored: ${reason}`)),
    );
    expect(readdirSync(DATA_DIR)).toEqual([]);
  });

  test('refuses a backup of a newer version', async () => {
    const file = newFile();
    await changedBy('INSERT INTO hosting_migrations (version, applied_at) VALUES (99, 0)')(file);
    expect(await restore(file, { DATA_DIR: temporaryFolder() })).toEqual(
      refused(expect.stringContaining('update the program')),
    );
  });
});

/** Expects that a store is migrated to the newest version, and not changed by a second migration. */
async function expectMigration(env: Readonly<Record<string, string>>, from: number): Promise<void> {
  for (const stdout of [
    `the store is migrated from version ${from} to ${migrations.length}\n`,
    `the store has version ${migrations.length}: nothing to do\n`,
  ]) {
    expect(await runHere(['store', 'migrate'], env)).toMatchObject({ status: 0, stdout });
  }
}

describe('migrate', () => {
  test('migrates a store of the previous version, and restore brings the old store back', async () => {
    const dataDir = temporaryFolder();
    const file = join(dataDir, 'hosting.sqlite');
    const before = migrations.slice(0, -1);
    const old = await connectSqlite(file);
    await migrate(old.query, sqliteDialect, before);
    await old.query(`INSERT INTO hosting_servers (server, provider, ref) VALUES ('game:survival', 'panel', 'a')`);
    const dump = () => old.query('SELECT server, provider, ref FROM hosting_servers');
    const was = await dump();
    const env = { DATA_DIR: dataDir };
    const backup = await backUp(env);
    await expectMigration(env, before.length);
    expect(await dump()).toEqual(was);
    await old.close();

    for (const end of ['', '-wal', '-shm']) rmSync(file + end, { force: true });
    expect((await restore(backup, env)).status).toBe(0);
    const back = await connectSqlite(file);
    onTestFinished(back.close);
    // The previous version accepts the store without a change.
    await migrate(back.query, sqliteDialect, before);
    expect(await back.query('SELECT version FROM hosting_migrations')).toHaveLength(before.length);
    expect(await back.query('SELECT server, provider, ref FROM hosting_servers')).toEqual(was);
  });

  test('warns of servers with the same provider and ref until they are confirmed', async () => {
    const env = { DATA_DIR: temporaryFolder() };
    const old = await connectSqlite(join(env.DATA_DIR, 'hosting.sqlite'));
    await migrate(old.query, sqliteDialect, migrations.slice(0, 8));
    const id = '1a7ce997-259b-452e-8b4e-cecc464142ca';
    const refs = { 'vps:a': '1', 'vps:b': '1', 'vps:c': '2', 'game:a': id, 'game:b': '1A7CE997', 'game:c': '1a7ce998' };
    for (const [server, ref] of Object.entries(refs)) {
      const provider = server.startsWith('vps') ? 'fsn' : 'panel';
      await old.query('INSERT INTO hosting_servers (server, provider, ref) VALUES ($1, $2, $3)', [
        server,
        provider,
        ref,
      ]);
    }
    await old.close();
    expect((await runHere(['store', 'migrate'], env)).stderr).toBe(
      `warning: game:a and another server have ref ${id} of provider panel\n` +
        'warning: game:b and another server have ref 1A7CE997 of provider panel\n' +
        'warning: vps:a and another server have ref 1 of provider fsn\n' +
        'warning: vps:b and another server have ref 1 of provider fsn\n',
    );
    const shared = async () => {
      const { stdout } = await runHere(['doctor', '--json'], { ...env, DIST_DIR: env.DATA_DIR });
      return (JSON.parse(stdout) as NamedResult[]).filter(({ check }) => check === 'shared servers');
    };
    const confirm = ['servers', 'add', 'vps:a', '--provider', 'fsn', '--ref', '1', '--replace', '--shared'];
    expect(await shared()).toMatchObject([
      { state: 'fault', seen: `game:a and game:b are one server: ${id} and 1A7CE997` },
      { state: 'fault', seen: `game:b and game:a are one server: 1A7CE997 and ${id}` },
      {
        state: 'fault',
        seen: 'vps:a and vps:b have the same provider and ref',
        advice: expect.stringContaining('--replace --shared'),
      },
      { state: 'fault', seen: 'vps:b and vps:a have the same provider and ref' },
    ]);
    expect((await runHere(['servers', 'remove', 'game:b'], env)).status).toBe(0);
    expect((await runHere(confirm, env)).status).toBe(0);
    expect(await shared()).toMatchObject([{ seen: 'vps:b and vps:a have the same provider and ref' }]);
    expect((await runHere(['servers', 'remove', 'vps:a'], env)).status).toBe(0);
    expect(await shared()).toMatchObject([{ state: 'ok' }]);
  });
});

describePostgres((server) => {
  /** Creates a PostgreSQL store with a key and an entry of the audit log; returns its URL. */
  async function createSmall(): Promise<string> {
    const url = await server().createDatabase();
    const store = await openTestStore({ DATABASE_URL: url });
    await store.apiKeys.create(apiKey());
    await store.audit.append(auditEntry());
    return url;
  }

  /** Backs up a PostgreSQL store to a new folder; returns the file. */
  const dump = (url: string) => backUp({ DATABASE_URL: url }, temporaryFolder());

  const restoreTo = (DATABASE_URL: string, file: string) => restore(file, { DATABASE_URL });

  const pgRestored = {
    status: 0,
    stdout: 'the PostgreSQL database is restored\n',
    stderr: expect.stringContaining('revoked'),
  };

  test('a backup of PostgreSQL is restored into an existing or a new database', async () => {
    const backup = await dump(await createSmall());
    expect(backup).toMatch(/\/hosting-\d{4}-\d{2}-\d{2}-\d{6}\.dump$/);
    expect(modeOf(backup)).toBe('600');
    expect(readdirSync(dirname(backup))).toEqual([basename(backup)]);
    for (const url of [await server().createDatabase(), server().url(`not there's ${Date.now()}`)]) {
      expect(await restoreTo(url, backup)).toEqual(pgRestored);
      const copy = await openTestStore({ DATABASE_URL: url });
      expect(await copy.apiKeys.list()).toEqual([apiKey()]);
      expect(await idsOf(copy)).toEqual(['a-request']);
      expect(await restoreTo(url, backup)).toEqual(
        refused(
          expect.stringMatching(/^the PostgreSQL database is not empty \(hosting_\w+\): choose an empty database\n$/),
        ),
      );
    }
    expect(await restore(backup, { DATA_DIR: temporaryFolder() })).toEqual(
      refused(`${backup} is a backup of PostgreSQL: set DATABASE_URL\n`),
    );
  });

  test.each([
    ['PostgreSQL', async () => dump(await createSmall())],
    ['SQLite', () => createFilled()],
  ])('a user who may not create the database of a %s backup gets the command to run', async (kind, make) => {
    const backup = await make();
    const name = `limited_${kind.toLowerCase()}_${Date.now()}`;
    await withClient(server().url('postgres'), (client) =>
      client.query(`CREATE ROLE ${name} LOGIN PASSWORD 'hunter2'`),
    );
    const url = `postgres://${name}:hunter2@127.0.0.1:${server().port}/${name}`;
    const { status, stderr } = await restoreTo(url, backup);
    const [, command = ''] = /^the server has no database \w+, which the user may not create: run (.*)\n$/.exec(
      stderr,
    )!;
    expect({ status, command }).toEqual({
      status: 1,
      command: `createdb --host=127.0.0.1 --port=${server().port} --username=postgres --owner=${name} ${name}`,
    });
    execFileSync('sh', ['-c', command], { env: { ...process.env, PGPASSWORD: server().password } });
    expect(await restoreTo(url, backup)).toMatchObject({ status: 0 });
  });

  test('no argument of pg_dump and no message contains the password', async () => {
    const url = await createSmall();
    const folder = temporaryFolder();
    const path = process.env['PATH']!;
    const stub = `#!/bin/sh\necho "$@" > ${folder}/seen\nPATH=${path} exec pg_dump "$@"\n`;
    writeFileSync(join(folder, 'pg_dump'), stub, { mode: 0o755 });
    const run = (DATABASE_URL: string, PATH: string) =>
      runHere(['store', 'backup', join(folder, 'backup')], { DATABASE_URL, PATH });
    expect(await run(url, temporaryFolder())).toEqual(
      refused('pg_dump is not installed here: apt-get install postgresql-client\n'),
    );
    const wrong = await run(url.replace(server().password, 'hunter2'), path);
    expect(wrong).toEqual(refused(expect.stringContaining('password authentication failed')));
    expect(wrong.stderr).not.toContain('hunter2');
    expect(readdirSync(folder)).toEqual(['pg_dump']);
    const inQuery = url.replace(`:${server().password}`, '').concat(`?password=${server().password}&connect_timeout=5`);
    for (const one of [url, inQuery]) {
      expect((await run(one, `${folder}:${path}`)).status).toBe(0);
      const seen = readFileSync(join(folder, 'seen'), 'utf8');
      expect(seen).toContain('--format=custom');
      expect(seen).not.toContain(server().password);
      rmSync(join(folder, 'backup'));
    }
  });

  test('backup takes every URL that the server takes', async () => {
    const url = await createSmall();
    const { ca, cert, key } = createCertificates();
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'ca.pem'), ca);
    await withClient(url, async (client) => {
      const { rows } = await client.query<{ path: string }>(`SELECT current_setting('data_directory') AS path`);
      const data = rows[0]!.path;
      const { uid, gid } = statSync(data);
      for (const [name, text] of Object.entries({ 'server.crt': cert, 'server.key': key })) {
        writeFileSync(join(data, name), text, { mode: 0o600 });
        if (process.getuid!() === 0) chownSync(join(data, name), uid, gid);
      }
      await client.query('ALTER SYSTEM SET ssl = on');
      await client.query('SELECT pg_reload_conf()');
    });
    const queries = ['?sslmode=no-verify', '?ssl=0', '?uselibpqcompat=true&sslmode=require', '?application_name=50%'];
    for (const query of [...queries, '?statement_timeout=3000&keepAlive=true&encoding=utf8']) {
      const env = { DATABASE_URL: url + query };
      expect({ query, ...(await runHere(['keys', 'list'], env)) }).toMatchObject({ query, status: 0 });
      await backUp(env);
    }
    // Node.js reads this file once, at its start.
    const env = { NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem'), DATABASE_URL: `${url}?sslmode=verify-full` };
    for (const args of [
      ['keys', 'list'],
      ['store', 'backup', 'backup.dump'],
    ])
      expect(await runCommand(args, { cwd: folder, env })).toMatchObject({ status: 0 });
  });

  test('restore refuses a backup of PostgreSQL with foreign objects', async () => {
    const url = await createSmall();
    await withClient(url, (client) =>
      client.query(
        `CREATE FUNCTION grab() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
          CREATE TRIGGER grab BEFORE INSERT ON hosting_audit FOR EACH ROW EXECUTE FUNCTION grab()`,
      ),
    );
    const backup = await dump(url);
    const target = server().url(`target_${Date.now()}`);
    expect(await restoreTo(target, backup)).toEqual(
      refused(expect.stringContaining('the backup has the unknown TRIGGER public hosting_audit grab')),
    );
    const noise = join(temporaryFolder(), 'noise');
    writeFileSync(noise, 'noise');
    expect(await restoreTo(target, noise)).toEqual(
      refused(`${noise} cannot be restored: the file is not a backup of SQLite or pg_dump\n`),
    );
    expect(await restoreTo(target, `${noise}-x`)).toEqual(refused(`${noise}-x cannot be restored: ENOENT\n`));
    await expect(withClient(target, () => Promise.resolve())).rejects.toThrow('does not exist');
  });

  /** Backs up a SQLite store with records in each table. */
  async function createFilled(): Promise<string> {
    const line = await createCommandLine();
    const { store } = line;
    await store.apiKeys.createIfAbsent(apiKey({ previousHash: 'b'.repeat(64) }));
    await store.childKeys.create(childKey());
    await store.servers.put({ server: 'game:survival', provider: 'panel', ref: "it's ; DROP", logFile: 'a\\b.log' });
    await store.servers.suspend('game:survival', 1_800_000_000_001);
    await store.audit.append(auditEntry({ detail: '"é\n🙂"' }));
    // More than a statement copies; the newest entry and another are removed.
    const columns = 'logged_at, phase, key_id, action, server, request_id, ip, outcome, ms, detail, actor, action_id';
    damage(
      line,
      `WITH RECURSIVE more(n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM more WHERE n < 2501)
       INSERT INTO hosting_audit (${columns}) SELECT ${columns.replace('request_id', "'r-' || n")} FROM more, hosting_audit;
       DELETE FROM hosting_audit WHERE request_id IN ('r-7', 'r-2501')`,
    );
    await store.feedback.count({ path: '/blog/news/first', day: '2026-11-20', helpful: true });
    await store.idempotency.begin(claim());
    await store.streamTokens.add(streamToken());
    const token = { label: 'billing', rights: ['servers' as const], networks: [], expiresAt: null };
    await store.operators.create(createSecret('ho', token).record);
    return backUp(line.env);
  }

  /** Reads all rows of a backup by table. */
  function readBackup(backup: string): Record<string, unknown[]> {
    using database = new DatabaseSync(backup, { readOnly: true });
    const all = (sql: string) => database.prepare(sql).all();
    const tables = all(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'hosting%'`);
    const names = tables.map(({ name }) => String(name));
    const rowsOf = (name: string) => all(`SELECT * FROM ${name} ORDER BY rowid`).map((row) => ({ ...row }));
    return Object.fromEntries(names.map((name) => [name, rowsOf(name)]));
  }

  test('restore imports every row of a SQLite backup into a new database and continues its ids', async () => {
    const backup = await createFilled();
    const url = server().url(`new_${Date.now()}`);
    const { status, stdout, stderr } = await restoreTo(url, backup);
    expect({ status, stderr }).toEqual({ status: 0, stderr: expect.stringContaining('revoked') });
    const [, ...lines] = stdout.trim().split('\n');
    const counts = Object.fromEntries(lines.map((line) => line.split(/ +/))) as Record<string, string>;
    const { hosting_migrations: versions, ...others } = readBackup(backup);
    const { hosting_limits: limits, hosting_health: health, ...tables } = others;
    expect([versions!.length, limits, health]).toEqual([migrations.length, [], []]);
    expect(counts).toEqual(Object.fromEntries(Object.entries(tables).map(([name, rows]) => [name, `${rows.length}`])));
    expect(Object.values(tables).map(({ length }) => length)).not.toContain(0);
    const query = await (await createPostgresTarget(url)).connect();
    const sorted = (rows: unknown[]): string[] => rows.map((row) => JSON.stringify(row)).toSorted();
    for (const [name, rows] of Object.entries(tables)) {
      const imported = await query(`SELECT to_json(${name}) AS row FROM ${name}`);
      expect(sorted(imported.map(({ row }) => row))).toEqual(sorted(rows));
    }

    const store = await openTestStore({ DATABASE_URL: url });
    await store.audit.append(auditEntry({ requestId: 'next' }));
    await store.streamTokens.add(streamToken({ tokenHash: 'f'.repeat(64) }));
    // 2501 was the id of a removed entry.
    expect(await query(`SELECT id FROM hosting_audit WHERE request_id = 'next'`)).toEqual([{ id: 2502 }]);
    expect(await query('SELECT id FROM hosting_stream_tokens ORDER BY id')).toEqual([{ id: 1 }, { id: 2 }]);
  });

  test('restore refuses a database with records, and changes nothing', async () => {
    const backup = await createFilled();
    const url = await server().createDatabase();
    const store = await openTestStore({ DATABASE_URL: url });
    await store.servers.put({ server: 'game:mine', provider: 'panel', ref: 'a', logFile: null });
    expect(await restoreTo(url, backup)).toEqual(
      refused('the PostgreSQL database has records (in hosting_servers): choose an empty database\n'),
    );
    expect(await store.apiKeys.list()).toEqual([]);
    expect(await idsOf(store)).toEqual([]);
  });

  test('a restore that fails in the middle leaves the database empty', async () => {
    const backup = await createFilled();
    const url = await server().createDatabase();
    const target = await createPostgresTarget(url);
    await openTestStore({ DATABASE_URL: url });
    const query = await target.connect();
    await query(`ALTER TABLE hosting_stream_tokens ADD CONSTRAINT no_tokens CHECK (id > 1000)`);
    expect(await restoreTo(url, backup)).toMatchObject(
      refused('the PostgreSQL database cannot be used: error 23514\n'),
    );
    expect(
      await query('SELECT (SELECT COUNT(*) FROM hosting_api_keys) + (SELECT COUNT(*) FROM hosting_audit) AS n'),
    ).toEqual([{ n: 0 }]);
  });

  test('restore migrates a backup of an older version without changing the file', async () => {
    const dataDir = temporaryFolder();
    const old = await connectSqlite(join(dataDir, 'hosting.sqlite'));
    await migrate(old.query, sqliteDialect, migrations.slice(0, 4));
    await old.query(`INSERT INTO hosting_servers (server, provider, ref) VALUES ('game:survival', 'panel', 'a')`);
    const backup = await backUp({ DATA_DIR: dataDir });
    await old.close();
    const url = await server().createDatabase();
    expect((await restoreTo(url, backup)).status).toBe(0);
    const store = await openTestStore({ DATABASE_URL: url });
    expect(await store.servers.find('game:survival')).toMatchObject({ ref: 'a' });
    expect(readBackup(backup)['hosting_migrations']).toHaveLength(4);
  });

  test('restore refuses a damaged backup of SQLite before changing the database', async () => {
    const backup = newFile();
    writeFileSync(backup, `SQLite format 3\0${'noise'.repeat(1000)}`);
    const url = await server().createDatabase();
    expect(await restoreTo(url, backup)).toMatchObject(
      refused(expect.stringContaining(`${backup} cannot be restored: `)),
    );
    const query = await (await createPostgresTarget(url)).connect();
    expect(await query(`SELECT tablename FROM pg_tables WHERE schemaname = 'public'`)).toEqual([]);
  });

  test('migrate reports a store that is up to date', async () => {
    const url = await server().createDatabase();
    await expectMigration({ DATABASE_URL: url }, 0);
  });
});
