import type { Finding, Position } from '../common/finding.ts';
import { escapeControls } from '../common/terminal.ts';

/** A position in a source file; `file` is a path that a terminal can open. */
export interface Place extends Position {
  readonly file: string;
}

/** A problem in a source file, with a hint how to fix it. */
export interface Diagnostic extends Place, Finding {}

/** How diagnostics are printed: for people, for programs, or as GitHub workflow annotations. */
export type DiagnosticFormat = 'text' | 'json' | 'github';

/** How a build treats what may be intended: lenient, dead references are warnings; strict, warnings are errors. */
export interface Strictness {
  readonly lenient?: boolean;
  readonly strict?: boolean;
}

/** Collects all problems of a build, so that one run reports them together. */
export type Diagnostics = ReturnType<typeof createDiagnostics>;

/** Creates an empty collection. */
export function createDiagnostics({ lenient = false, strict = false }: Strictness) {
  const found: Diagnostic[] = [];
  const warning = strict ? 'error' : 'warning';
  const reportAs = (severity: Finding['severity']) => (place: Place, message: string, hint?: string) => {
    const { file, line, column } = place;
    found.push({ severity, file, line, column, message, ...(hint && { hint }) });
  };
  return {
    /** Reports an error; a build with errors makes no release. */
    error: reportAs('error'),
    /** Reports a probable mistake: a warning, or an error in a strict build. */
    warning: reportAs(warning),
    /** Reports a dead link or a missing image: an error, or a warning in a lenient build and in work in progress. */
    deadReference(place: Place, message: string, findHint?: () => string | undefined, isInProgress = false): void {
      const { file, line, column } = place;
      const severity = lenient || isInProgress ? warning : 'error';
      // Computed when read: the search for similar names is slow, and `dev` prints new problems only.
      found.push({
        severity,
        file,
        line,
        column,
        message,
        get hint() {
          return findHint?.();
        },
      });
    },
    /** Reports what was found in a file. */
    report(file: string, findings: readonly Finding[]): void {
      for (const { severity, message, hint, ...position } of findings) {
        reportAs(severity === 'error' ? severity : warning)({ file, ...position }, message, hint);
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

/** Formats a diagnostic as one line of text or as a GitHub workflow command. */
export function formatDiagnostic(diagnostic: Diagnostic, format: 'text' | 'github'): string {
  const { severity, line, column, hint } = diagnostic;
  const message = escapeControls(hint ? `${diagnostic.message} (${hint})` : diagnostic.message);
  const file = escapeControls(diagnostic.file);
  if (format === 'text') return `${file}:${line}:${column}  ${severity === 'warning' ? 'warning: ' : ''}${message}`;
  const property = file.replaceAll('%', '%25').replaceAll(':', '%3A').replaceAll(',', '%2C');
  return `::${severity} file=${property},line=${line},col=${column}::${message.replaceAll('%', '%25')}`;
}
