import { resolve } from 'node:path';
import type { Command } from '@commander-js/extra-typings';
import { CommandError } from '#common/command-line.ts';
import { readSettings } from '../settings.ts';
import { backUpSqlite, importSqlite, isSqlite, restoreSqlite } from '../store/backup.ts';
import { StoreSettings } from '../store/database.ts';
import { sqliteFileIn } from '../store/index.ts';
import { formatTable, toPrintable } from './context.ts';
import type { Context } from './context.ts';

const revokedNote = 'note: keys that were revoked after the backup are valid again: revoke them once more';

/** Adds `store backup | restore | migrate`. */
export function addStoreCommands(program: Command, context: Context): void {
  const { print, printNote, withStore } = context;
  const store = program.command('store').description('The database: keys, servers, the audit log, votes.');
  store
    .command('backup')
    .description('Writes a consistent copy of the database to a new file, also while servers run.')
    .argument('<file>', 'a new file; for PostgreSQL, the command that writes it is printed')
    .action(async (file) => {
      // The copy is for its owner only, as one of SQLite is.
      const database = await findSqlite(
        context,
        (url) => `(umask 077 && pg_dump --format=custom --table='hosting_*' --file=${quote(file)} --dbname=${url})`,
      );
      await backUpSqlite(database, resolve(file));
      printNote(`${database} is backed up; the copy holds all that the database does, so keep it as safe:`);
      await print(resolve(file));
    });
  store
    .command('restore')
    .description('Copies a backup into an empty place; one of SQLite also into PostgreSQL.')
    .argument('<file>', 'a backup; for one of PostgreSQL, the command that restores it is printed')
    .action(async (file) => {
      const { DATABASE_URL } = readSettings(StoreSettings, context.settings());
      if (DATABASE_URL !== undefined && isSqlite(file)) {
        const tables = await importSqlite(resolve(file), DATABASE_URL);
        printNote(revokedNote);
        const rows = tables.map(({ table, records }) => [table, String(records)]);
        return await print(formatTable(['TABLE', 'RECORDS'], rows));
      }
      const options = '--exit-on-error --single-transaction --no-owner';
      const database = await findSqlite(context, (url) => `pg_restore ${options} ${quote(file)} --dbname=${url}`);
      await restoreSqlite(resolve(file), database);
      printNote(revokedNote);
      await print(`${database} is restored`);
    });
  store
    .command('migrate')
    .description('Brings the tables to this version, before the new server starts.')
    .action(async () => {
      const { from, to } = await withStore(async ({ versions, servers }) => {
        for (const { server, provider, ref, shared } of await servers.list()) {
          if (shared !== 'unconfirmed') continue;
          printNote(toPrintable(`warning: ${server} is ${ref} of the provider ${provider}, as another server is`));
        }
        return versions;
      }, true);
      const migrated = `the store is migrated from version ${from} to ${to}`;
      await print(from < to ? migrated : `the store has version ${to}: nothing to do`);
    });
}

/** Finds the SQLite file of the settings. For PostgreSQL, prints the command that does the work, and fails. */
async function findSqlite({ settings, print }: Context, toCommand: (url: string) => string): Promise<string> {
  const environment = settings();
  const { DATA_DIR, DATABASE_URL } = readSettings(StoreSettings, environment);
  if (DATABASE_URL === undefined) return resolve(sqliteFileIn(DATA_DIR));
  // The URL is a secret, so it is not printed.
  const url = environment['DATABASE_URL'] ? '$DATABASE_URL' : '$(cat "$DATABASE_URL_FILE")';
  await print(toCommand(`"${url}"`));
  throw new CommandError('nothing is done: the store is a PostgreSQL database, for which PostgreSQL has this command');
}

/** Quotes a text for a POSIX shell. */
function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
