import { isAlias, isCollection, isMap, isScalar, visit } from 'yaml';
import type { Document, ErrorCode, Node, YAMLError, YAMLMap } from 'yaml';
import { mergeConflict } from './finding.ts';
import type { Finding } from './finding.ts';

/** What is wrong at an offset of a YAML text. */
export interface Fault extends Pick<Finding, 'message' | 'hint'> {
  readonly offset: number;
  /** Whether errors after it may only follow from it. */
  readonly hidesOthers?: boolean;
}

/** A parsed YAML text. */
export interface Source {
  readonly text: string;
  readonly document: Document.Parsed;
  /** Leaves the text out of hints, as it may hold credentials. */
  readonly hideSource: boolean;
}

/** To describe an error takes time, and so many only follow from the first. */
const maxErrors = 100;

/**
 * Finds what is wrong with the syntax of a YAML text, in its order: aliases, tags and duplicate keys too. One mistake often
 * makes the parser report many errors, so only the first of those that may follow from each other is kept.
 */
export function findSyntaxFaults(source: Source): Fault[] {
  const { document, text } = source;
  const conflicts = findConflicts(text);
  if (conflicts.length > 0) return conflicts;
  const errors = [...document.errors, ...document.warnings];
  if (errors.some(({ code }) => code === 'RESOURCE_EXHAUSTION')) {
    return [{ offset: 0, message: 'the YAML is nested too deeply' }];
  }
  const faults: Fault[] = errors.slice(0, maxErrors).map((error) => describeError(error, source));
  visit(document, (_, node) => {
    if (isAlias(node)) faults.push({ offset: node.range?.[0] ?? 0, ...noAlias });
    else if (isMap(node)) faults.push(...findKeyFaults(node));
  });
  const sorted = faults.toSorted((a, b) => a.offset - b.offset);
  const first = sorted.find(({ hidesOthers }) => hidesOthers);
  const lines = new Set<number>();
  return sorted.filter((fault) => {
    if (fault.hidesOthers && fault !== first) return false;
    const line = lineStart(text, fault.offset);
    const isNew = !lines.has(line);
    lines.add(line);
    return isNew || fault.message === noAlias.message;
  });
}

const noAlias = {
  message: 'YAML aliases (*name) are not allowed',
  hint: 'write the value out, or put a text that begins with * in quotes',
};

/** Finds conflict markers of git, at the line where each conflict begins. */
export function findConflicts(text: string): Fault[] {
  const markers = [...text.matchAll(/^(?:<{7}|>{7}|\|{7})(?= |$)|^={7}$/gm)];
  const starts = markers.filter(([marker]) => marker.startsWith('<'));
  return (starts.length > 0 ? starts : markers.slice(0, 1)).map(({ index: offset }) => ({ offset, ...mergeConflict }));
}

/** Keys that every JavaScript object inherits; allowing them could cause prototype pollution. */
const reservedKeys = new Set(['__proto__', 'constructor', 'prototype']);

/** Finds keys that an object cannot represent: `1` together with `"1"`, lists, and {@link reservedKeys}. */
function findKeyFaults(map: YAMLMap): Fault[] {
  const seen = new Set<string>();
  return map.items.flatMap(({ key }): Fault[] => {
    const offset = (key as Node).range?.[0] ?? 0;
    if (!isScalar(key)) return [{ offset, message: 'a key must be a single value' }];
    const name = String(key.value);
    if (reservedKeys.has(name)) return [{ offset, message: `the key "${name}" is not allowed` }];
    if (seen.has(name)) return [{ offset, message: `"${name}" is given twice`, hint: 'keep one of the two' }];
    seen.add(name);
    return [];
  });
}

/** The parser's errors that say enough by their code. */
const byCode: Partial<Record<ErrorCode, Omit<Fault, 'offset'>>> = {
  TAG_RESOLVE_FAILED: { message: 'YAML tags (!name) are not allowed', hint: 'put a text that begins with ! in quotes' },
  BAD_DQ_ESCAPE: {
    message: 'a backslash in double quotes must be written as \\\\',
    hint: 'or put the text in single quotes',
  },
  MULTIPLE_DOCS: { message: 'there is more than one YAML document' },
  TAB_AS_INDENT: {
    message: 'this line is indented with a tab',
    hint: 'indent with spaces, here and below',
    hidesOthers: true,
  },
};

/** Describes an error of the parser in the words of somebody who writes articles: the first that finds a mistake is right. */
function describeError(error: YAMLError, source: Source): Fault {
  const offset = error.pos[0];
  const known = byCode[error.code];
  if (known) return { offset, ...known };
  return (
    describeMissingComma(error, source) ??
    describeLine(error, source) ??
    describeUnclosed(error, source) ??
    describeUnquoted(error, source) ??
    describeIndentation(error, source) ??
    hiding(offset, 'this does not belong here', 'remove it, or put the whole text in quotes')
  );
}

