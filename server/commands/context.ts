import { existsSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Writable } from 'node:stream';
import { z } from 'zod';
import { Scope, ServerName, scopes } from '#contract/api-keys.ts';
import { CommandError } from '#common/command-line.ts';
import type { Environment } from '#common/environment.ts';
import { didYouMean } from '#common/suggest.ts';
import { escapeControls, escapeLines } from '#common/terminal.ts';
import { createAuditedChange } from '../hosting/audit.ts';
import type { Change } from '../hosting/audit.ts';
import { EnvError, installedSettings, readSettings } from '../settings.ts';
import { StoreSettings } from '../store/database.ts';
import { openStore, sqliteFileIn } from '../store/index.ts';
import type { Store } from '../store/types.ts';

/** The streams and settings of the process. */
export interface ProcessContext {
  readonly out: Writable;
  readonly err: Writable;
  /** Called only by commands that need a setting, so that --help works with invalid ones. */
  readonly settings: () => Environment;
  /** The settings of the installation of this machine, if there is one; default those of examples/systemd. */
  readonly installed?: string;
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

/** Creates the context of one command, whose name is needed to say how it is run. */
export function createContext(command: string, processContext: ProcessContext) {
  const { out, err, installed = installedSettings } = processContext;
  const isInstalled = existsSync(installed);
  /** Throws where the settings of an installation are not those of this process: it would act on a store of its own. */
  const settings = (): Environment => {
    const environment = processContext.settings();
    const names = ['DATA_DIR', 'DATABASE_URL', 'DATA_DIR_FILE', 'DATABASE_URL_FILE'];
    if (!isInstalled || names.some((name) => environment[name])) return environment;
    throw new EnvError(
      `neither DATA_DIR nor DATABASE_URL is set here, and this machine has an installation: run ` +
        `\`hosting-api ${command} ...\`, which has the settings of ${installed}`,
    );
  };
  /** Names commands as the operators of an installation run them. */
  const toText = (text: string): string =>
    escapeLines(isInstalled ? text.replaceAll(/\bnpm run (?:-s )?(\w+)(?: --)?/g, 'hosting-api $1') : text);
  const printNote = (line: string): void => void err.write(`${toText(line)}\n`);
  const print = (text: string): Promise<void> =>
    new Promise((done, fail) => {
      // Names and labels may come from outside; JSON may hold characters that a terminal acts on.
      out.write(`${toText(text)}\n`, (error) => (error ? fail(new OutputError(error)) : done()));
    });
  const onFailure = (error: unknown): void =>
    printNote(`warning: the end of this change is not in the audit log: ${(error as Error).message}`);
  return {
    settings,
    installed,
    /** Writes a line to stderr, apart from the result. */
    printNote,
    /** Writes lines of the result to stdout, and waits until they are written; throws an {@link OutputError}. */
    print,
    /** Prints a result as JSON, or else its text for people. */
    show: (json: boolean | undefined, result: unknown, text: string) => print(json ? JSON.stringify(result) : text),
    /** Makes a change of a key or a server, which is audited; returns whether it was made. */
    change: ({ audit }: Store, change: Change, apply: () => Promise<boolean | void | 'exists'>): Promise<boolean> =>
      createAuditedChange({ audit, actor: 'command line', onFailure })(change, apply),
    /** Opens the configured store, runs some work, and closes the store. Only a command that adds something creates one. */
    withStore: async <Result>(work: (store: Store) => Promise<Result>, mayCreate = false): Promise<Result> => {
      const where = readSettings(StoreSettings, settings());
      const file = resolve(sqliteFileIn(where.DATA_DIR));
      const isNew = where.DATABASE_URL === undefined && isAbsent(file);
      if (isNew && !mayCreate)
        throw new EnvError(`there is no database ${file}: the first start, keys create or servers add creates it`);
      const store = await openStore(where).catch((error: unknown) => {
        if (!(error instanceof EnvError && error.message.endsWith('(EACCES)'))) throw error;
        throw new EnvError(`${error.message}; run the command as the user who owns ${resolve(where.DATA_DIR)}`);
      });
      // A new store may mean a wrong folder or user, which otherwise shows only when the server rejects the key.
      const advice = 'the server must use the same DATA_DIR, and run as the user who ran this command';
      if (isNew) printNote(`note: ${file} is new; ${advice}`);
      try {
        return await work(store);
      } finally {
        await store.close();
      }
    },
  };
}

/** Whether a file does not exist for sure: one in a folder of another user may. */
function isAbsent(file: string): boolean {
  try {
    return !statSync(file, { throwIfNoEntry: false });
  } catch {
    return false;
  }
}

/** Redacts the secrets of API keys: a mistyped command must not leave one in a log or on a shared screen. */
export const redactKeys = (text: string): string => text.replaceAll(/(hk_[A-Za-z0-9]{12})_[A-Za-z0-9]+/g, '$1_***');

/** Escapes and redacts text from outside, so that it is safe to print. */
export const toPrintable = (text: string): string => escapeControls(redactKeys(text));

/** Formats rows as columns under a heading. */
export function formatTable(heading: readonly string[], cells: readonly (readonly string[])[]): string {
  const rows = cells.map((row) => row.map(toPrintable));
  const widths = heading.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]!.length)));
  const lines = [heading, ...rows].map((row) => row.map((cell, column) => cell.padEnd(widths[column]!)).join('  '));
  return lines.map((line) => line.trimEnd()).join('\n');
}

