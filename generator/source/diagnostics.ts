import { escapeControls } from '../common/terminal.ts';

/** A place in a source file; lines and columns count from 1, and `file` is as a terminal can open it. */
export interface Place {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** Something wrong in a source file, and how to mend it. */
export interface Diagnostic extends Place {
  readonly severity: 'error' | 'warning';
  readonly message: string;
  readonly hint?: string | undefined;
}

/** How diagnostics are printed: for people, for programs, or as annotations of a GitHub workflow. */
export type DiagnosticFormat = 'text' | 'json' | 'github';

/** Collects everything that is wrong with a build, so that one run reports it all. */
export interface Diagnostics {
  /** Reports what no release may hold. */
  error(place: Place, message: string, hint?: string): void;
  /** Reports a link or image that leads nowhere: an error, or a warning in a lenient build. */
  deadReference(place: Place, message: string, findHint?: () => string | undefined): void;
  /** Whether an error was reported. */
  failed(): boolean;
  /** Everything reported, ordered by file, line and column. */
  list(): readonly Diagnostic[];
}

/** Creates an empty collection; a lenient one takes dead references for warnings. */
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
        // Nearest names take long to find, and `dev` only prints what is new.
        get hint() {
          return findHint?.();
        },
      }),
    failed: () => found.some(({ severity }) => severity === 'error'),
    list: () => found.toSorted((a, b) => compareText(a.file, b.file) || a.line - b.line || a.column - b.column),
  };
}

/** Orders text by code unit, the same on every machine and in every locale. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** One diagnostic as one line of text, or as a GitHub workflow command. */
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