const hiding = (offset: number, message: string, hint?: string): Fault => ({
  offset,
  message,
  hint,
  hidesOthers: true,
});

function lineStart(text: string, offset: number): number {
  return text.lastIndexOf('\n', offset - 1) + 1;
}

/** The text from an offset to the end of its line. */
function restOfLine(text: string, offset: number): string {
  const end = text.indexOf('\n', offset);
  return text.slice(offset, end < 0 ? undefined : end);
}

/** What stands before the value of a line: its indentation, dashes and key. */
const beforeValue = /^\s*(?:- +)*(?:[^\s"'#:[\]{}&*!|>%@`-][^:]*:[ \t]+|(?<=- +))/;

/** The offset at which the value of a line begins; undefined if it has none. */
function valueStart(text: string, offset: number): number | undefined {
  const start = lineStart(text, offset);
  const [before] = beforeValue.exec(restOfLine(text, start)) ?? [];
  return before === undefined ? undefined : start + before.length;
}

function describeMissingComma({ code, pos: [offset], message }: YAMLError, { text }: Source): Fault | undefined {
  if (code === 'BLOCK_IN_FLOW') {
    const next = /\s([\w-]+):\s/.exec(restOfLine(text, offset));
    return hiding(next ? offset + next.index + 1 : offset, 'a comma is missing before this field');
  }
  return message.startsWith('Missing , or :') ? hiding(offset, 'a comma is missing before this') : undefined;
}

/** A line without a colon, or without the space after its colon or dash. */
function describeLine({ code, pos: [offset], message }: YAMLError, { text }: Source): Fault | undefined {
  const isLine = code === 'MULTILINE_IMPLICIT_KEY' || message.startsWith('Implicit map keys');
  if (!isLine || (valueStart(text, offset) ?? Infinity) <= offset) return undefined;
  const line = restOfLine(text, offset);
  const [, key = '', space] = /^([\w-]+:)([^\S ]?)/.exec(line) ?? [];
  const end = offset + key.length;
  if (space) return hiding(end, 'the space after the colon is not an ordinary one', 'delete it and type a space');
  if (key) return hiding(end, 'a space is missing after the colon');
  if (line.startsWith('-')) return hiding(offset + 1, 'a space is missing after the dash');
  const hint = 'write "name: value", or indent the line if it continues the text above it';
  return hiding(offset, 'this line is no field', hint);
}

/** A quote or bracket that is not closed; the parser reports where it noticed. */
function describeUnclosed({ pos: [offset], message }: YAMLError, { document, text }: Source): Fault | undefined {
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
  if (/["']/.test(sign)) return hiding(start, 'this quote is not closed', `add ${sign} at the end of the text`);
  return hiding(start, `this ${sign} is not closed`, `end it with ${sign === '[' ? ']' : '}'}`);
}

/** A text without quotes that YAML does not read as a text. */
function describeUnquoted({ pos: [offset] }: YAMLError, { text, hideSource }: Source): Fault | undefined {
  const start = valueStart(text, offset);
  if (start === undefined || start > offset) return undefined;
  const value = restOfLine(text, start).trim();
  const sign = value.charAt(0);
  // A bracket too many.
  if (/[[{]/.test(sign) && /[\]}]/.test(text[offset]!)) return undefined;
  const hint = hideSource ? 'put the whole text in quotes' : `write ${quote(value)}`;
  if (/["']/.test(sign)) return { offset, message: 'text follows the closing quote', hint };
  const what = /[@`%>|?[{-]/.test(sign) ? `begins with ${sign}` : value.includes(': ') ? 'contains ": "' : undefined;
  return what === undefined ? undefined : { offset: start, message: `a text that ${what} must be in quotes`, hint };
}

/** Writes a text in quotes; quotes around the whole text are replaced. */
export function quote(value: string): string {
  const text = /^(["'])(?!(?:(?!\1).)+\1\s)(.*)\1$/.exec(value)?.[2] ?? value;
  return /["\\]/.test(text) ? `'${text.replaceAll("'", "''")}'` : `"${text}"`;
}

/** The parser's own words, or a value that goes on in an indented line. */
function describeIndentation({ pos: [offset], message }: YAMLError, { text }: Source): Fault | undefined {
  const indentOf = (from: number): number => from + /^ */.exec(text.slice(from))![0].length;
  const start = indentOf(lineStart(text, offset));
  const isAtStart = start >= offset;
  if (!isAtStart && !/[Ii]mplicit keys|compact mappings/.test(message)) return undefined;
  return hiding(
    isAtStart ? start : indentOf(text.indexOf('\n', offset) + 1),
    'the indentation of this line does not match the lines above',
    'begin it in the column of the fields beside it',
  );
}
