import { LineCounter, isMap, isScalar, isSeq, parseDocument } from 'yaml';
import type { Node, Scalar } from 'yaml';
import type { z } from 'zod';
import type { Finding, Position } from './finding.ts';
import { accepts, formatPath, maxCorrections, validate, withoutEmpty } from './schema-issues.ts';
import type { Path } from './schema-issues.ts';
import { findSyntaxFaults, quoteYaml, restOfLine } from './yaml-syntax.ts';
import type { YamlFault } from './yaml-syntax.ts';

/** The valid content of a YAML text, and the mistakes. */
export interface CheckedYaml<Value> {
  /** Undefined if the text has an error. */
  readonly value: Value | undefined;
  /** The top-level fields without errors; undefined if the text is not a mapping. */
  readonly fields: Partial<Value> | undefined;
  /** All errors in the order of the text, then all warnings. */
  readonly findings: readonly Finding[];
  /** Returns the position of the value at a path, or of the nearest ancestor. */
  readonly place: (path: Path) => Position;
}

interface YamlOptions {
  /** Leaves out optional fields that are empty, as content management systems write them. */
  readonly dropEmpty?: boolean;
  /** Replaces a text value before validation; a value with a reported problem is not validated. */
  readonly replaceText?: (text: string, report: (message: string) => void) => string;
  /** Keeps the text and values, which may be credentials, out of messages. */
  readonly hideSource?: boolean;
}

/** Parses and validates YAML (1.2, core schema). Aliases, custom tags and duplicate keys are errors. */
export function parseYaml<Schema extends z.ZodType>(
  text: string,
  schema: Schema,
  { dropEmpty = false, replaceText, hideSource = false }: YamlOptions = {},
): CheckedYaml<z.infer<Schema>> {
  const lines = new LineCounter();
  const document = parseDocument(text, {
    uniqueKeys: false,
    lineCounter: lines,
    version: '1.2',
    schema: 'core',
    // By default !!binary, !!set and similar tags are resolved, although the core schema has none of them.
    resolveKnownTags: false,
    prettyErrors: false,
    logLevel: 'error',
  });
  const root = document.contents;
  const positionAt = (offset: number): Position => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const place = (path: Path): Position => positionAt(offsetOf(root, path));
  const toFindings = (severity: Finding['severity'], faults: readonly YamlFault[]): Finding[] =>
    faults
      .toSorted((a, b) => a.offset - b.offset)
      .map(({ offset, message, hint }) => ({ severity, ...positionAt(offset), message, ...(hint && { hint }) }));

  const broken = findSyntaxFaults({ document, text, hideSource });
  if (broken.length > 0) {
    return { value: undefined, fields: undefined, findings: toFindings('error', broken), place };
  }
  const unreplaced: YamlFault[] = [];
  for (const { node } of replaceText ? scalarsOf(root) : []) {
    if (typeof node.value !== 'string') continue;
    node.value = replaceText!(node.value, (message) => unreplaced.push({ offset: node.range![0], message }));
  }
  const whole = dropEmpty ? withoutEmpty(schema, document.toJS()) : (document.toJS() as unknown);
  const { data, mismatches } = validate(schema, whole, hideSource);
  const cuts = hideSource
    ? []
    : [...scalarsOf(root)]
        .flatMap((scalar) => findCut(scalar, text) ?? [])
        .slice(0, maxCorrections)
        .flatMap((cut) => {
          const texts = [`${cut.kept} ${cut.comment}`.trim(), ...(cut.kept === '' ? [cut.comment.slice(1)] : [])];
          const meant = texts.find((candidate) => accepts(schema, whole, cut.path, candidate));
          return meant === undefined ? [] : { ...cut, meant };
        });
  const warnings = cuts
    .filter(({ kept, start }) => kept !== '' || !mismatches.some(({ path }) => offsetOf(root, path) === start))
    .map(({ path, offset, comment, meant }) => ({
      offset,
      message: `"${formatPath(path)}" ends before ${comment}, which is a comment in YAML`,
      hint: `write ${quoteYaml(meant)}`,
    }));

  const faults = mismatches.flatMap(({ path, atKey, message, hint }): YamlFault[] => {
    const offset = offsetOf(root, path, atKey);
    if (unreplaced.some((fault) => fault.offset === offset)) return [];
    // An apparently empty value may be a text that starts with `#`.
    const cut = cuts.find(({ kept, start }) => kept === '' && start === offset);
    return [{ offset, message, hint: cut ? `YAML reads # as a comment; write ${quoteYaml(cut.meant)}` : hint }];
  });
  const isValid = mismatches.length === 0 && unreplaced.length === 0;
  const invalid = new Set(mismatches.map(({ path }) => String(path[0])));
  const valid = isMap(root) && Object.entries(whole as object).filter(([name]) => !invalid.has(name));
  return {
    value: isValid ? data : undefined,
    fields: isValid ? data : valid ? (Object.fromEntries(valid) as Partial<z.infer<Schema>>) : undefined,
    findings: [...toFindings('error', [...unreplaced, ...faults]), ...toFindings('warning', warnings)],
    place,
  };
}

/** Finds a text that YAML cuts off at a `#`; real comments have a space after the `#`. `kept` is the text before. */
function findCut({ path, node }: { path: Path; node: Scalar }, text: string) {
  const isText = typeof node.value === 'string' && node.type === 'PLAIN';
  if (!node.range || !(isText || node.value === null)) return undefined;
  const [start, end] = node.range;
  const [, space, comment] = /^([ \t]*)(#[\p{L}\p{N}].*)$/u.exec(restOfLine(text, end)) ?? [];
  if (space === undefined || comment === undefined) return undefined;
  return {
    path,
    start,
    offset: end + space.length,
    kept: isText ? text.slice(start, end) : '',
    comment: comment.trim(),
  };
}

/** Other keys are errors, and converting a deeply nested key to text may take forever. */
const nameOf = (key: unknown): string => (isScalar(key) ? String(key.value) : '');

/** Iterates over the scalar values below a node, each with its path. */
function* scalarsOf(node: unknown, path: Path = []): Generator<{ path: Path; node: Scalar }> {
  if (isScalar(node)) yield { path, node };
  if (isSeq(node)) for (const [index, item] of node.items.entries()) yield* scalarsOf(item, [...path, index]);
  if (isMap(node)) for (const { key, value } of node.items) yield* scalarsOf(value, [...path, nameOf(key)]);
}

/** Returns the offset of the node at a path, or of the nearest ancestor. */
function offsetOf(node: unknown, [part, ...rest]: Path, atKey = false, otherwise = 0): number {
  const offset = (node as Node | null | undefined)?.range?.[0] ?? otherwise;
  if (part === undefined) return offset;
  if (isSeq(node)) return offsetOf(node.items[Number(part)], rest, atKey, offset);
  const pair = isMap(node) ? node.items.find(({ key }) => nameOf(key) === String(part)) : undefined;
  if (!pair) return offset;
  const keyOffset = (pair.key as Node).range?.[0] ?? offset;
  return atKey && rest.length === 0 ? keyOffset : offsetOf(pair.value, rest, atKey, keyOffset);
}
