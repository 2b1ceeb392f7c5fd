import { LineCounter, isMap, isScalar, isSeq, parseDocument, visit } from 'yaml';
import type { Document, Node } from 'yaml';
import type { z } from 'zod';
import { checkOptions, findMismatches } from './schema-issues.ts';
import { findSyntaxProblems } from './yaml-syntax.ts';
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

/** A checked YAML document. */
export interface CheckedYaml<Value> {
  readonly value: Value;
  /** The position of the value at a path of keys, or of its nearest ancestor. */
  readonly place: (path: readonly PropertyKey[]) => Position;
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
): CheckedYaml<z.infer<Schema>> | { readonly problems: readonly YamlProblem[] } {
  const lines = new LineCounter();
  const positionAt = (offset: number): Position => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const toProblems = (findings: readonly Finding[]) => ({
    problems: findings
      .toSorted((a, b) => a.offset - b.offset)
      .map(({ offset, message, hint }) => ({ ...positionAt(offset), message, ...(hint && { hint }) })),
  });
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
  const broken = findSyntaxProblems({ document, text, hideSource });
  if (broken.length > 0) return toProblems(broken);
  const unreplaced = replaceText ? replaceTexts(document, replaceText) : [];
  const value: unknown = document.toJS();
  const result = schema.safeParse(value, checkOptions);
  const root = document.contents;
  if (result.success && unreplaced.length === 0) {
    return { value: result.data, place: (path) => positionAt(offsetOf(root, path)) };
  }
  const isQuoted = (path: readonly PropertyKey[]): boolean => /^["']/.test(text.slice(offsetOf(root, path)));
  const mismatches = findMismatches(value, schema, result.error?.issues ?? [], { isQuoted, hideValues: hideSource })
    .map(({ path, atKey, ...rest }) => ({ ...rest, offset: offsetOf(root, path, atKey) }))
    .filter(({ offset }) => !unreplaced.some((finding) => finding.offset === offset));
  return toProblems([...unreplaced, ...mismatches]);
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
