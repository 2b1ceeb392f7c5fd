import { existsSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Writable } from 'node:stream';
import type { WriteStream } from 'node:tty';
import { z } from 'zod';
import { Scope, ServerName, scopes } from '#contract/api-keys.ts';
import { CommandError } from '#common/command-line.ts';
import type { Environment } from '#common/environment.ts';
import { didYouMean } from '#common/suggest.ts';
import { escapeControls, escapeLines, wrap } from '#common/terminal.ts';
import { redactKeys } from '../log.ts';
import { OperatorError } from '../problem.ts';
import { EnvError, installedSettings, nameCommands, readSettings } from '../settings.ts';
import { StoreSettings } from '../store/database.ts';
import { openStore, sqliteFileIn } from '../store/index.ts';
import type { Store } from '../store/types.ts';

/** The streams and settings of the process. */
export interface ProcessContext {
  readonly out: Writable;
  readonly err: Writable;
  /** Reads the settings. Not called for --help, which must work with invalid settings. */
  readonly settings: () => Environment;
  /** PATH. */
  readonly path?: string | undefined;
  /** The settings file of an installation on this machine; by default the path of examples/systemd. */
  readonly installed?: string;
}

export type Context = ReturnType<typeof createContext>;

/** The result cannot be written, for instance to a closed pipe or a full disk. */
export class OutputError extends OperatorError {}

