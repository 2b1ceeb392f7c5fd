import { readdirSync, rmSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Command } from '@commander-js/extra-typings';
import { CommandError } from '#common/command-line.ts';
import { createFolder } from '#common/files.ts';
import { readSettings } from '../settings.ts';
import { backUp, restore } from '../store/backup.ts';
import { StoreSettings } from '../store/database.ts';
import { sqliteFileIn } from '../store/index.ts';
import { formatTable, parser, toPrintable } from './context.ts';
import type { Context } from './context.ts';

/** The names that backups get in a folder, which sort by time. */
const backupName = /^hosting-\d{4}-\d{2}-\d{2}-\d{6}\.(?:sqlite|dump)$/;

/** Adds `store backup | restore | migrate`. */
export function addStoreCommands(program: Command, { settings, print, printNote, withStore }: Context): void {
  const find = () => {
    const environment = settings();
    const { DATA_DIR, DATABASE_URL: url } = readSettings(StoreSettings, environment);
    const file = resolve(sqliteFileIn(DATA_DIR));
    // Not by the URL, which is a secret.
    return { file, url, environment, name: url === undefined ? file : 'the PostgreSQL database' };
  };
  const store = program.command('store').description('The database: keys, servers, the audit log, votes.');
  store
    .command('backup')
    .description(
      'Writes a consistent copy of the database to a new file, also while servers run; PostgreSQL by pg_dump.',
    )
    .argument('<path>', 'a new file, or a folder, in which it is named after the time')
    .option('--keep <N>', 'in a folder, which is created: remove all backups but the newest N', parseCount)
    .action(async (path, { keep }) => {
      const database = find();
      const place = resolve(path);
      if (keep !== undefined) prepareFolder(place);
      const time = new Date().toISOString().slice(0, 19).replace('T', '-').replaceAll(':', '');
      const own = `hosting-${time}.${database.url === undefined ? 'sqlite' : 'dump'}`;
      const isFolder = statSync(place, { throwIfNoEntry: false })?.isDirectory();
      const to = isFolder ? join(place, own) : place;
      await backUp(database, to);
      printNote(`${database.name} is backed up; the copy holds all that the database does, so keep it as safe:`);
      await print(to);
      if (keep === undefined) return;
      const all = readdirSync(place).filter((one) => backupName.test(one));
      for (const old of all.toSorted().slice(0, -keep)) rmSync(join(place, old));
    });
  store
    .command('restore')
    .description('Copies a backup into an empty place; one of SQLite also into PostgreSQL.')
    .argument('<file>', 'a backup; a PostgreSQL database that does not exist is created')
    .action(async (path) => {
      const database = find();
      const tables = await restore(resolve(path), database);
      printNote('note: keys that were revoked after the backup are valid again: revoke them once more');
      const rows = tables.map(({ table, records }) => [table, String(records)]);
      await print(rows.length > 0 ? formatTable(['TABLE', 'RECORDS'], rows) : `${database.name} is restored`);
    });
  store
    .command('migrate')
    .description('Brings the tables to this version, before the new server starts.')
    .action(async () => {
      const { from, to } = await withStore(async ({ versions, servers }) => {
        const unconfirmed = (await servers.list()).filter(({ shared }) => shared === 'unconfirmed');
        for (const { server, provider, ref } of unconfirmed)
          printNote(toPrintable(`warning: ${server} is ${ref} of the provider ${provider}, as another server is`));
        return versions;
      }, true);
      const migrated = `the store is migrated from version ${from} to ${to}`;
      await print(from < to ? migrated : `the store has version ${to}: nothing to do`);
    });
}

const parseCount = parser('--keep must be the number of backups to keep, at least 1', (text) =>
  /^[1-9]\d{0,4}$/.test(text) ? Number(text) : undefined,
);

function prepareFolder(folder: string): void {
  try {
    createFolder(folder, 0o700);
  } catch (error) {
    throw new CommandError(`${folder} is no folder, and cannot be created: ${(error as NodeJS.ErrnoException).code}`);
  }
}
