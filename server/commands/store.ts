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

/** The names of backups in a folder, which sort by time. */
const backupName = /^hosting-\d{4}-\d{2}-\d{2}-\d{6}\.(?:sqlite|dump)$/;

/** Adds `store backup | restore | migrate`. */
export function addStoreCommands(program: Command, { settings, print, printNote, withStore }: Context): void {
  const find = () => {
    const environment = settings();
    const { DATA_DIR, DATABASE_URL: url } = readSettings(StoreSettings, environment);
    const file = resolve(sqliteFileIn(DATA_DIR));
    // Omit the URL, which is a secret.
    return { file, url, environment, name: url === undefined ? file : 'the PostgreSQL database' };
  };
  const store = program.command('store').description('The database of keys, servers, the audit log and votes.');
  store
    .command('backup')
    .description(
      'Writes a consistent copy of the database to a new file, even while servers run; uses pg_dump for PostgreSQL.',
    )
    .argument('<path>', 'a new file, or a folder for a file named after the time')
    .option('--keep <N>', 'keep only the newest N backups in the folder, which is created if missing', parseCount)
    .action(async (path, { keep }) => {
      const database = find();
      const place = resolve(path);
      if (keep !== undefined) createBackupFolder(place);
      const time = new Date().toISOString().slice(0, 19).replace('T', '-').replaceAll(':', '');
      const own = `hosting-${time}.${database.url === undefined ? 'sqlite' : 'dump'}`;
      const isFolder = statSync(place, { throwIfNoEntry: false })?.isDirectory();
      const to = isFolder ? join(place, own) : place;
      await backUp(database, to);
      printNote(`${database.name} is backed up; protect the copy as well as the database:`);
      await print(to);
      if (keep === undefined) return;
      const all = readdirSync(place).filter((name) => backupName.test(name));
      for (const old of all.toSorted().slice(0, -keep)) rmSync(join(place, old));
    });
  store
    .command('restore')
    .description('Restores a backup into an empty database; a SQLite backup also into PostgreSQL.')
    .argument('<file>', 'the backup; a missing database is created')
    .action(async (path) => {
      const database = find();
      const tables = await restore(resolve(path), database);
      printNote(
        'note: the state of the backup is back: keys revoked, rotated (the old secret is valid again), narrowed or given ' +
          'an earlier end since then; servers suspended, removed or moved; Idempotency-Keys (a repeat acts again). ' +
          '`npm run audit -- --changes`, run on the store that was replaced, lists the changes',
      );
      const rows = tables.map(({ table, records }) => [table, String(records)]);
      await print(rows.length > 0 ? formatTable(['TABLE', 'RECORDS'], rows) : `${database.name} is restored`);
    });
  store
    .command('migrate')
    .description('Migrates the tables to this version, for instance before a new server starts.')
    .action(async () => {
      const { from, to } = await withStore(async ({ versions, servers }) => {
        const unconfirmed = (await servers.list()).filter(({ shared }) => shared === 'unconfirmed');
        for (const { server, provider, ref } of unconfirmed.slice(0, 10))
          printNote(toPrintable(`warning: ${server} and another server have ref ${ref} of provider ${provider}`));
        if (unconfirmed.length > 10)
          printNote(`warning: ${unconfirmed.length - 10} more pairs: see \`npm run doctor\``);
        return versions;
      }, true);
      const migrated = `the store is migrated from version ${from} to ${to}`;
      await print(from < to ? migrated : `the store has version ${to}: nothing to do`);
    });
}

const parseCount = parser('--keep must be the number of backups to keep, at least 1', (text) =>
  /^[1-9]\d{0,4}$/.test(text) ? Number(text) : undefined,
);

function createBackupFolder(folder: string): void {
  try {
    createFolder(folder, 0o700);
  } catch (error) {
    throw new CommandError(`${folder} cannot be created as a folder: ${(error as NodeJS.ErrnoException).code}`);
  }
}
