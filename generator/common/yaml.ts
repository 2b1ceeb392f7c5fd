import { LineCounter, isMap, isPair, isScalar, isSeq, parseDocument, visit } from 'yaml';
import type { Document, Node, Pair } from 'yaml';
import type { z } from 'zod';
import type { Finding, Position } from './finding.ts';
import { accepts, checkOptions, findMismatches, formatPath, maxCorrections } from './schema-issues.ts';
import { findSyntaxFaults, quote } from './yaml-syntax.ts';
import type { Fault } from './yaml-syntax.ts';

/** The content of a YAML text, as far as it is valid. */
export interface CheckedYaml<Value> {
  /** Undefined if there is any error. */
  readonly value: Value | undefined;
  /** The top-level fields without an error; undefined if the text is no mapping. */
  readonly fields: Partial<Value> | undefined;
  /** All errors in the order of the text, and then all warnings. */
  readonly findings: readonly Finding[];
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

/** Parses YAML (1.2, core schema) and validates it. Aliases, custom tags and duplicate keys are errors. */
export function parseYaml<Schema extends z.ZodType>(
  text: string,
  schema: Schema,
  { replaceText, hideSource = false }: YamlOptions = {},
): CheckedYaml<z.infer<Schema>> {
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
  const root = document.contents;
  const positionAt = (offset: number): Position => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const place = (path: readonly PropertyKey[]): Position => positionAt(offsetOf(root, path));
  const toFindings = (severity: Finding['severity'], faults: readonly Fault[]): Finding[] =>
    faults
      .toSorted((a, b) => a.offset - b.offset)
      .map(({ offset, message, hint }) => ({ severity, ...positionAt(offset), message, ...(hint && { hint }) }));

  const broken = findSyntaxFaults({ document, text, hideSource });
  if (broken.length > 0) {
    return { value: undefined, fields: undefined, findings: toFindings('error', broken), place };
  }
  const unreplaced = replaceText ? replaceTexts(document, replaceText) : [];
  const whole: unknown = document.toJS();
  const { data, error } = schema.safeParse(whole, checkOptions);
  const cuts = hideSource
    ? []
    : findCutTexts(document, text)
        .slice(0, maxCorrections)
        .filter(({ path, kept, comment }) => accepts(schema, whole, path, `${kept} ${comment}`.trim()));
  const warnings = toFindings(
    'warning',
    cuts.filter(({ kept }) => kept !== '').map((cut) => describeCut(cut)),
  );
  if (!error && unreplaced.length === 0) return { value: data, fields: data, findings: warnings, place };

  const isQuoted = (path: readonly PropertyKey[]): boolean => /^["']/.test(text.slice(offsetOf(root, path)));
  const mismatches = findMismatches(whole, schema, error?.issues ?? [], isQuoted, hideSource);
  const faults = mismatches.flatMap(({ path, atKey, message, hint }): Fault[] => {
    const offset = offsetOf(root, path, atKey);
    if (unreplaced.some((fault) => fault.offset === offset)) return [];
    // A value that seems to be empty may be a text that begins with a `#`.
    const cut = cuts.find(({ kept, start }) => kept === '' && start === offset);
    // In braces, `4,99` is 4 and an unknown field 99.
    const [, units] = (atKey && !hideSource && /\b(\d+),$/.exec(text.slice(0, offset))) || [];
    const decimals = units !== undefined && /^\d+$/.test(String(path.at(-1))) ? String(path.at(-1)) : undefined;
    if (decimals !== undefined) return [{ offset, message, hint: `write ${units}.${decimals}` }];
    const write = cut && `YAML reads what follows # as a comment; write ${quote(cut.comment)}`;
    return [{ offset, message, hint: write ?? hint }];
  });
  const invalid = new Set(mismatches.map(({ path }) => String(path[0])));
  const valid = isMap(root) && Object.entries(whole as object).filter(([name]) => !invalid.has(name));
  return {
    value: undefined,
    fields: valid ? (Object.fromEntries(valid) as Partial<z.infer<Schema>>) : undefined,
    findings: [...toFindings('error', [...unreplaced, ...faults]), ...warnings],
    place,
  };
}

/** A text that ends at a `#`, since YAML reads the rest of the line as a comment. */
interface CutText {
  /** The path of keys to the text. */
  readonly path: readonly PropertyKey[];
  /** The offset of the text, and of its `#`. */
  readonly start: number;
  readonly offset: number;
  /** What is left of the text: empty if it begins with the `#`. */
  readonly kept: string;
  readonly comment: string;
}

/** Finds texts that a comment cuts off. A real comment has a space after its `#`. */
function findCutTexts(document: Document.Parsed, text: string): CutText[] {
  const found: CutText[] = [];
  visit(document, {
    Scalar(role, node, ancestors) {
      const isText = typeof node.value === 'string' && node.type === 'PLAIN';
      if (role === 'key' || !node.range || !(isText || node.value === null)) return;
      const [start, end] = node.range;
      const newline = text.indexOf('\n', end);
      const line = text.slice(end, newline < 0 ? undefined : newline);
      const [, space, comment] = /^([ \t]*)(#[\p{L}\p{N}].*)$/u.exec(line) ?? [];
      if (space === undefined || comment === undefined) return;
      const path = pathOf([...ancestors, node]);
      const kept = isText ? text.slice(start, end) : '';
      found.push({ path, start, offset: end + space.length, kept, comment: comment.trim() });
    },
  });
  return found;
}

function describeCut({ path, offset, kept, comment }: CutText): Fault {
  const message = `"${formatPath(path)}" ends before ${comment}, which YAML reads as a comment`;
  return { offset, message, hint: `write ${quote(`${kept} ${comment}`)}` };
}

/** Replaces the text values of a document, but not its keys; returns the reported problems. */
function replaceTexts(document: Document.Parsed, replace: NonNullable<YamlOptions['replaceText']>): Fault[] {
  const faults: Fault[] = [];
  visit(document, {
    Scalar(role, node) {
      if (role === 'key' || typeof node.value !== 'string') return;
      const offset = node.range?.[0] ?? 0;
      node.value = replace(node.value, (message) => faults.push({ offset, message }));
    },
  });
  return faults;
}

/** A key that is no single value is an error, and writing it out may take forever. */
const nameOf = (key: unknown): string => (isScalar(key) ? String(key.value) : '');

/** The path of keys that leads through nodes, of which each contains the next. */
function pathOf(nodes: readonly (Document | Node | Pair)[]): PropertyKey[] {
  return nodes.flatMap((node, index): PropertyKey[] => {
    const next = nodes[index + 1];
    if (isSeq(node)) return [node.items.indexOf(next)];
    return isMap(node) && isPair(next) ? [nameOf(next.key)] : [];
  });
}

/** The offset of the node at a path, or of its nearest ancestor. */
function offsetOf(root: unknown, path: readonly PropertyKey[], atKey = false): number {
  let node = root as Node | null | undefined;
  let offset = node?.range?.[0] ?? 0;
  for (const [index, part] of path.entries()) {
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => nameOf(key) === String(part));
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
