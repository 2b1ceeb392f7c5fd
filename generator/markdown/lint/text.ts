import type { Heading, Paragraph, TableCell, Text } from 'mdast';
import { walk } from '../plugins/walk.ts';
import { alertMark } from './blocks.ts';
import { curlyQuotes } from './html.ts';
import { startOf } from './linted.ts';
import type { Linted } from './linted.ts';

/** What is wrong at a match, and where in it. */
type Fault = readonly [at: number, message: string, hint: string];

/** Finds text that was meant as Markdown, or as the markup of other programs. */
interface TextCheck {
  /** An article in which it matches nothing needs no check. */
  readonly pattern: RegExp;
  /** Explains a match in the plain text; `before` and `written` are the source up to there and from there on. */
  readonly explain: (match: RegExpExecArray, written: string, before: string) => Fault | undefined | '';
}

const isDashes = (row: string): boolean => /^[ \t>]*\|[ \t:|+=_–—-]*$/.test(row) && /[=_–—-]/.test(row);
const asItIs = 'is shown as it is';
const markdownInstead = 'write Markdown instead';

/** The checks of paragraphs; they begin at the marks of the lists and quotes that are around a line. */
const ofParagraphs: readonly TextCheck[] = [
  {
    // The HTML in `{{<note>}}` is not in the plain text.
    pattern: /\{\{[%<\s]|\{%/g,
    explain(_, written) {
      const [tag] = /^(?:\{\{[<%]|\{%)/.exec(written) ?? [];
      return tag && [0, `"${tag}" ${asItIs}: templates do not work here`, markdownInstead];
    },
  },
  {
    pattern: /^([ \t>]*)(?:(:{3,})[ \t]*\{?|([!?]{3})\+?[ \t]+)([a-z]\w*)/gim,
    explain([, indent = '', directive, marks, name = '']) {
      const mark = alertMark(name);
      if (marks && !mark && !/^(?:example|quote|bug|question|failure)$/i.test(name)) return undefined;
      const hint = mark ? `write "> ${mark}" and begin the lines of the box with >` : markdownInstead;
      const what = directive ? '":::" is shown as it is: directives' : `"${marks}" is shown as it is: such boxes`;
      return [indent.length, `${what} do not work here`, hint];
    },
  },
  {
    // Once in a paragraph, which goes on to its end.
    pattern: /^([ \t>]*)([•●▪◦‣]|(?:[-*+]|\d{1,9}[.)])(?=\u{A0}))[ \t\u{A0}][^]*/gmu,
    explain([, indent = '', mark = '']) {
      const isBullet = /[•●▪◦‣]/.test(mark);
      const hint = isBullet ? 'write "- " at the beginning of its lines' : `write a normal space after "${mark}"`;
      return [indent.length, `"${mark}" begins no list${isBullet ? '' : ' before a no-break space'}`, hint];
    },
  },
  {
    // Not a link or picture with such a text.
    pattern: /\[!([\w-]+)\](?![-+]?[ \t]*[([])/g,
    explain({ index, 1: kind = '' }, _, before) {
      if (index > 0 || !alertMark(kind) || /> *$/.test(before.slice(-4))) return undefined;
      return [0, `[!${kind}] is not in a quote`, 'begin this line and the lines of its text with >'];
    },
  },
  {
    pattern: /^([ \t>]*)(#{2,6})([^ \t#\n][^\n]*)/gm,
    explain([, indent = '', hashes = '', text = '']) {
      const hint = `write a ${/^\s/.test(text) ? 'normal ' : ''}space after ${hashes}`;
      return [indent.length + hashes.length, `"${hashes}${text.trimEnd()}" is no heading`, hint];
    },
  },
  {
    // Two lines of a table, of which the first ends with | or one has only dashes and what people write between them.
    pattern: /^([ \t>]*\|(?:.*\|[ \t]*|.*(?=\n[ \t>]*\|[ \t:|+]*[=_–—-][ \t:|+=_–—-]*$)))\n([ \t>]*)(\|.*)[^]*/gm,
    explain([, head = '', indent = '', next = '']) {
      const heads = head.replace(/^[ \t>]*\||\|[ \t]*$/g, '').split(isDashes(head) ? /[|+]/ : '|');
      const at = isDashes(head) ? head.indexOf('|') : head.length + 1 + indent.length;
      const line = `|${'---|'.repeat(heads.length)}`;
      return isDashes(head) || isDashes(next)
        ? [at, 'this line must have dashes for each of the heads above it, with | between them', `write ${line}`]
        : [at, 'below the heads of a table must be a line of dashes', `add the line ${line} here`];
    },
  },
];

const address = /^(?:https?:\/\/|\.{0,2}\/|#)|\.(?:md|png|jpe?g|svg|webp|gif|pdf)$/i;

/** The checks of paragraphs, headings and cells. Brackets alone are common in texts and not reported. */
const ofTexts: readonly TextCheck[] = [
  {
    pattern: /(?<![\w)\]'"])(!?)(\[[^[\]]*)?\]\[([^[\]\n]*)\]/g,
    explain({ 0: whole, 1: mark, 2: shown, 3: label }, source) {
      const name = label || shown?.slice(1);
      // An index of a list, as in a[0][1] or $a['b']['c'].
      if (!name?.trim() || /^(?:['"$]|\d+$)/.test(name)) return undefined;
      const written = source.slice(0, whole.length);
      const short = shown && written.length <= 50 ? written.replace(/\s+/g, ' ') : `${mark}[...][${label}]`;
      const message = `"${short}" is no ${mark ? 'picture' : 'link'}: nothing defines [${name}]`;
      return [0, message, `write ${mark}[text](address), or add a line "[${name}]: address"`];
    },
  },
  {
    // Not a class of characters, such as [^a-z].
    pattern: /\[\^(?!\w-\w\])([\w-]+)\]/g,
    explain: ([, name]) => [0, `there is no footnote [^${name}]`, `add a line "[^${name}]: its text"`],
  },
  {
    pattern: /\[[^[\]\n]*\p{L}[^[\]\n]*\]([ \t]*)\(/gu,
    explain([shown, space = ''], written) {
      // A part of the address may have become a link of its own.
      const rest = written.slice(shown.length);
      if (/^(?:https?:\/\/|\.{0,2}\/|#|mailto:)[^\s)]*(?=\s|$)(?![^)\n]*\))/.test(rest)) {
        return [0, `"${written.slice(0, shown.length)}..." is no link`, 'write ) after the address'];
      }
      const [url = ''] = /^[^()\n"'<>]*(?=\))/.exec(rest) ?? [];
      if (!address.test(url) || /\S[ \t]+\S/.test(url) === (space !== '')) return undefined;
      const message = `"${written.slice(0, shown.length)}...)" is no link`;
      return space
        ? [shown.length - space.length - 1, message, 'delete the space before the parenthesis']
        : [shown.length, message, 'write %20 for each space in the address'];
    },
  },
  {
    pattern: /\(([^()\n]*\p{L}[^()\n]*)\)\[/gu,
    explain([shown, text], written) {
      const [, url] = /^((?:https?:\/\/|\.{0,2}\/|#|mailto:|www\.)[^\]\s]*)\]/.exec(written.slice(shown.length)) ?? [];
      return url && [0, `"(${text})[${url}]" is no link`, `write [${text}](${url})`];
    },
  },
  {
    // Names in lower case and with dots are tables of TOML.
    pattern: /\[\[(?=[^\]\n]*[ |/]|\p{Lu}\p{Ll}+\])([\p{L}\d][^[\]|\n]*)(?:\|([^[\]\n]+))?(?<!\s)\]\]/gu,
    explain: ([shown, page, text = page]) => [0, `"${shown}" is no link here`, `write [${text}](address)`],
  },
  {
    // A backslash and a name, or a power or index in braces, since a dollar sign may also be a price or a variable.
    pattern: /\$\$?(?=\S)[^$\n]*?(?:\\[a-z]{2,}|[\w)}][\^_]\{|[a-z)]\^\d)[^$\n]*\$/gi,
    explain: ([shown]) => [0, `"${shown}" ${asItIs}: formulas are not drawn`, 'write it in backticks, or in words'],
  },
  {
    // A tag with them is HTML only if no value has a space.
    pattern: /<[a-z][\w-]*[ \t][^<>]*?=[ \t]*[“”„‘’]/gi,
    explain: () => [0, curlyQuotes, 'write " around their values'],
  },
];

/** Marks of bold text and code at the edge of a word, with the character before them. Others are powers, globs and generics. */
const marks =
  /(?:^|[^\\*\p{L}\p{N}])(\*\*)(?=[\p{L}\p{N}])|[\p{L}\p{N}.:!?](\*\*)(?![*\p{L}\p{N}])|(?:^|[\s([{])(`)(?=\S)|[^\s\\>`](`)(?![\p{L}\p{N}])/gu;

/** Finds the first mark of bold text or code that has no partner: in the text of an article it is shown as it is. */
export function checkMarks(node: Text, { source, sourceOf, warn }: Linted): void {
  if (!/\*\*|`/.test(node.value)) return;
  // The tag of an element that shows code.
  const isAfterTag = source[startOf(node) - 1] === '>';
  for (const { index, 0: text, 1: opening, 2: closing, 3: mark = opening ?? closing ?? '`' } of sourceOf(node).matchAll(
    marks,
  )) {
    if (mark === '`' && isAfterTag && index === 0) continue;
    const hint =
      mark === '`'
        ? 'write another one where the code ends, or \\` to show it'
        : 'write ** directly before the first and after the last letter, or \\*\\* to show it';
    warn(startOf(node) + index + text.length - mark.length, `"${mark}" ${asItIs}`, hint);
    return;
  }
}

/** Creates the check of the paragraphs, headings and cells of an article. */
export function createTextChecks({ source, sourceOf, warn }: Linted) {
  const [inParagraphs, inTexts] = [ofParagraphs, ofTexts].map((checks) =>
    checks.filter(({ pattern }) => source.search(pattern) >= 0),
  );
  return (node: Paragraph | Heading | TableCell): void => {
    const checks = node.type === 'paragraph' ? [...inParagraphs!, ...inTexts!] : inTexts!;
    if (checks.length === 0 || !node.position) return;
    const text = toPlainText(node, sourceOf(node));
    for (const { pattern, explain } of checks) {
      for (const match of text.matchAll(pattern)) {
        const start = startOf(node) + match.index;
        const fault = explain(match, source.slice(start), source.slice(0, start));
        if (fault) warn(start + fault[0], fault[1], fault[2]);
      }
    }
  };
}

const notPlainText = new Set<string>(
  'inlineCode html link linkReference image imageReference footnoteReference'.split(' '),
);

/** The source of a node in which as many spaces stand for code, HTML, links, pictures and escaped characters. */
function toPlainText(parent: Paragraph | Heading | TableCell, source: string): string {
  const start = startOf(parent);
  let text = '';
  walk(parent, (node) => {
    if (!notPlainText.has(node.type) || !node.position) return undefined;
    const end = node.position.end.offset! - start;
    text += source.slice(text.length, startOf(node) - start);
    // Line breaks stay, so that offsets and lines are the same.
    text += source.slice(text.length, end).replace(/[^\n]/g, ' ');
    return false;
  });
  return (text + source.slice(text.length)).replace(/\\[!-/:-@[-`{-~]/g, '  ');
}
