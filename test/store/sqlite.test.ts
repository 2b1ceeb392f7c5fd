import { chmodSync, chownSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { EnvError } from '../../server/settings.ts';
import { StoreError } from '../../server/store/error.ts';
import { openStore } from '../../server/store/index.ts';
import { temporaryFolder } from '../helpers/project.ts';
import { auditSuite } from './audit-suite.ts';
import { damageSuite } from './damage-suite.ts';
import { feedbackSuite } from './feedback-suite.ts';
import { recordsSuite } from './records-suite.ts';
import { apiKey } from './samples.ts';
import { sharingSuite } from './sharing-suite.ts';
import { createSqliteTarget } from './target.ts';

describe('in a SQLite file', () => {
  recordsSuite(createSqliteTarget);
  auditSuite(createSqliteTarget);
  feedbackSuite(createSqliteTarget);
  sharingSuite(createSqliteTarget);
  damageSuite(createSqliteTarget);

  test('creates its folder and files for their owner only', async () => {
    const folder = join(temporaryFolder(), 'a', 'data');
    const before = process.umask(0);
    onTestFinished(() => void process.umask(before));
    const store = await openStore({ DATA_DIR: folder });
    onTestFinished(() => store.close());
    await store.apiKeys.create(apiKey());
    expect(modeOf(folder)).toBe('700');
    for (const end of ['', '-wal', '-shm']) expect(modeOf(join(folder, `hosting.sqlite${end}`))).toBe('600');
  });

  test('keeps its records after it is closed', async () => {
    const dataDir = temporaryFolder();
    const store = await openStore({ DATA_DIR: dataDir });
    await store.apiKeys.create(apiKey());
    const secret = await store.secret('console');
    await store.close();
    const again = await openStore({ DATA_DIR: dataDir });
    onTestFinished(() => again.close());
    expect(await again.apiKeys.list()).toEqual([apiKey()]);
    expect(await again.secret('console')).toBe(secret);
  });

  test('can be read during a write', async () => {
    const target = await createSqliteTarget();
    const store = await target.open();
    await store.apiKeys.create(apiKey());
    const query = await target.connect();
    await query('BEGIN IMMEDIATE');
    await query(`UPDATE hosting_api_keys SET label = 'new'`);
    expect(await store.apiKeys.find('AbCdEfGhIj01')).toEqual(apiKey());
    await query('COMMIT');
    expect(await store.apiKeys.find('AbCdEfGhIj01')).toEqual(apiKey({ label: 'new' }));
  });

  test('reports which file cannot be used, and why', async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'hosting.sqlite'), 'not a database, but text of some length'.repeat(100));
    await expect(openStore({ DATA_DIR: folder })).rejects.toThrow(
      new StoreError(`the database ${join(folder, 'hosting.sqlite')} cannot be used: file is not a database`),
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
    const store = await openStore({ DATA_DIR: dataDir });
    onTestFinished(() => store.close());
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
