import type { Finding, Position } from '../common/finding.ts';
import { escapeControls } from '../common/terminal.ts';

/** A source file or folder by the path that messages show, and a position in it; without one, its beginning. */
export interface SourceLocation extends Partial<Position> {
  readonly display: string;
}

/** A problem in a source file, with a hint how to fix it; `file` is a path that a terminal can open. */
export interface Diagnostic extends Finding {
  readonly file: string;
}

/** How diagnostics are printed: for people, for programs, or as GitHub workflow annotations. */
export type DiagnosticFormat = 'text' | 'json' | 'github';

/** How a build treats what may be intended: lenient, dead references are warnings; strict, warnings are errors. */
export interface Strictness {
  readonly lenient?: boolean;
  readonly strict?: boolean;
}

/** How to fix a problem; a function, if it takes time to find that out. */
export type Hint = string | (() => string | undefined) | undefined;

/** Reports a problem. */
export type Report = (place: SourceLocation, message: string, hint?: Hint) => void;

/** Collects all problems of a build, so that one run reports them together. */
export type Diagnostics = ReturnType<typeof createDiagnostics>;

/** Creates an empty collection. */
export function createDiagnostics({ lenient = false, strict = false }: Strictness) {
  const found: Diagnostic[] = [];
  const reportAs =
    (severity: Finding['severity']): Report =>
    ({ display: file, line = 1, column = 1 }, message, hint) =>
      void found.push({
        severity,
        file,
        line,
        column,
        message,
        // Computed when read: the search for similar names is slow, and `dev` prints new problems only.
        get hint() {
          return (typeof hint === 'function' ? hint() : hint) || undefined;
        },
      });
  const error = reportAs('error');
  const warning = reportAs(strict ? 'error' : 'warning');
  return {
    /** Reports an error; a build with errors makes no release. */
    error,
    /** Reports a probable mistake: a warning, or an error in a strict build. */
    warning,
    /** Reports a dead link or a missing image: an error, or a warning in a lenient build. */
    deadReference: lenient ? warning : error,
    /** Reports what was found in a file. */
    report({ display }: SourceLocation, findings: readonly Finding[]): void {
      for (const { severity, line, column, message, hint } of findings) {
        (severity === 'error' ? error : warning)({ display, line, column }, message, hint);
      }
    },
    /** Whether an error was reported, or one in a file or folder. */
    failed: (path?: string): boolean =>
      found.some(
        ({ severity, file }) => severity === 'error' && (path === undefined || `${file}/`.startsWith(`${path}/`)),
      ),
    /** Everything reported, ordered by file, line and column. */
    list: (): readonly Diagnostic[] =>
      found.toSorted((a, b) => compareText(a.file, b.file) || a.line - b.line || a.column - b.column),
  };
}

/** Compares text by code units, independent of the locale. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** A count with its noun: `1 article`, `2 articles`. */
export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** Formats a diagnostic as one line of text or as a GitHub workflow command. */
export function formatDiagnostic(diagnostic: Diagnostic, format: 'text' | 'github'): string {
  const { severity, line, column, hint } = diagnostic;
  const message = escapeControls(hint ? `${diagnostic.message} (${hint})` : diagnostic.message);
  const file = escapeControls(diagnostic.file);
  if (format === 'text') return `${file}:${line}:${column}  ${severity === 'warning' ? 'warning: ' : ''}${message}`;
  const property = file.replaceAll('%', '%25').replaceAll(':', '%3A').replaceAll(',', '%2C');
  return `::${severity} file=${property},line=${line},col=${column}::${message.replaceAll('%', '%25')}`;
}
