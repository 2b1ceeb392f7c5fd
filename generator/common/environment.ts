import { readFileSync, statSync } from 'node:fs';
import { escapeControls } from './terminal.ts';

/** The environment of a process. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Reads a setting or the file that `<NAME>_FILE` names; an empty variable is not set. Reports problems, never a value. */
export function readVariable(name: string, source: Environment, report: (problem: string) => void): string | undefined {
  const file = source[`${name}_FILE`];
  if (file && source[name]) report(`${name}: is set twice, directly and by ${name}_FILE`);
  if (file && !isSettingsFile(file)) {
    report(`${name}_FILE: must be a regular file of at most 64 KiB`);
    return undefined;
  }
  const value = file ? readSecret(file) : source[name];
  // An empty file is a mistake: ignoring it would apply the default instead.
  if (file && !value) report(`${name}_FILE: the file cannot be read, or is empty`);
  if (!value) return undefined;
  // Settings end in headers, bodies and log lines, where one line must stay one.
  if (escapeControls(value) === value) return value;
  report(`${name}: must be one line without control characters`);
  return undefined;
}

function readSecret(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    return undefined;
  }
}

/** Whether a file may hold settings: a device has no end, a FIFO waits for its writer. */
export function isSettingsFile(path: string): boolean {
  try {
    const found = statSync(path);
    return found.isFile() && found.size <= 65_536;
  } catch {
    return true;
  }
}

/** What {@link toPageUrl} accepts. */
export const pageUrlRule = 'must be an http or https URL without a user';

/** The address of a page; undefined if the text is none. */
export function toPageUrl(text: string): string | undefined {
  const url = URL.parse(text);
  return url && /^https?:$/.test(url.protocol) && !url.username && !url.password ? url.href : undefined;
}

/** What {@link toBaseUrl} accepts. */
export const baseUrlRule = 'must be an http or https URL without user, query and fragment';

/** The address below which paths are added, without a slash at its end; undefined if the text is none. */
export function toBaseUrl(text: string): string | undefined {
  // A query or fragment would stand before the path that is added.
  return /[?#]/.test(text) ? undefined : toPageUrl(text)?.replace(/\/+$/, '');
}