/** A time in ISO format; null stays null. */
export const toIso = (time: number | null): string | null => (time === null ? null : new Date(time).toISOString());

/** Describes a server that does not exist, with the nearest name; undefined if it exists. */
export async function describeUnknownServer(store: Store, server: ServerName): Promise<string | undefined> {
  if (await store.servers.find(server)) return undefined;
  // Without a hint if another record is damaged.
  const names = (await store.servers.list().catch(() => [])).map((record) => record.server);
  return `there is no server ${server}${didYouMean(server, names)}`;
}

/** Creates the parser of an argument; it throws a {@link CommandError} for what `read` returns as undefined. */
export function parser<Value>(message: string, read: (text: string) => Value | undefined): (text: string) => Value {
  return (text) => {
    const value = read(text);
    if (value === undefined) throw new CommandError(message);
    return value;
  };
}

/** Parses a server such as `game:survival` or `vps:42`. */
export function parseServer(text: string): ServerName {
  const result = ServerName.safeParse(text);
  if (result.success) return result.data;
  const id = text.slice(text.indexOf(':') + 1);
  const near = [`game:${id}`, `vps:${id}`].filter((name) => ServerName.safeParse(name).success);
  throw new CommandError(`malformed server ${text}: it must be game:<id> or vps:<id>${didYouMean(text, near)}`);
}

/** Parses a scope. */
export function parseScope(text: string): Scope {
  const result = Scope.safeParse(text);
  if (result.success) return result.data;
  // By edit distance, "write" is nearer to "read" than to "read_write", which it means.
  const near = text.includes('write') ? scopes.filter((scope) => scope.endsWith('_write')) : scopes;
  throw new CommandError(`unknown scope ${text}${didYouMean(text, near)}; the scopes are ${scopes.join(', ')}`);
}

/** Parses an id or a whole key, since of a leaked key only the text may be at hand. The secret is not printed. */
export const parseKeyId = parser(
  'ID must be the 12 letters and digits that keys list shows',
  (text) => /^(?:hk_)?([A-Za-z0-9]{12})(?:_[A-Za-z0-9]*)?$/.exec(text)?.[1],
);

const Day = z.iso.date();
const LocalTime = z.iso.datetime({ local: true });

/** Parses a day (its start in UTC) or an ISO time (in UTC if it names no zone) to milliseconds. */
export function parseTime(text: string): number | undefined {
  const full = Day.safeParse(text).success ? `${text}T00:00` : text;
  // zod accepts a zone only after seconds.
  const [, time = '', zone = 'Z'] = /^([^Z]+?)(Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)?$/.exec(full) ?? [];
  return LocalTime.safeParse(time).success ? Date.parse(time + zone) : undefined;
}

const unitMs: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Parses a duration such as 90s, 15m, 24h or 7d to milliseconds; `0` needs no unit. */
export function parseDuration(text: string): number | undefined {
  const [, digits, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text === '0' ? '0s' : text) ?? [];
  return digits === undefined ? undefined : Number(digits) * unitMs[unit]!;
}

/** Parses a time like {@link parseTime}, or a duration before now, to milliseconds. */
export function parsePastTime(text: string): number | undefined {
  const ago = parseDuration(text);
  return ago === undefined ? parseTime(text) : Date.now() - ago;
}

/** Creates the parser of a repeatable option: its values in order, without duplicates. */
export function repeatable<Value>(parse: (text: string) => Value): (text: string, previous?: Value[]) => Value[] {
  return (text, previous = []) => [...new Set([...previous, parse(text)])];
}

/** Creates the parser of a one-line text of limited length, for instance a label. */
export function textOption(option: string, maximum: number, minimum = 1): (text: string) => string {
  const message = `${option} must have ${minimum} to ${maximum} characters, and no control characters`;
  return parser(message, (text) => {
    if (redactKeys(text) !== text)
      throw new CommandError(`${option} must not hold an API key, as it is kept and listed`);
    return text.length >= minimum && text.length <= maximum && escapeControls(text) === text ? text : undefined;
  });
}
