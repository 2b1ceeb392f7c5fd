import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { EnvError, readSettings } from '../../server/settings.ts';
import { StoreSettings } from '../../server/store/database.ts';
import { temporaryFolder } from '../helpers/project.ts';

const url = 'postgres://user:hunter2@db.example.com:5433/hosting?sslmode=verify-full';

test('without settings the store is a file in .data', () => {
  expect(readSettings(StoreSettings, {})).toEqual({ DATA_DIR: '.data' });
  expect(readSettings(StoreSettings, { DATA_DIR: '', DATABASE_URL: '' })).toEqual({ DATA_DIR: '.data' });
});

test('the URL of the database is in DATABASE_URL, or in the file of DATABASE_URL_FILE', () => {
  for (const given of [
    { DATA_DIR: '/srv/data', DATABASE_URL: url },
    { DATA_DIR: '.data', DATABASE_URL: 'postgresql:///hosting' },
  ]) {
    expect(readSettings(StoreSettings, given)).toEqual(given);
  }
  const file = join(temporaryFolder(), 'url');
  writeFileSync(file, `${url}\n`);
  expect(readSettings(StoreSettings, { DATABASE_URL_FILE: file })).toMatchObject({ DATABASE_URL: url });
});

const noUrl = 'DATABASE_URL: must be a URL such as postgres://user:password@host/database';
const unreadable = ': the file cannot be read, or is empty';

test.each<[string, Record<string, string>, string[]]>([
  ['another kind of database', { DATABASE_URL: 'mysql://user:hunter2@db.example.com/hosting' }, [noUrl]],
  ['a text that is not a URL', { DATABASE_URL: 'hunter2' }, [noUrl]],
  [
    'a missing file, and a setting given twice',
    { DATABASE_URL_FILE: '/nowhere/hunter2', DATA_DIR: 'a', DATA_DIR_FILE: '/nowhere/hunter2' },
    [
      'DATA_DIR: is set twice, directly and by DATA_DIR_FILE',
      `DATA_DIR_FILE${unreadable}`,
      `DATABASE_URL_FILE${unreadable}`,
    ],
  ],
  ['a device', { DATABASE_URL_FILE: '/dev/null' }, ['DATABASE_URL_FILE: must be a regular file of at most 64 KiB']],
])('%s is refused, and the error does not contain the value', (_, source, problems) => {
  expect(() => readSettings(StoreSettings, source)).toThrow(new EnvError(problems.join('\n')));
});
