import type { Place, Problems } from '../common/yaml.ts';

/** Something wrong in a source file, and how to mend it. */
export interface Diagnostic extends Place {
  readonly severity: 'error' | 'warning';
  readonly message: string;
  readonly hint?: string;
}

/** How diagnostics are printed: for people, for programs, or as annotations of a GitHub workflow. */
export type DiagnosticFormat = 'text' | 'json' | 'github';

/** Collects everything that is wrong with a build, so that one run reports it all. */
export interface Diagnostics extends Problems {
  /** Words a dead reference: an error, or a warning in a lenient build. The hint is looked for when it is read. */
  deadReference(place: Place, message: string, findHint?: () => string | undefined): Diagnostic;
  /** Reports dead references, whether this build found them or one before. */
  report(references: readonly Diagnostic[]): void;
  /** Whether an error was reported. */
  failed(): boolean;
  /** Everything reported, ordered by file, line and column. */
  list(): readonly Diagnostic[];
}

/** Creates an empty collection; a lenient one takes dead references for warnings. */
export function createDiagnostics(lenient: boolean): Diagnostics {
  const errors: Diagnostic[] = [];
  const dead: (readonly Diagnostic[])[] = [];
  return {
    error: ({ file, line, column }, message, hint) =>
      void errors.push({ severity: 'error', file, line, column, message, ...(hint && { hint }) }),
    deadReference({ file, line, column }, message, findHint) {
      const diagnostic = { severity: lenient ? 'warning' : 'error', file, line, column, message } as const;
      return findHint ? withHint(diagnostic, findHint) : diagnostic;
    },
    report(references) {
      if (references.length > 0) dead.push(references);
    },
    failed: () => errors.length > 0 || (dead.length > 0 && !lenient),
    list: () =>
      [...errors, ...dead.flat()].toSorted(
        (a, b) => compareText(a.file, b.file) || a.line - b.line || a.column - b.column,
      ),
  };
}

/** Nearest names take long to find, and most are never read: of a thousand warnings, `dev` prints those that are new. */
function withHint(diagnostic: Diagnostic, find: () => string | undefined): Diagnostic {
  let hint: string | undefined;
  let found = false;
  return Object.defineProperty(diagnostic, 'hint', {
    enumerable: true,
    get() {
      if (!found) hint = find();
      found = true;
      return hint;
    },
  });
}

/** Orders text by code unit, the same on every machine and in every locale. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** One diagnostic as one line of text, or as a GitHub workflow command. */
export function formatDiagnostic(diagnostic: Diagnostic, format: 'text' | 'github'): string {
  const { severity, file, line, column, hint } = diagnostic;
  const message = printable(hint ? `${diagnostic.message} (${hint})` : diagnostic.message);
  if (format === 'github') {
    return `::${severity} file=${escapeProperty(file)},line=${line},col=${column}::${message.replaceAll('%', '%25')}`;
  }
  return `${printable(file)}:${line}:${column}  ${severity === 'warning' ? 'warning: ' : ''}${message}`;
}

function escapeProperty(text: string): string {
  return printable(text).replaceAll('%', '%25').replaceAll(':', '%3A').replaceAll(',', '%2C');
}

/** A message may quote the source, whose control characters could rewrite what a terminal or a CI log shows. */
function printable(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029\u202A-\u202E\u2066-\u2069]/gu, (char) => {
    return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}
