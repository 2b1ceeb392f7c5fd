import { CommandError } from '#common/command-line.ts';
import type { ApiKeyRecord } from '../store/types.ts';
import { OutputError } from './context.ts';
import type { Context } from './context.ts';
import { toIso } from './text.ts';

/** A new key or secret to print. */
export interface ShownKey {
  readonly key: ApiKeyRecord;
  /** The text of the key. */
  readonly text: string;
  /** What happened, for people. */
  readonly outcome: string;
  readonly json: boolean | undefined;
  /** Further fields of the JSON object. */
  readonly fields?: Readonly<Record<string, unknown>>;
}

/** What the JSON output of a changed key has beside its id. */
export function valuesOf({ label, servers, scopes, expiresAt }: ApiKeyRecord) {
  return { label, servers, scopes, expires: toIso(expiresAt) };
}

/** Prints the text of a key once. Only it goes to stdout, so that it can be piped. */
export async function showKey(
  { print, printNote }: Context,
  { key, text, outcome, json, fields }: ShownKey,
): Promise<void> {
  const { id, expiresAt } = key;
  const ends = expiresAt === null ? 'it never expires' : `it expires at ${toIso(expiresAt)}`;
  printNote(`${outcome}; ${ends}. It is shown only once:`);
  try {
    await print(json ? JSON.stringify({ id, key: text, ...fields, ...valuesOf(key) }) : text);
  } catch (error) {
    if (!(error instanceof OutputError)) throw error;
    throw new CommandError(`${error.message}, so this secret is lost: run keys rotate ${id} to get a new one`);
  }
}
