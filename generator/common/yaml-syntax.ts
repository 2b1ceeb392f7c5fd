import { isAlias, isCollection, isMap, isScalar, visit } from 'yaml';
import type { Document, ErrorCode, Node, YAMLError } from 'yaml';
import { findConflicts } from './finding.ts';

/** A mistake at an offset of a YAML text. */
export interface YamlFault {
  readonly offset: number;
  readonly message: string;
  readonly hint?: string | undefined;
  /** Later errors may only be consequences of this error. */
  readonly hidesOthers?: boolean;
}

interface YamlSource {
  readonly text: string;
  readonly document: Document.Parsed;
  /** The text may contain credentials. */
  readonly hideSource: boolean;
}

/** Describing errors is slow, and so many are consequences of the first. */
const maxErrors = 100;

/** Keys that would allow prototype pollution. */
const reservedKeys = new Set(['__proto__', 'constructor', 'prototype']);

const noAlias = {
  message: 'YAML aliases (*name) are not allowed',
  hint: 'write out the value, or put a text that starts with * in quotes',
};

/** Finds syntax errors, aliases, tags and invalid keys in a YAML text, in the order of the text. */
export function findSyntaxFaults(source: YamlSource): YamlFault[] {
  const { document, text } = source;
  const conflicts = findConflicts(text);
  if (conflicts.length > 0) return conflicts;
  const errors = [...document.errors, ...document.warnings];
  if (errors.some(({ code }) => code === 'RESOURCE_EXHAUSTION')) {
    return [{ offset: 0, message: 'the YAML is nested too deeply' }];
  }
  const faults = errors.slice(0, maxErrors).map((error) => describeError(error, source));
  visit(document, (_, node) => {
    if (isAlias(node)) faults.push({ offset: node.range?.[0] ?? 0, ...noAlias });
    if (!isMap(node)) return;
    const names = new Set<string>();
    for (const { key } of node.items) {
      const offset = (key as Node).range?.[0] ?? 0;
      const name = isScalar(key) ? String(key.value) : undefined;
      if (name === undefined) faults.push({ offset, message: 'a key must be a single value' });
      else if (reservedKeys.has(name)) faults.push({ offset, message: `the key "${name}" is not allowed` });
      else if (names.has(name))
        faults.push({ offset, message: `"${name}" is given twice`, hint: 'keep one of the two' });
      else names.add(name);
    }
  });
  const sorted = faults.toSorted((a, b) => a.offset - b.offset);
  // A single mistake often makes the parser report many errors.
  const first = sorted.find(({ hidesOthers }) => hidesOthers);
  const kept = sorted.filter((fault) => !fault.hidesOthers || fault === first);
  const lines = kept.map(({ offset }) => lineStart(text, offset));
  return kept.filter(({ message }, at) => lines[at] !== lines[at - 1] || message === noAlias.message);
}

