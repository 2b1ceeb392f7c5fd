import { LineCounter, isMap, isScalar, isSeq, parseDocument, visit } from 'yaml';
import type { Document, Node } from 'yaml';
import type { z } from 'zod';
import { findCutTexts } from './cut-comments.ts';
import type { CutText } from './cut-comments.ts';
import { accepts, checkOptions, findMismatches, formatPath, maxCorrections } from './schema-issues.ts';
import type { Mismatch } from './schema-issues.ts';
import { findSyntaxProblems, quote } from './yaml-syntax.ts';
import type { Finding } from './yaml-syntax.ts';

/** A position in a text; lines and columns count from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** A problem in a YAML text, with a hint how to fix it. */
export interface YamlProblem extends Position {
  readonly message: string;
  readonly hint?: string;
}

/** The value of a YAML document with its positions. */
export interface CheckedYaml<Value> {
  readonly value: Value;
  /** The position of the value at a path of keys, or of its nearest ancestor. */
  readonly place: (path: readonly PropertyKey[]) => Position;
}

/** A valid YAML document. */
export interface ValidYaml<Value> extends CheckedYaml<Value> {
  readonly warnings: readonly YamlProblem[];
}

/** A YAML document with problems. */
export interface InvalidYaml<Value> {
  readonly problems: readonly YamlProblem[];
  readonly warnings: readonly YamlProblem[];
  /** The top-level fields without a problem; undefined if the document is no mapping. */
  readonly fields: CheckedYaml<Partial<Value>> | undefined;
}

/** Options for files that contain credentials. */
export interface YamlOptions {
  /** Replaces a text value before validation. A value with a reported problem is not validated. */
  readonly replaceText?: (text: string, report: (message: string) => void) => string;
  /** Leaves the source text and values out of messages. */
  readonly hideSource?: boolean;
}

/**
 * Parses YAML (1.2, core schema) and validates it. Returns the value, or all problems in the order of the text. Aliases,
 * custom tags and duplicate keys are errors.
 */
export function parseYaml<Schema extends z.ZodType>(
  text: string,
  schema: Schema,
  { replaceText, hideSource = false }: YamlOptions = {},
): ValidYaml<z.infer<Schema>> | InvalidYaml<z.infer<Schema>> {
  const { document, toProblems, positionAt } = parse(text);
  const broken = findSyntaxProblems({ document, text, hideSource });
  if (broken.length > 0) return { problems: toProblems(broken), warnings: [], fields: undefined };
  const unreplaced = replaceText ? replaceTexts(document, replaceText) : [];
  const value: unknown = document.toJS();
  const result = schema.safeParse(value, checkOptions);
  const root = document.contents;
  const place = (path: readonly PropertyKey[]): Position => positionAt(offsetOf(root, path));
  const cuts = hideSource
    ? []
    : findCutTexts(document, text)
        .slice(0, maxCorrections)
        .filter(({ path, kept, comment }) => accepts(schema, value, path, `${kept} ${comment}`.trim()));
  const warnings = toProblems(cuts.filter(({ kept }) => kept !== '').map((cut) => describeCut(cut)));
  if (result.success && unreplaced.length === 0) return { value: result.data, place, warnings };
  const isQuoted = (path: readonly PropertyKey[]): boolean => /^["']/.test(text.slice(offsetOf(root, path)));
  const mismatches = findMismatches(value, schema, result.error?.issues ?? [], { isQuoted, hideValues: hideSource });
  const findings = mismatches
    .map(({ path, atKey, message, hint }) => ({ message, hint, offset: offsetOf(root, path, atKey) }))
    .map((finding) => addCutHint(finding, cuts))
    .filter(({ offset }) => !unreplaced.some((finding) => finding.offset === offset));
  const fields = isMap(root) ? { value: omitInvalid(value, mismatches) as Partial<z.infer<Schema>>, place } : undefined;
  return { problems: toProblems([...unreplaced, ...findings]), warnings, fields };
}

/** Parses a YAML text, with functions that convert offsets in it to lines and columns. */
function parse(text: string) {
  const lines = new LineCounter();
  const document = parseDocument(text, {
    uniqueKeys: false,
    lineCounter: lines,
    version: '1.2',
    schema: 'core',
    // Otherwise !!binary, !!set and similar tags would be resolved although the core schema does not include them.
    resolveKnownTags: false,
    prettyErrors: false,
    logLevel: 'error',
  });
  const positionAt = (offset: number): Position => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const toProblems = (findings: readonly Finding[]): YamlProblem[] =>
    findings
      .toSorted((a, b) => a.offset - b.offset)
      .map(({ offset, message, hint }) => ({ ...positionAt(offset), message, ...(hint && { hint }) }));
  return { document, positionAt, toProblems };
}

function describeCut({ path, offset, kept, comment }: CutText): Finding {
  const message = `"${formatPath(path)}" ends before ${comment}, which YAML reads as a comment`;
  return { offset, message, hint: `write ${quote(`${kept} ${comment}`)}` };
}

/** A value that seems to be empty may be a text that begins with a `#`. */
function addCutHint(finding: Finding, cuts: readonly CutText[]): Finding {
  const cut = cuts.find(({ kept, start }) => kept === '' && start === finding.offset);
  if (!cut) return finding;
  return { ...finding, hint: `YAML reads what follows # as a comment; write ${quote(cut.comment)}` };
}

/** The fields of a mapping that no mismatch is about. */
function omitInvalid(mapping: unknown, mismatches: readonly Mismatch[]): unknown {
  const invalid = new Set(mismatches.map(({ path }) => String(path[0])));
  return Object.fromEntries(Object.entries(mapping as object).filter(([name]) => !invalid.has(name)));
}

/** Replaces the text values of a document, but not its keys; returns the reported problems. */
function replaceTexts(document: Document.Parsed, replace: NonNullable<YamlOptions['replaceText']>): Finding[] {
  const findings: Finding[] = [];
  visit(document, {
    Scalar(role, node) {
      if (role === 'key' || typeof node.value !== 'string') return;
      const offset = node.range?.[0] ?? 0;
      node.value = replace(node.value, (message) => findings.push({ offset, message }));
    },
  });
  return findings;
}

/** The offset of the node at a path, or of its nearest ancestor. */
function offsetOf(root: unknown, path: readonly PropertyKey[], atKey = false): number {
  let node = root as Node | null | undefined;
  let offset = node?.range?.[0] ?? 0;
  for (const [index, part] of path.entries()) {
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => String(isScalar(key) ? key.value : key) === String(part));
      if (!pair) break;
      const last = index === path.length - 1;
      const keyOffset = (pair.key as Node).range?.[0];
      node = pair.value as Node | null;
      offset = (last && atKey ? keyOffset : (node?.range?.[0] ?? keyOffset)) ?? offset;
    } else if (isSeq(node)) {
      node = node.items[Number(part)] as Node | undefined;
      offset = node?.range?.[0] ?? offset;
    } else {
      break;
    }
  }
  return offset;
}
