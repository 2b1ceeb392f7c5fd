import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { EnvError } from '../../server/settings.ts';
import { StoreError } from '../../server/store/database.ts';
import { openStore } from '../../server/store/index.ts';
import { temporaryFolder } from '../helpers/project.ts';
import { auditSuite } from './audit-suite.ts';
import { damageSuite } from './damage-suite.ts';
import { recordsSuite } from './records-suite.ts';
import { apiKey, auditEntry } from './samples.ts';
import { sharingSuite } from './sharing-suite.ts';
import { createSqliteTarget, openTestStore, openWithQuery } from './target.ts';

describe('in a SQLite file', () => {
  recordsSuite(createSqliteTarget);
  auditSuite(createSqliteTarget);
  sharingSuite(createSqliteTarget);
  damageSuite(createSqliteTarget);

  test('creates its folder and files for their owner only', async () => {
    const folder = join(temporaryFolder(), 'a', 'data');
    const before = process.umask(0);
    onTestFinished(() => void process.umask(before));
    const store = await open(folder);
    await store.apiKeys.create(apiKey());
    expect(modeOf(folder)).toBe('700');
    for (const end of ['', '-wal', '-shm']) expect(modeOf(join(folder, `hosting.sqlite${end}`))).toBe('600');
  });

  test('can be read during a write', async () => {
    const { store, query } = await openWithQuery(createSqliteTarget);
    await store.apiKeys.create(apiKey());
    await query('BEGIN IMMEDIATE');
    await query(`UPDATE hosting_api_keys SET label = 'new'`);
    expect(await store.apiKeys.find('AbCdEfGhIj01')).toEqual(apiKey());
    await query('COMMIT');
    expect(await store.apiKeys.find('AbCdEfGhIj01')).toEqual(apiKey({ label: 'new' }));
  });

  test('refuses a call at once if 1,000 calls wait for a lock, which then run in order', async () => {
    const { store, query } = await openWithQuery(createSqliteTarget);
    await query('BEGIN IMMEDIATE');
    const waiting = Array.from({ length: 1001 }, (_, index) => store.audit.append(auditEntry({ at: index })));
    await expect(store.audit.append(auditEntry())).rejects.toThrow('too many calls wait for the lock');
    await query('ROLLBACK');
    await Promise.all(waiting);
    const written = await query('SELECT logged_at FROM hosting_audit ORDER BY id');
    expect(written.map(({ logged_at: at }) => at)).toEqual(Array.from({ length: 1001 }, (_, index) => index));
  });

  test('has all records in the main file within a minute of a write, and the WAL does not grow', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    const { file } = await prepare();
    expect(statSync(`${file}-wal`).size).toBeGreaterThan(0);
    vi.advanceTimersByTime(60_000);
    expect(statSync(`${file}-wal`).size).toBe(0);
    const copied = temporaryFolder();
    copyFileSync(file, join(copied, 'hosting.sqlite'));
    const copy = await open(copied);
    expect(await copy.apiKeys.list()).toEqual([apiKey()]);
  });

  test.each<[string, (file: string) => void]>([
    ['deleted', (file) => rmSync(file)],
    ['moved away', (file) => renameSync(file, `${file}.old`)],
    [
      'replaced',
      (file) => {
        copyFileSync(file, `${file}.copy`);
        renameSync(`${file}.copy`, file);
      },
    ],
    ['cut off from its WAL', (file) => rmSync(`${file}-wal`)],
    ['cut off from its shared memory', (file) => rmSync(`${file}-shm`)],
  ])('refuses every call after its file was %s, without creating a new file', async (_, harm) => {
    const { folder, store, file } = await prepare();
    harm(file);
    const before = readdirSync(folder);
    const message = /was deleted or replaced while open/;
    await expect(store.apiKeys.find('AbCdEfGhIj01')).rejects.toThrow(message);
    await expect(store.apiKeys.revoke('AbCdEfGhIj01', 1)).rejects.toThrow(message);
    expect(readdirSync(folder)).toEqual(before);
  });

  test('does not touch the files of a replacement when closed', async () => {
    const folder = temporaryFolder();
    const old = await openStore({ DATA_DIR: folder });
    await old.apiKeys.create(apiKey({ label: 'old' }));
    const file = join(folder, 'hosting.sqlite');
    for (const end of ['', '-wal', '-shm']) renameSync(file + end, `${file}.old${end}`);
    const store = await open(folder);
    await store.apiKeys.create(apiKey({ label: 'new' }));
    await old.close();
    expect(await store.apiKeys.list()).toEqual([apiKey({ label: 'new' })]);
    const again = await open(folder);
    expect(await again.apiKeys.list()).toEqual([apiKey({ label: 'new' })]);
  });

  test('works again after its file was moved back', async () => {
    const { store, file } = await prepare();
    renameSync(file, `${file}.old`);
    await expect(store.apiKeys.list()).rejects.toThrow(StoreError);
    renameSync(`${file}.old`, file);
    expect(await store.apiKeys.list()).toEqual([apiKey()]);
  });

  test('reports an unusable file and the reason', async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'hosting.sqlite'), 'not a database, but text of some length'.repeat(100));
    await expect(openStore({ DATA_DIR: folder })).rejects.toThrow(
      `the database ${join(folder, 'hosting.sqlite')} cannot be used: file is not a database`,
    );
    const file = join(folder, 'file');
    writeFileSync(file, '');
    await expect(openStore({ DATA_DIR: file })).rejects.toThrow(
      new EnvError('DATA_DIR: files cannot be created in this folder (EEXIST)'),
    );
    mkdirSync(join(folder, 'taken', 'hosting.sqlite'), { recursive: true });
    await expect(openStore({ DATA_DIR: join(folder, 'taken') })).rejects.toThrow('cannot be used: EISDIR');
  });

  test.runIf(process.getuid?.() === 0)('belongs to the owner of its folder, also if root creates it', async () => {
    const dataDir = temporaryFolder();
    chownSync(dataDir, 65_534, 65_534);
    const store = await open(dataDir);
    await store.apiKeys.create(apiKey());
    for (const end of ['', '-wal', '-shm']) {
      expect(statSync(join(dataDir, `hosting.sqlite${end}`))).toMatchObject({ uid: 65_534, gid: 65_534 });
    }
  });

  test('keeps the mode of an existing folder', async () => {
    const dataDir = temporaryFolder();
    chmodSync(dataDir, 0o750);
    await (await openStore({ DATA_DIR: dataDir })).close();
    expect(modeOf(dataDir)).toBe('750');
  });
});

function modeOf(path: string): string {
  return (statSync(path).mode & 0o777).toString(8);
}

const open = (folder: string) => openTestStore({ DATA_DIR: folder });

/** Opens a store with a key. */
async function prepare() {
  const folder = temporaryFolder();
  const store = await open(folder);
  await store.apiKeys.create(apiKey());
  return { folder, store, file: join(folder, 'hosting.sqlite') };
}
