import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Writable } from 'node:stream';
import { readSettings } from '../settings.ts';
import type { Environment } from '../settings.ts';
import { StoreSettings } from '../store/env.ts';
import { StoreError } from '../store/error.ts';
import { openStore, sqliteFileIn } from '../store/index.ts';
import type { Store } from '../store/types.ts';

/** What the command line has of the process around it. */
export interface Surroundings {
  readonly out: Writable;
  readonly err: Writable;
  /** Called only by a command that needs a setting, so that broken ones do not stand in the way of the usage. */
  readonly settings: () => Environment;
}

/** What every command works with. */
export type Context = ReturnType<typeof createContext>;

/** The result cannot be written: its reader is gone, or the disk is full. */
export class OutputError extends Error {
  override readonly name = 'OutputError';
  readonly code: string | undefined;
  constructor({ code, message }: NodeJS.ErrnoException) {
    super(`the output cannot be written: ${code ?? message}`);
    this.code = code;
  }
}

/** The context of one run of the command line. */
export function createContext({ out, err, settings }: Surroundings) {
  /** Writes a line for the reader, which is not part of the result. */
  const explain = (line: string): void => void err.write(`${line}\n`);
  return {
    settings,
    explain,
    /** Writes lines of the result, and waits until they are out; throws an {@link OutputError}. */
    print: (text: string) =>
      new Promise<void>((done, fail) => {
        out.write(`${text}\n`, (error) => (error ? fail(new OutputError(error)) : done()));
      }),
    /** Does some work with the store that the settings name, and closes it whatever comes of it. */
    withStore: async <Result>(work: (store: Store) => Promise<Result>): Promise<Result> => {
      const where = readSettings(StoreSettings, settings());
      const file = resolve(sqliteFileIn(where.DATA_DIR));
      const isNew = where.DATABASE_URL === undefined && !existsSync(file);
      const store = await open(where);
      // The wrong folder and the wrong user look like this, and are found out only when the server refuses the key.
      if (isNew) {
        explain(
          `note: ${file} is new; the server must use the same DATA_DIR, and run as the user who ran this command`,
        );
      }
      try {
        return await work(store);
      } finally {
        await store.close();
      }
    },
  };
}

async function open(where: StoreSettings): Promise<Store> {
  try {
    return await openStore(where);
  } catch (error) {
    if (!(error instanceof StoreError && error.message.endsWith(': EACCES'))) throw error;
    throw new StoreError(`${error.message}; run the command as the user who owns ${resolve(where.DATA_DIR)}`);
  }
}