/** The descriptions of parser errors that depend on the code alone. */
const byCode: Partial<Record<ErrorCode, Omit<YamlFault, 'offset'>>> = {
  TAG_RESOLVE_FAILED: { message: 'YAML tags (!name) are not allowed', hint: 'put a text that starts with ! in quotes' },
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

/** The text before the value of a line: indentation, dashes and key. */
const beforeValue = /^\s*(?:- +)*(?:[^\s"'#:[\]{}&*!|>%@`-][^:]*:[ \t]+|(?<=- +))/;

const hiding = (offset: number, message: string, hint?: string): YamlFault => {
  return { offset, message, hint, hidesOthers: true };
};

/** Describes an error of the parser for authors; the first rule that matches wins. */
function describeError({ code, message: words, pos: [offset] }: YAMLError, source: YamlSource): YamlFault {
  const { text, hideSource } = source;
  const known = byCode[code];
  if (known) return { offset, ...known };
  const rest = restOfLine(text, offset);
  if (code === 'BLOCK_IN_FLOW' || words.startsWith('Missing , or :')) {
    return hiding(offset + (/(?<=\s)[\w-]+:\s/.exec(rest)?.index ?? 0), 'a comma is missing before this');
  }

  const line = lineStart(text, offset);
  const [before] = beforeValue.exec(restOfLine(text, line)) ?? [];
  const start = before === undefined ? Infinity : line + before.length;
  if (start > offset && (code === 'MULTILINE_IMPLICIT_KEY' || words.startsWith('Implicit map keys'))) {
    const [, key = '', space] = /^([\w-]+:)([^\S ]?)/.exec(rest) ?? [];
    const end = offset + key.length;
    if (space) return hiding(end, 'the space after the colon is a special character', 'replace it with a normal space');
    if (key) return hiding(end, 'a space is missing after the colon');
    if (rest.startsWith('-')) return hiding(offset + 1, 'a space is missing after the dash');
    const hint = 'write "name: value", or indent the line if it continues the text above';
    return hiding(offset, 'this line is not a field', hint);
  }

  const open = findUnclosed(offset, source);
  if (open !== undefined) {
    const sign = text[open]!;
    if (/["']/.test(sign)) return hiding(open, 'this quote is not closed', `add ${sign} at the end of the text`);
    const isCut = /[\s[{,]#/.test(restOfLine(text, open));
    const hint = isCut ? 'YAML reads # as a comment; remove it' : `end it with ${sign === '[' ? ']' : '}'}`;
    return hiding(open, `this ${sign} is not closed`, hint);
  }

  const value = restOfLine(text, start).trim();
  const sign = value.charAt(0);
  const isBracketTooMany = /[[{]/.test(sign) && /[\]}]/.test(text[offset]!);
  if (start <= offset && !isBracketTooMany) {
    const hint = hideSource ? 'put the whole text in quotes' : `write ${quoteYaml(value)}`;
    if (/["']/.test(sign)) return { offset, message: 'text follows the closing quote', hint };
    const reason = /[@`%>|?[{-]/.test(sign) ? `starts with ${sign}` : value.includes(': ') ? 'contains ": "' : '';
    if (reason) return { offset: start, message: `a text that ${reason} must be in quotes`, hint };
  }

  const indentOf = (from: number): number => from + /^ */.exec(text.slice(from))![0].length;
  const isAtStart = indentOf(line) >= offset;
  if (isAtStart || /[Ii]mplicit keys|compact mappings/.test(words)) {
    // In the second case, an indented line continues the value of this line.
    const at = indentOf(isAtStart ? line : text.indexOf('\n', offset) + 1);
    const hint = 'align it with the neighbouring lines';
    return hiding(at, 'the indentation of this line does not match the lines above', hint);
  }
  return hiding(offset, 'unexpected text', 'remove it, or put the whole text in quotes');
}

/** Finds the offset of an unclosed quote or bracket; the parser reports a later offset. */
function findUnclosed(offset: number, { document, text }: YamlSource): number | undefined {
  let start: number | undefined;
  visit(document, {
    Node(_, node) {
      const [from, to] = node.range ?? [Infinity, 0];
      const isQuote = isScalar(node) && /["']/.test(text[from]!);
      if (from >= offset || !(isQuote || (isCollection(node) && node.flow))) return;
      const isClosed = to - 1 > from && /["'\]}]/.test(text[to - 1]!);
      // An unclosed text ends at the opening quote of a later line.
      const isCut = isQuote && text.slice(from, to).includes('\n') && !text.slice(to, offset).includes('\n');
      if (to > offset || (to === offset && !isClosed) || isCut) start = from;
    },
  });
  return start;
}

function lineStart(text: string, offset: number): number {
  return text.lastIndexOf('\n', offset - 1) + 1;
}

/** Returns the text from an offset to the end of the line. */
export function restOfLine(text: string, offset: number): string {
  const end = text.indexOf('\n', offset);
  return text.slice(offset, end < 0 ? undefined : end);
}

/** Puts a text in quotes, replacing quotes around the whole text. */
export function quoteYaml(value: string): string {
  const text = /^(["'])(?!(?:(?!\1).)+\1\s)(.*)\1$/.exec(value)?.[2] ?? value;
  return /["\\]/.test(text) ? `'${text.replaceAll("'", "''")}'` : `"${text}"`;
}
