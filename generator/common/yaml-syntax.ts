import { isAlias, isCollection, isMap, isScalar, visit } from 'yaml';
import type { Document, Node, YAMLError, YAMLMap } from 'yaml';

/** A problem at an offset of a YAML text. */
export interface Finding {
  readonly offset: number;
  readonly message: string;
  readonly hint?: string | undefined;
}

/** A finding, and whether errors after it may only follow from it. */
interface SyntaxFinding extends Finding {
  readonly hidesOthers?: boolean;
}

/** A parsed YAML text. */
interface Source {
  readonly text: string;
  readonly document: Document.Parsed;
  /** Leaves the text out of hints, as it may hold credentials. */
  readonly hideSource: boolean;
}

/** To describe an error takes time, and so many only follow from the first. */
const maxErrors = 100;

/**
 * Finds what is wrong with the syntax of a YAML text: aliases, tags and duplicate keys too. One mistake often makes the
 * parser report many errors, so only the first of those that may follow from each other is kept.
 */
export function findSyntaxProblems(source: Source): Finding[] {
  const { document, text } = source;
  const conflicts = findConflicts(text);
  if (conflicts.length > 0) return conflicts;
  const errors = [...document.errors, ...document.warnings];
  if (errors.some(({ code }) => code === 'RESOURCE_EXHAUSTION')) {
    return [{ offset: 0, message: 'the YAML is nested too deeply' }];
  }
  const findings: SyntaxFinding[] = errors.slice(0, maxErrors).map((error) => describeError(error, source));
  visit(document, (_, node) => {
    if (isAlias(node)) findings.push({ offset: node.range?.[0] ?? 0, ...noAlias });
    else if (isMap(node)) findings.push(...findKeyProblems(node));
  });
  const sorted = findings.toSorted((a, b) => a.offset - b.offset);
  const first = sorted.find(({ hidesOthers }) => hidesOthers);
  const lines = new Set<number>();
  return sorted.filter((finding) => {
    if (finding.hidesOthers && finding !== first) return false;
    const line = lineStart(text, finding.offset);
    const isNew = !lines.has(line);
    lines.add(line);
    return isNew || finding.message === noAlias.message;
  });
}

const noAlias = {
  message: 'YAML aliases (*name) are not allowed',
  hint: 'write the value out, or put a text that begins with * in quotes',
};

