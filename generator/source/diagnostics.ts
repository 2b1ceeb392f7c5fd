import { escapeControls } from '../common/terminal.ts';

/** A position in a source file; lines and columns count from 1, and `file` is a path that a terminal can open. */
export interface Place {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** A problem in a source file, with a hint how to fix it. */
export interface Diagnostic extends Place {
  readonly severity: 'error' | 'warning';
  readonly message: string;
  readonly hint?: string | undefined;
}

/** How diagnostics are printed: for people, for programs, or as GitHub workflow annotations. */
export type DiagnosticFormat = 'text' | 'json' | 'github';

/** Collects all problems of a build, so that one run reports them together. */
export interface Diagnostics {
  /** Reports an error; a build with errors makes no release. */
  error(place: Place, message: string, hint?: string): void;
  /** Reports a dead link or a missing image: an error, or a warning in a lenient build. */
  deadReference(place: Place, message: string, findHint?: () => string | undefined): void;
  /** Whether an error was reported, or one in a file or folder. */
  failed(path?: string): boolean;
  /** Everything reported, ordered by file, line and column. */
  list(): readonly Diagnostic[];
}

/** Creates an empty collection; a lenient one records dead references as warnings. */
export function createDiagnostics(lenient: boolean): Diagnostics {
  const found: Diagnostic[] = [];
  return {
    error: ({ file, line, column }, message, hint) =>
      void found.push({ severity: 'error', file, line, column, message, ...(hint && { hint }) }),
    deadReference: ({ file, line, column }, message, findHint) =>
      void found.push({
        severity: lenient ? 'warning' : 'error',
        file,
        line,
        column,
        message,
        // Computed when read: the search for similar names is slow, and `dev` prints new problems only.
        get hint() {
          return findHint?.();
        },
      }),
    failed: (path) => found.some(({ severity, file }) => severity === 'error' && isWithin(file, path)),
    list: () => found.toSorted((a, b) => compareText(a.file, b.file) || a.line - b.line || a.column - b.column),
  };
}

function isWithin(file: string, path: string | undefined): boolean {
  return path === undefined || file === path || file.startsWith(`${path}/`);
}

/** Compares text by code units, independent of the locale. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Formats a diagnostic as one line of text or as a GitHub workflow command. */
export function formatDiagnostic(diagnostic: Diagnostic, format: 'text' | 'github'): string {
  const { severity, file, line, column, hint } = diagnostic;
  const message = escapeControls(hint ? `${diagnostic.message} (${hint})` : diagnostic.message);
  if (format === 'github') {
    return `::${severity} file=${escapeProperty(file)},line=${line},col=${column}::${message.replaceAll('%', '%25')}`;
  }
  return `${escapeControls(file)}:${line}:${column}  ${severity === 'warning' ? 'warning: ' : ''}${message}`;
}

function escapeProperty(text: string): string {
  return escapeControls(text).replaceAll('%', '%25').replaceAll(':', '%3A').replaceAll(',', '%2C');
}
