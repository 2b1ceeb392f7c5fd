import { readFileSync, statSync } from 'node:fs';
import { escapeControls } from './terminal.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The default folders that both programs use. */
export const defaultFolders = { CONTENT_DIR: 'content', CATALOG_DIR: 'catalog', DIST_DIR: 'dist' };

/** Reads a setting, or the file in `<NAME>_FILE`. An empty variable counts as unset. Problems never quote the value. */
export function readVariable(name: string, source: Environment, report: (problem: string) => void): string | undefined {
  const file = source[`${name}_FILE`];
  if (file && source[name]) report(`${name}: is set twice, directly and by ${name}_FILE`);
  if (file && !isSettingsFile(file)) {
    report(`${name}_FILE: must be a regular file of at most 64 KiB`);
    return undefined;
  }
  let value = file ? undefined : source[name];
  if (file) {
    // A text that is no absolute path may be the secret itself.
    const named = file.startsWith('/') ? escapeControls(file) : 'the file';
    try {
      value = readFileSync(file, 'utf8').trim();
      // Silently applying the default would hide the mistake.
      if (value === '') report(`${name}_FILE: ${named} is empty`);
    } catch (error) {
      report(`${name}_FILE: ${named} cannot be read (${(error as NodeJS.ErrnoException).code})`);
    }
  }
  if (!value) return undefined;
  // Settings go into headers, bodies and log lines, which line breaks would split.
  if (escapeControls(value) === value) return value;
  report(`${name}: must be one line without control characters`);
  return undefined;
}

/** Checks that a file is regular and small: reading a device or FIFO might never end. */
export function isSettingsFile(path: string): boolean {
  try {
    const found = statSync(path);
    return found.isFile() && found.size <= 65_536;
  } catch {
    return true;
  }
}

/** The rule of {@link toPageUrl}, for messages. */
export const pageUrlRule = 'must be an http or https URL without a user';

/** Parses the address of a page; undefined if invalid. */
export function toPageUrl(text: string): string | undefined {
  const url = URL.parse(text);
  return url && /^https?:$/.test(url.protocol) && !url.username && !url.password ? url.href : undefined;
}

/** The rule of {@link toBaseUrl}, for messages. */
export const baseUrlRule = 'must be an http or https URL without user, query and fragment';

/** Parses a base URL, without a trailing slash; undefined if invalid. */
export function toBaseUrl(text: string): string | undefined {
  // Paths are appended, and must not land in a query or fragment.
  return /[?#]/.test(text) ? undefined : toPageUrl(text)?.replace(/\/+$/, '');
}