/** A problem for a text with conflict markers of git, at the line where each conflict begins. */
export function findConflicts(text: string): Finding[] {
  const markers = [...text.matchAll(/^(?:<{7}|>{7}|\|{7})(?= |$)|^={7}$/gm)];
  const starts = markers.filter(([marker]) => marker.startsWith('<'));
  return (starts.length > 0 ? starts : markers.slice(0, 1)).map(({ index: offset }) => ({
    offset,
    message: 'a merge conflict is not resolved',
    hint: 'keep one of the two texts and delete the lines with <<<<<<<, ======= and >>>>>>>',
  }));
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

/** Describes an error of the parser in the words of somebody who writes articles. */
function describeError(error: YAMLError, source: Source): SyntaxFinding {
  const { code, pos, message } = error;
  const { text } = source;
  const offset = pos[0];
  if (code === 'TAG_RESOLVE_FAILED') {
    return { offset, message: 'YAML tags (!name) are not allowed', hint: 'put a text that begins with ! in quotes' };
  }
  if (code === 'BAD_DQ_ESCAPE') {
    const hint = 'or put the text in single quotes';
    return { offset, message: 'a backslash in double quotes must be written as \\\\', hint };
  }
  if (code === 'MULTIPLE_DOCS') return { offset, message: 'there is more than one YAML document' };
  if (code === 'TAB_AS_INDENT') {
    const hint = 'indent with spaces, here and below';
    return { offset, message: 'this line is indented with a tab', hint, hidesOthers: true };
  }
  if (code === 'BLOCK_IN_FLOW') return describeBlockInFlow(offset, text);
  const isLine = code === 'MULTILINE_IMPLICIT_KEY' || message.startsWith('Implicit map keys');
  if (isLine && !isValue(text, offset)) return describeLine(offset, text);
  if (message.startsWith('Missing , or :')) {
    return { offset, message: 'a comma is missing before this', hidesOthers: true };
  }
  return (
    describeUnclosed(error, source) ??
    describeUnquoted(offset, source) ??
    describeIndentation(offset, message, text) ?? {
      offset,
      message: 'this does not belong here',
      hint: 'remove it, or put the whole text in quotes',
      hidesOthers: true,
    }
  );
}

function lineStart(text: string, offset: number): number {
  return text.lastIndexOf('\n', offset - 1) + 1;
}

function lineAt(text: string, offset: number): string {
  const start = lineStart(text, offset);
  const end = text.indexOf('\n', start);
  return text.slice(start, end < 0 ? undefined : end);
}

/** What stands before the value of a line: its indentation, dashes and key. */
const beforeValue = /^\s*(?:- +)*(?:[^\s"'#:[\]{}&*!|>%@`-][^:]*:[ \t]+|(?<=- +))/;

/** The offset at which the value of a line begins; undefined if it has none. */
function valueStart(text: string, offset: number): number | undefined {
  const [before] = beforeValue.exec(lineAt(text, offset)) ?? [];
  return before === undefined ? undefined : lineStart(text, offset) + before.length;
}

function isValue(text: string, offset: number): boolean {
  return (valueStart(text, offset) ?? Infinity) <= offset;
}

/** A line without a colon, or without the space after its colon or dash. */
function describeLine(offset: number, text: string): SyntaxFinding {
  const line = text.slice(offset).split('\n', 1)[0]!;
  const [, key = '', space] = /^([\w-]+:)([^\S ]?)/.exec(line) ?? [];
  if (space) {
    const message = 'the space after the colon is not an ordinary one';
    return { offset: offset + key.length, message, hint: 'delete it and type a space', hidesOthers: true };
  }
  if (key) return { offset: offset + key.length, message: 'a space is missing after the colon', hidesOthers: true };
  if (line.startsWith('-'))
    return { offset: offset + 1, message: 'a space is missing after the dash', hidesOthers: true };
  const hint = 'write "name: value", or indent the line if it continues the text above it';
  return { offset, message: 'this line is no field', hint, hidesOthers: true };
}

function describeBlockInFlow(offset: number, text: string): SyntaxFinding {
  const next = /\s([\w-]+):\s/.exec(lineAt(text, offset).slice(offset - lineStart(text, offset)));
  const place = next ? offset + next.index + 1 : offset;
  return { offset: place, message: 'a comma is missing before this field', hidesOthers: true };
}

/** A quote or bracket that is not closed; the parser reports where it noticed. */
function describeUnclosed({ pos, message }: YAMLError, { document, text }: Source): SyntaxFinding | undefined {
  const [offset] = pos;
  let start: number | undefined;
  const isOpenQuote = (from: number, to: number): boolean =>
    message.startsWith('Missing closing')
      ? to >= offset
      : text.slice(from, to).includes('\n') && !text.slice(to, offset).includes('\n');
  const isOpenCollection = (to: number): boolean => to > offset || (to === offset && !/[\]}]/.test(text[to - 1]!));
  visit(document, {
    Node(_, node) {
      const [from, to] = node.range ?? [Infinity, 0];
      if (from >= offset) return;
      const isOpen = isCollection(node)
        ? node.flow === true && isOpenCollection(to)
        : /["']/.test(text[from]!) && isOpenQuote(from, to);
      if (isOpen) start = from;
    },
  });
  if (start === undefined) return undefined;
  const sign = text[start]!;
  const isQuote = /["']/.test(sign);
  const hint = isQuote ? `add ${sign} at the end of the text` : `end it with ${sign === '[' ? ']' : '}'}`;
  return { offset: start, message: `this ${isQuote ? 'quote' : sign} is not closed`, hint, hidesOthers: true };
}

/** A text without quotes that YAML does not read as a text. */
function describeUnquoted(offset: number, { text, hideSource }: Source): SyntaxFinding | undefined {
  const start = valueStart(text, offset);
  if (start === undefined || start > offset) return undefined;
  const value = text.slice(start).split('\n', 1)[0]!.trim();
  const sign = value.charAt(0);
  // A bracket too many.
  if (/[[{]/.test(sign) && /[\]}]/.test(text[offset]!)) return undefined;
  const hint = hideSource ? 'put the whole text in quotes' : `write ${quote(value)}`;
  if (/["']/.test(sign)) return { offset, message: 'text follows the closing quote', hint };
  if (/[@`%>|?[{-]/.test(sign))
    return { offset: start, message: `a text that begins with ${sign} must be in quotes`, hint };
  if (/: /.test(value)) return { offset: start, message: 'a text that contains ": " must be in quotes', hint };
  return undefined;
}

/** Writes a text in quotes; quotes around the whole text are replaced. */
export function quote(value: string): string {
  const text = /^(["'])(?!(?:(?!\1).)+\1\s)(.*)\1$/.exec(value)?.[2] ?? value;
  return /["\\]/.test(text) ? `'${text.replaceAll("'", "''")}'` : `"${text}"`;
}

/** The parser's own words, or a value that goes on in an indented line. */
function describeIndentation(offset: number, message: string, text: string): SyntaxFinding | undefined {
  const line = lineStart(text, offset);
  const indentOf = (from: number): number => from + /^ */.exec(text.slice(from))![0].length;
  const isAtStart = indentOf(line) >= offset;
  if (!isAtStart && !/[Ii]mplicit keys|compact mappings/.test(message)) return undefined;
  const next = text.indexOf('\n', offset) + 1;
  const wrong = isAtStart ? indentOf(line) : indentOf(next);
  const hint = 'begin it in the column of the fields beside it';
  return {
    offset: wrong,
    message: 'the indentation of this line does not match the lines above',
    hint,
    hidesOthers: true,
  };
}
