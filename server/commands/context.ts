import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Writable } from 'node:stream';
import { escapeLines } from '#common/terminal.ts';
import { createAuditedChange } from '../hosting/changes.ts';
import type { Change } from '../hosting/changes.ts';
import { EnvError, readSettings } from '../settings.ts';
import type { Environment } from '#common/environment.ts';
import { StoreSettings } from '../store/env.ts';
import { openStore, sqliteFileIn } from '../store/index.ts';
import type { Store } from '../store/types.ts';

/** The streams and settings of the process. */
export interface ProcessContext {
  readonly out: Writable;
  readonly err: Writable;
  /** Called only by commands that need a setting, so that --help works with invalid ones. */
  readonly settings: () => Environment;
}

/** The context of every command. */
export type Context = ReturnType<typeof createContext>;

/** The result cannot be written: the pipe is closed, or the disk is full. */
export class OutputError extends Error {
  override readonly name = 'OutputError';
  readonly code: string | undefined;
  constructor({ code, message }: NodeJS.ErrnoException) {
    super(`the output cannot be written: ${code ?? message}`);
    this.code = code;
  }
}

/** Creates the context of one command. */
export function createContext({ out, err, settings }: ProcessContext) {
  /** Writes a line to stderr, apart from the result. */
  const printNote = (line: string): void => void err.write(`${escapeLines(line)}\n`);
  const printUnaudited = (error: unknown): void =>
    printNote(`warning: the end of this change is not in the audit log: ${(error as Error).message}`);
  return {
    settings,
    printNote,
    /** Writes lines of the result to stdout, and waits until they are written; throws an {@link OutputError}. */
    print: (text: string) =>
      new Promise<void>((done, fail) => {
        // Names and labels may come from outside; JSON may hold characters that a terminal acts on.
        out.write(`${escapeLines(text)}\n`, (error) => (error ? fail(new OutputError(error)) : done()));
      }),
    /** Makes a change of a key or a server, which is audited. */
    change: ({ audit }: Store, change: Change, apply: () => Promise<boolean | void | 'exists'>): Promise<boolean> =>
      createAuditedChange({ audit, actor: 'command line', onFailure: printUnaudited })(change, apply),
    /** Opens the configured store, runs some work, and closes the store. */
    withStore: async <Result>(work: (store: Store) => Promise<Result>): Promise<Result> => {
      const where = readSettings(StoreSettings, settings());
      const file = resolve(sqliteFileIn(where.DATA_DIR));
      const isNew = where.DATABASE_URL === undefined && !existsSync(file);
      const store = await open(where);
      // A new store may mean a wrong folder or user, which otherwise shows only when the server rejects the key.
      if (isNew) {
        printNote(
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
    if (!(error instanceof EnvError && error.message.endsWith('(EACCES)'))) throw error;
    throw new EnvError(`${error.message}; run the command as the user who owns ${resolve(where.DATA_DIR)}`);
  }
}
