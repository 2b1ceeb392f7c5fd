import { closeSync, cpSync, mkdirSync, openSync, rmSync, truncateSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { beforeAll, expect, test } from 'vitest';
import { article, createProject, guide, sharedFolder } from '../helpers/project.ts';
import { buildAndRead } from './build-and-read.ts';

const cacheFile = 'dist/.cache/renders.sqlite';

function openCache(root: string): DatabaseSync {
  return new DatabaseSync(join(root, cacheFile));
}

function readCache(root: string): unknown[] {
  return openCache(root).prepare('SELECT * FROM entries LEFT JOIN encodings USING (name) ORDER BY name').all();
}

/** Overwrites a page of the database. The first page has the schema, the next ones the rows. */
function overwrite(file: string, position: number): void {
  const descriptor = openSync(file, 'r+');
  writeSync(descriptor, Buffer.alloc(4096, 0xee), 0, 4096, position);
  closeSync(descriptor);
}

let built: string;
let plain: Awaited<ReturnType<typeof buildAndRead>>;
let sound: unknown[];
beforeAll(async () => {
  built = createProject({}, sharedFolder());
  plain = await buildAndRead(built, { noCache: false });
  sound = readCache(built);
});

/** A project whose cache is that of its release, which is gone. */
function createCached(): string {
  const root = createProject();
  cpSync(join(built, 'dist/.cache'), join(root, 'dist/.cache'), { recursive: true });
  return root;
}

test('a release is the same if the render cache is empty, filled, or from another build', async () => {
  expect(await buildAndRead(createProject())).toEqual(plain);
  expect(sound).toHaveLength(5);
  const root = createCached();
  expect(await buildAndRead(root, { noCache: false })).toEqual(plain);
  expect(readCache(root)).toEqual(sound);
  const other = createProject({ 'content/blog/news/first.md': article({}, '## Details\n') });
  cpSync(join(built, 'dist/.cache'), join(other, 'dist/.cache'), { recursive: true });
  expect(await buildAndRead(other, { noCache: false })).toEqual(await buildAndRead(other));
});

test('the render cache distinguishes articles with the same text in different folders', async () => {
  const text = guide('Same', '[here](same.md) ![map](../../media/kb/map.svg) [there](../dns/records.md)\n');
  const files = { 'content/knowledgebase/vps/same.md': text, 'content/knowledgebase/dns/same.md': text };
  const fresh = await buildAndRead(createProject(files));
  const root = createProject(files);
  expect(await buildAndRead(root, { noCache: false })).toEqual(fresh);
  expect(await buildAndRead(root, { noCache: false })).toEqual(fresh);
});

test.each([
  ['with a changed letter', `UPDATE entries SET text = replace(text, 'blog', 'blag')`],
  ['that are truncated', 'UPDATE entries SET text = substr(text, 1, 100)'],
  ['that are empty', `UPDATE entries SET text = ''`],
  ['that are NULL', 'UPDATE entries SET text = NULL'],
  ['that are too long', `UPDATE entries SET text = text || ' '`],
  ['whose compressed encodings are swapped', 'UPDATE encodings SET gz = br, br = gz'],
  [
    'with the compressed encodings of another entry',
    'UPDATE encodings SET gz = (SELECT gz FROM encodings ORDER BY name LIMIT 1)',
  ],
  ['whose compressed encodings are truncated', 'UPDATE encodings SET br = substr(br, 1, 50)'],
  ['whose compressed encodings are NULL', 'UPDATE encodings SET gz = NULL'],
  ['whose compressed encodings are missing', 'DELETE FROM encodings'],
  [
    'with the text of another entry',
    'UPDATE entries SET text = (SELECT text FROM entries AS other ORDER BY name LIMIT 1)',
  ],
])('entries of the render cache %s are rendered again', async (_, damage) => {
  const root = createCached();
  openCache(root).exec(damage);
  expect(readCache(root)).not.toEqual(sound);
  expect(await buildAndRead(root, { noCache: false })).toEqual(plain);
  expect(readCache(root)).toEqual(sound);
});

test.each<[string, (file: string) => void]>([
  ['that is not a database', (file) => writeFileSync(file, '{"html":"<script>alert(1)</script>"}')],
  ['that is empty', (file) => truncateSync(file, 0)],
  ['that is truncated', (file) => truncateSync(file, 5000)],
  ['whose table is overwritten', (file) => overwrite(file, 4096)],
  ['whose index is overwritten', (file) => overwrite(file, 8192)],
  [
    'with another table',
    (file) => {
      rmSync(file);
      new DatabaseSync(file).exec('CREATE TABLE entries (other TEXT)');
    },
  ],
])('a render cache %s is created again', async (_, damage) => {
  const root = createCached();
  damage(join(root, cacheFile));
  for (const attempt of ['damage detected', 'filled again']) {
    rmSync(join(root, 'dist/releases'), { recursive: true, force: true });
    // oxlint-disable-next-line no-await-in-loop -- One build after the other.
    expect(await buildAndRead(root, { noCache: false }), attempt).toEqual(plain);
  }
  expect(readCache(root)).toEqual(sound);
});

test('if the render cache cannot be written, the release is the same', async () => {
  const root = createProject();
  mkdirSync(join(root, cacheFile), { recursive: true });
  expect(await buildAndRead(root, { noCache: false })).toEqual(plain);
});
