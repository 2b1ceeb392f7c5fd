import { LineCounter, isAlias, isMap, isScalar, isSeq, parseDocument, visit } from 'yaml';
import type { Document, ErrorCode, Node, YAMLMap } from 'yaml';
import type { z } from 'zod';
import { checkOptions, findMismatches } from './schema-issues.ts';

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
  /** Removes quotes of the source text from the parser's messages. */
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
  const broken = findSyntaxProblems(document, hideSource);
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

interface Finding {
  readonly offset: number;
  readonly message: string;
  readonly hint?: string | undefined;
}

/** Hints for the most common mistakes, by the parser's error code. */
const hints: Partial<Record<ErrorCode, string>> = {
  BAD_SCALAR_START: 'put the text in quotes',
  BLOCK_AS_IMPLICIT_KEY: 'put text that contains ": " in quotes',
  TAB_AS_INDENT: 'indent with spaces',
  UNEXPECTED_TOKEN: 'put the whole text in double quotes',
};

function findSyntaxProblems(document: Document.Parsed, hideSource: boolean): Finding[] {
  const errors = [...document.errors, ...document.warnings];
  if (errors.some(({ code }) => code === 'RESOURCE_EXHAUSTION')) {
    return [{ offset: 0, message: 'the YAML is nested too deeply' }];
  }
  const findings = errors.map(({ code, pos, message }): Finding => {
    const text = code === 'MULTIPLE_DOCS' ? 'there is more than one YAML document' : message;
    return { offset: pos[0], message: hideSource ? withoutSource(text) : text, hint: hints[code] };
  });
  visit(document, (_, node) => {
    if (isAlias(node)) {
      const message = 'YAML aliases (*name) are not allowed';
      findings.push({ offset: node.range?.[0] ?? 0, message, hint: 'write the value out' });
    } else if (isMap(node)) {
      findings.push(...findKeyProblems(node));
    }
  });
  return findings;
}

/** Some parser messages quote the text, which may be a credential. */
function withoutSource(message: string): string {
  return message.replace(/(escape sequence|characters|token|stream|tag|found):? .*$/s, '$1');
}

/** Keys that every JavaScript object inherits; allowing them could cause prototype pollution. */
const reservedKeys = new Set(['__proto__', 'constructor', 'prototype']);

/** Finds keys that an object cannot represent: `1` together with `"1"`, lists, and {@link reservedKeys}. */
function findKeyProblems(map: YAMLMap): Finding[] {
  const seen = new Set<string>();
  return map.items.flatMap(({ key }): Finding[] => {
    const offset = (key as Node).range?.[0] ?? 0;
    if (!isScalar(key)) return [{ offset, message: 'a key must be a single value' }];
    const name = String(key.value);
    if (reservedKeys.has(name)) return [{ offset, message: `the key "${name}" is not allowed` }];
    if (seen.has(name)) return [{ offset, message: `"${name}" is given twice`, hint: 'keep one of the two' }];
    seen.add(name);
    return [];
  });
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
