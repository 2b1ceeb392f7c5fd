import type { Finding, Position } from '../common/finding.ts';
import { escapeControls } from '../common/terminal.ts';

/** A source file or folder, by display path, with an optional position. */
export interface SourceLocation extends Partial<Position> {
  readonly display: string;
}

/** A problem in a source file; `file` is a path that a terminal can open. */
export interface Diagnostic extends Finding {
  readonly file: string;
}

/** The strictness of a build: lenient makes dead references warnings, strict makes warnings errors. */
export interface Strictness {
  readonly lenient?: boolean;
  readonly strict?: boolean;
}

/** Reports a problem; `hint` is its remedy. */
export type Report = (place: SourceLocation, message: string, hint?: string) => void;

/** Collects all problems of a build. */
export type Diagnostics = ReturnType<typeof createDiagnostics>;

export function createDiagnostics({ lenient = false, strict = false }: Strictness) {
  const found: Diagnostic[] = [];
  const reportAs =
    (severity: Finding['severity']): Report =>
    ({ display: file, line = 1, column = 1 }, message, hint) =>
      void found.push({ severity, file, line, column, message, hint: hint || undefined });
  const error = reportAs('error');
  const warning = reportAs(strict ? 'error' : 'warning');
  return {
    /** Reports an error, which prevents a release. */
    error,
    /** Reports a warning, or an error in a strict build. */
    warning,
    /** Reports a dead reference as an error, or as a warning in a lenient build. */
    deadReference: lenient ? warning : error,
    /** Reports findings in a file. */
    report({ display }: SourceLocation, findings: readonly Finding[]): void {
      for (const { severity, isLenient = false, line, column, message, hint } of findings) {
        const reportError = isLenient && lenient ? warning : error;
        (severity === 'error' ? reportError : warning)({ display, line, column }, message, hint);
      }
    },
    /** Checks whether an error was reported, anywhere or in a file or folder. */
    failed: (path?: string): boolean =>
      found.some(
        ({ severity, file }) => severity === 'error' && (path === undefined || `${file}/`.startsWith(`${path}/`)),
      ),
    /** Lists all diagnostics by file, line and column. */
    list: (): readonly Diagnostic[] =>
      found.toSorted((a, b) => compareText(a.file, b.file) || a.line - b.line || a.column - b.column),
  };
}

/** Compares texts by code units, independent of the locale. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * Compares names as readers sort them, with numbers by value: `2 tips`, `10 tips`, `Äpfel`, `nginx`. Node.js creates the
 * collator at the first call, which takes 15 ms: a build without changes compares no names.
 */
export const compareNames = (a: string, b: string): number => a.localeCompare(b, 'en-u-kn');

/** Formats a count with a noun: `1 article`, `2 articles`. */
export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** Formats a diagnostic as one line of text or as a GitHub workflow command. */
export function formatDiagnostic(diagnostic: Diagnostic, format: 'text' | 'github'): string {
  const { severity, file, line, column, hint } = diagnostic;
  const message = hint ? `${diagnostic.message} (${hint})` : diagnostic.message;
  const text = `${file}:${line}:${column}  ${severity === 'warning' ? 'warning: ' : ''}${message}`;
  if (format === 'text') return escapeControls(text);
  const property = file.replaceAll('%', '%25').replaceAll(':', '%3A').replaceAll(',', '%2C');
  return escapeControls(`::${severity} file=${property},line=${line},col=${column}::${message.replaceAll('%', '%25')}`);
}
