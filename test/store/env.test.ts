import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { EnvError, readSettings } from '../../server/settings.ts';
import { StoreSettings } from '../../server/store/database.ts';
import { temporaryFolder } from '../helpers/project.ts';

const url = 'postgres://user:hunter2@db.example.com:5433/hosting?sslmode=verify-full';

test('without settings the store is a file in .data', () => {
  expect(readSettings(StoreSettings, {})).toEqual({ DATA_DIR: '.data' });
  expect(readSettings(StoreSettings, { DATA_DIR: '', DATABASE_URL: '' })).toEqual({
    DATA_DIR: '.data',
  });
});

test('the URL of the database is in DATABASE_URL, or in the file of DATABASE_URL_FILE', () => {
  expect(readSettings(StoreSettings, { DATA_DIR: '/srv/data', DATABASE_URL: url })).toEqual({
    DATA_DIR: '/srv/data',
    DATABASE_URL: url,
  });
  expect(readSettings(StoreSettings, { DATABASE_URL: 'postgresql:///hosting' })).toMatchObject({
    DATABASE_URL: 'postgresql:///hosting',
  });
  const file = join(temporaryFolder(), 'url');
  writeFileSync(file, `${url}\n`);
  expect(readSettings(StoreSettings, { DATABASE_URL_FILE: file })).toMatchObject({ DATABASE_URL: url });
});

test.each([
  {
    name: 'another kind of database',
    source: { DATABASE_URL: 'mysql://user:hunter2@db.example.com/hosting' },
    message: 'DATABASE_URL: must be a URL such as postgres://user:password@host/database',
  },
  {
    name: 'a text that is not a URL',
    source: { DATABASE_URL: 'hunter2' },
    message: 'DATABASE_URL: must be a URL such as postgres://user:password@host/database',
  },
  {
    name: 'a missing file, and a setting given twice',
    source: { DATABASE_URL_FILE: '/nowhere/hunter2', DATA_DIR: 'a', DATA_DIR_FILE: '/nowhere/hunter2' },
    message: [
      'DATA_DIR: is set twice, directly and by DATA_DIR_FILE',
      'DATA_DIR_FILE: the file cannot be read, or is empty',
      'DATABASE_URL_FILE: the file cannot be read, or is empty',
    ].join('\n'),
  },
  {
    name: 'an empty file',
    source: { DATABASE_URL_FILE: '/dev/null' },
    message: 'DATABASE_URL_FILE: the file cannot be read, or is empty',
  },
])('$name is refused, and the error does not contain the value', ({ source, message }) => {
  expect(() => readSettings(StoreSettings, source)).toThrow(new EnvError(message));
});