/** Creates the context of a command. */
export function createContext(command: string, processContext: ProcessContext) {
  const { out, err, path, installed = installedSettings } = processContext;
  const [columns, errColumns] = [out, err].map((stream) => (stream as Partial<WriteStream>).columns);
  const isInstalled = existsSync(installed);
  /** Throws if this process lacks the settings of the installation: the command would create a second store. */
  const settings = (): Environment => {
    const environment = processContext.settings();
    const names = ['DATA_DIR', 'DATABASE_URL', 'DATA_DIR_FILE', 'DATABASE_URL_FILE'];
    if (!isInstalled || names.some((name) => environment[name])) return environment;
    throw new EnvError(
      `neither DATA_DIR nor DATABASE_URL is set, but this machine has an installation: run ` +
        `\`hosting-api ${command} ...\`, which uses the settings in ${installed}`,
    );
  };
  const name = (text: string): string => nameCommands(text, path, installed);
  const toText = (text: string): string => escapeLines(name(text));
  const printNote = (line: string): void => void err.write(`${wrap(toText(line), errColumns)}\n`);
  const print = (text: string, room?: number): Promise<void> =>
    new Promise((done, fail) => {
      // Names and labels may come from outside; JSON may contain control characters of terminals.
      out.write(`${wrap(toText(text), room)}\n`, (cause: NodeJS.ErrnoException | null | undefined) => {
        if (!cause) return done();
        fail(new OutputError(`the output cannot be written: ${cause.code ?? cause.message}`, { cause }));
      });
    });
  const report = (fields: object, message: string): void =>
    printNote(`warning: ${message} in the audit log: ${JSON.stringify(fields)}`);
  return {
    settings,
    installed,
    /** Names the commands of npm in a text as they run here. */
    name,
    /** The width of the terminal; undefined for other outputs. */
    columns,
    /** Writes a line to stderr, apart from the result. */
    printNote,
    /** Writes lines of the result to stdout, within `room`, and waits for the write; throws an {@link OutputError}. */
    print,
    /** Prints a result as JSON or as text, which fits a terminal. */
    show: (json: boolean | undefined, result: unknown, text: string) =>
      json ? print(JSON.stringify(result)) : print(text, columns),
    /** Runs work on the configured store; `mayCreate` allows creating a store. */
    withStore: async <Result>(work: (store: Store) => Promise<Result>, mayCreate = false): Promise<Result> => {
      const where = readSettings(StoreSettings, settings());
      const file = resolve(sqliteFileIn(where.DATA_DIR));
      const isNew = where.DATABASE_URL === undefined && isAbsent(file);
      if (isNew && !mayCreate)
        throw new EnvError(`there is no database ${file}: the first start, keys create or servers add creates it`);
      const store = await openStore({ ...where, DATABASE_CONNECTIONS: 1 }, undefined, report).catch(
        (error: unknown) => {
          if (!(error instanceof EnvError && error.message.endsWith('(EACCES)'))) throw error;
          throw new EnvError(`${error.message}; run the command as the user who owns ${resolve(where.DATA_DIR)}`);
        },
      );
      // A new store may mean a wrong folder or user, noticed only later when the server rejects the key.
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

/** Returns true if a file surely does not exist; in the folder of another user, a file may exist. */
function isAbsent(file: string): boolean {
  try {
    return !statSync(file, { throwIfNoEntry: false });
  } catch {
    return false;
  }
}

/** Escapes and redacts text from outside for printing. */
export const toPrintable = (text: string): string => escapeControls(redactKeys(text));

/** The widest column, and the longest cell: records of a restored backup may have texts of any length. */
const [maxWidth, maxCell] = [200, 20_000];
const toCell = (text: string): string => toPrintable(text.length > maxCell ? `${text.slice(0, maxCell)}...` : text);
const toDay = (text: string): string => text.replace(/T[\d:.]+Z$/, '');

/** Cuts a text that is longer than `room`, if any. */
export const cutTo = (room: number | undefined, text: string): string =>
  room !== undefined && text.length > room ? `${text.slice(0, room - 1)}…` : text;

/** Formats rows as columns under a heading. To fit into `room`, cuts times and the widest columns, except for the first. */
export function formatTable(heading: readonly string[], cells: readonly (readonly string[])[], room?: number): string {
  const rows = cells.map((row) => row.map((cell) => toCell(room === undefined ? cell : toDay(cell))));
  const widths = heading.map((title, column) =>
    Math.min(maxWidth, Math.max(title.length, ...rows.map((row) => row[column]!.length))),
  );
  const sum = widths.reduce((total, width) => total + width + 2, -2);
  for (let over = sum - (room ?? sum); over > 0; over -= 1) {
    const widest = widths.lastIndexOf(Math.max(...widths.slice(1)));
    widths[widest]! -= 1;
  }
  const lines = [heading, ...rows].map((row) =>
    row.map((cell, at) => cutTo(room && widths[at], cell).padEnd(widths[at]!)).join('  '),
  );
  return lines.map((line) => line.trimEnd()).join('\n');
}

/** Describes each missing server, with the nearest name. */
export async function describeUnknownServers(store: Store, servers: readonly ServerName[]): Promise<string[]> {
  const missing: ServerName[] = [];
  for (const server of servers) if (!(await store.servers.find(server))) missing.push(server);
  if (missing.length === 0) return [];
  // No hint if another record is damaged.
  const names = (await store.servers.list().catch(() => [])).map((record) => record.server);
  return missing.map((server) => `there is no server ${server}${didYouMean(server, names)}`);
}

/** Creates a parser of an argument, which throws a {@link CommandError} if `read` returns undefined. */
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

export function parseScope(text: string): Scope {
  const result = Scope.safeParse(text);
  if (result.success) return result.data;
  // By edit distance, "write" is nearer to "read" than to the intended "read_write".
  const near = text.includes('write') ? scopes.filter((scope) => scope.endsWith('_write')) : scopes;
  throw new CommandError(`unknown scope ${text}${didYouMean(text, near)}; the scopes are ${scopes.join(', ')}`);
}

/** Parses an id, or the whole text of a leaked key, without printing the secret. */
export const parseKeyId = parser(
  'ID must be the 12 letters and digits that keys list shows',
  (text) => /^(?:h[ko]_)?([A-Za-z0-9]{12})(?:_[A-Za-z0-9]*)?$/.exec(text)?.[1],
);

const Day = z.iso.date();
const LocalTime = z.iso.datetime({ local: true });

/** Parses a day (its start in UTC) or an ISO time (default UTC) to milliseconds. */
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

/** Parses a time or a duration before now to milliseconds. */
export function parsePastTime(text: string): number | undefined {
  const ago = parseDuration(text);
  return ago === undefined ? parseTime(text) : Date.now() - ago;
}

/** Creates a parser of a repeatable option that collects the values in order, without duplicates. */
export function repeatable<Value>(parse: (text: string) => Value): (text: string, previous?: Value[]) => Value[] {
  return (text, previous = []) => [...new Set([...previous, parse(text)])];
}

/** Creates a parser of a one-line text of limited length, for instance a label. */
export function textOption(option: string, maximum: number, minimum = 1): (text: string) => string {
  const message = `${option} must have ${minimum} to ${maximum} characters, and no control characters`;
  return parser(message, (text) => {
    if (redactKeys(text) !== text)
      throw new CommandError(`${option} must not contain an API key: the text is stored and listed`);
    return text.length >= minimum && text.length <= maximum && escapeControls(text) === text ? text : undefined;
  });
}
