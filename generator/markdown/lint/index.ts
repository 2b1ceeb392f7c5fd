import type { Root as HtmlRoot } from 'hast';
import type { Blockquote, Code, Heading, ListItem, Nodes, Paragraph, Root, Table, TableCell, Text } from 'mdast';
import { suggest } from '#common/suggest.ts';
import { describeCharacter } from '#contract/primitives.ts';
import { findConflicts } from '../../common/finding.ts';
import type { Finding } from '../../common/finding.ts';
import { findReferences } from '../plugins/comments.ts';
import { languageNames, loadHighlighter } from '../plugins/code.ts';
import { alertKinds } from '../plugins/html.ts';
import { walk } from '../plugins/walk.ts';
import { checkAddress, checkElements, checkRawHtml, curlyQuotes, startOf } from './html.ts';
import type { Linted } from './html.ts';

/** Finds probable mistakes in the Markdown of an article, after alerts were created, and in its elements. */
export function lint(tree: Root, elements: HtmlRoot, source: string, sitePath: string): Finding[] {
  const found: (Omit<Finding, 'line' | 'column'> & { readonly offset: number })[] = [];
  const starts = [0, ...Array.from(source.matchAll(/\n/g), ({ index }) => index + 1)];
  const report =
    (kind: Pick<Finding, 'severity' | 'isLenient'>): Linted['warn'] =>
    (place, message, hint) => {
      // In lists and quotes, offsets of raw HTML leave out indentation and markers; lines and columns do not.
      const { line, column } = typeof place === 'number' ? { line: 1, column: place + 1 } : place.position!.start;
      found.push({ ...kind, message, hint, offset: starts[line - 1]! + column - 1 });
    };
  const article: Linted = {
    source,
    sitePath,
    sourceOf: ({ position }) => source.slice(position?.start.offset ?? 0, position?.end.offset ?? 0),
    warn: report({ severity: 'warning' }),
    refuse: report({ severity: 'error', isLenient: true }),
  };
  const checkText = createTextCheck(article);
  const code: (readonly [from: number, to: number])[] = [];
  // The raw HTML at its source offsets, padded with spaces; in lists and quotes, indentation and markers are missing.
  let raw = '';
  walk(tree, (node) => {
    if (node.type === 'paragraph' || node.type === 'heading' || node.type === 'tableCell') checkText(node);
    else if (node.type === 'link' || node.type === 'image' || node.type === 'definition') checkAddress(node, article);
    else if (node.type === 'blockquote') checkAlert(node, article);
    else if (node.type === 'table') checkCells(node, article);
    else if (node.type === 'text') {
      checkMarks(node, article);
      checkCharacters(node, article);
    } else if (node.type === 'html') {
      raw = raw.padEnd(startOf(node)) + node.value;
      checkRawHtml(node, article);
    } else if (node.type === 'inlineCode') checkCharacters(node, article);
    else if (node.type === 'code') {
      checkCode(node, article);
      checkCharacters(node, article);
      code.push([startOf(node), node.position?.end.offset ?? 0]);
    }
    if ('children' in node) checkSublists(node, article);
  });
  checkUnused(tree, article);
  checkElements(elements, raw, article);
  // Without its first marker, a conflict looks like a heading and nested quotes. Code may show an example.
  const conflicts = findConflicts(source)
    .filter(({ offset }) => source.startsWith('<', offset) && !code.some(([from, to]) => from <= offset && offset < to))
    .map((conflict) => ({ severity: 'error' as const, ...conflict }));
  // Other findings between conflict markers would be noise.
  let line = 1;
  return (conflicts.length > 0 ? conflicts : found)
    .toSorted((a, b) => a.offset - b.offset)
    .map(({ offset, ...finding }) => {
      while (starts[line]! <= offset) line += 1;
      return { ...finding, line, column: offset - starts[line - 1]! + 1 };
    });
}

/** The kinds of alerts, with their names in this and other programs. */
const alertNames = Object.entries({
  note: /^(?:note|info|information|abstract|summary)$/i,
  tip: /^(?:tip|hint|success)$/i,
  important: /^important$/i,
  warning: /^(?:warning|attention|warn)$/i,
  caution: /^(?:caution|critical|danger|error)$/i,
} satisfies Record<(typeof alertKinds)[number], RegExp>);

const toMark = (kind: string): string => `[!${kind.toUpperCase()}]`;

/** Returns the marker of the alert for a box of this or another program. */
function alertMark(name: string): string | undefined {
  const [kind] = alertNames.find(([, names]) => names.test(name)) ?? [];
  return kind && toMark(kind);
}

/** Finds quotes that start like an alert but are plain quotes. */
function checkAlert({ children, data }: Blockquote, { sourceOf, warn }: Linted): void {
  const paragraph = children.find(({ type, position }) => type === 'paragraph' && position);
  // An alert has become a `div`.
  if (!paragraph || data?.hName !== undefined) return;
  const [mark = '', escape, kind, rest] = /^(\\?)\[!([\w-]+)\\?\][-+]?[ \t]*(.?)/.exec(sourceOf(paragraph)) ?? [];
  if (kind === undefined) return;
  const kinds: readonly string[] = alertKinds;
  const name = kind.toLowerCase();
  if (escape) {
    const meant = rest === '' && alertMark(name);
    if (meant) warn(paragraph, 'because of the backslash, this is a plain quote', `write ${meant}`);
    return;
  }
  if (kinds.includes(name)) {
    const message = `the line must end after [!${kind}], else this is a plain quote`;
    warn(startOf(paragraph) + mark.length - rest!.length, message, 'start the text on the next line, after >');
    return;
  }
  const meant = alertMark(name);
  const all = `write ${kinds.slice(0, -1).map(toMark).join(', ')} or ${toMark(kinds.at(-1)!)}`;
  warn(paragraph, `there is no alert [!${kind}]`, meant ? `write ${meant}` : (suggest(name, kinds) ?? all));
}

/** Valid languages without highlighting. */
const uncoloured = new Set(
  (
    'txt plain none raw ascii output out stdout stderr log logs terminal tree csv tsv env dotenv conf cfg ' +
    'asm astro bat cmd hcl json5 jsonc mdx prisma solidity svelte terraform tf vue zig'
  ).split(' '),
);

/** Finds mistakes in code blocks: unknown languages, missing ends. */
function checkCode(node: Code, { source: article, sourceOf, warn }: Linted): void {
  const source = sourceOf(node);
  const [, fence, space = ''] = /^(`{3,}|~{3,})([ \t]*)/.exec(source) ?? [];
  if (fence === undefined) {
    const isHtml = /^\s*<\/?[a-z][^>]*>/i.test(source) && article.slice(0, startOf(node)).trimEnd().endsWith('>');
    const message = 'this HTML is shown as code: an empty line ends HTML, and indented text after it is code';
    if (isHtml) warn(node, message, 'delete the empty line above, or the indentation');
    return;
  }
  if (node.lang && !isKnown(node.lang)) {
    const start = startOf(node) + fence.length + space.length;
    warn(start, `unknown code language "${node.lang}"`, adviseLanguage(node.lang));
  }
  // In a list or quote, a line starts with indentation or markers.
  const [closing] = /\n[ \t>]*(?:`{3,}|~{3,})[ \t]*$/.exec(source) ?? [];
  const inner = new RegExp(`\\n[ \\t>]*(?=${fence}${fence[0]}*[\\w{][^\\n\`]*$)`, 'm').exec(source);
  if (!closing?.includes(fence)) {
    const message = 'the code block is not closed: all following text is code';
    warn(node, message, `end it with a line of ${fence}`);
  } else if (inner) {
    const hint = `end the first code block with a line of ${fence} above this line`;
    warn(startOf(node) + inner.index + inner[0].length, 'a code block starts within another code block', hint);
  }
}

function isKnown(lang: string): boolean {
  const name = lang.toLowerCase();
  return loadHighlighter().registered(name) || uncoloured.has(name) || languageNames().includes(name);
}

function adviseLanguage(lang: string): string {
  // "js{1,3}", "js,ignore" or "{.js}": the name with options of other programs.
  const [name = ''] = /[\w#+-]+/.exec(lang) ?? [];
  const [lines = ''] = /\{[\d,\s-]+\}$/.exec(lang) ?? [];
  if (name !== lang && isKnown(name)) return `write "${name}${lines && ` ${lines}`}"`;
  if (/^(?:math|mermaid|plantuml|graphviz)$/i.test(name)) return 'it is not rendered: use a picture, or "text"';
  if (/^(?:title=|\{)/.test(lang)) return 'write a language first, such as "text"';
  // Short names resemble too many others.
  const similar = lang.length > 3 ? suggest(lang.toLowerCase(), loadHighlighter().listLanguages()) : undefined;
  return similar ?? 'write "text" for a block without highlighting';
}

/** Finds cells that the renderer drops because the header row is shorter, and text that becomes a row. */
function checkCells({ align, children }: Table, { sourceOf, warn }: Linted): void {
  const text = children.slice(1).find((row) => !sourceOf(row).includes('|'));
  if (text) warn(text, 'this line becomes a row of the table above', 'add an empty line above');
  for (const { children: cells } of children) {
    const cell = cells.slice(align?.length).find((node) => node.children.length > 0);
    if (!cell) continue;
    const message = `this row has ${cells.length} cells, but the header row has ${align?.length}: this cell is not shown`;
    warn(cell, message, 'write \\| for a | in a cell, else add a header cell');
  }
}

/** Finds lists that are not indented enough to belong to the numbered item above. */
function checkSublists(parent: Extract<Nodes, { children: unknown }>, { source, warn }: Linted): void {
  const numberOf = (node: Nodes): number => parseInt(source.slice(node.position!.start.offset), 10);
  for (const [index, list] of parent.children.entries()) {
    const above = parent.children[index - 1];
    if (!above || !list.position || !above.position) continue;
    const isBelow = list.type === 'list' && above.type === 'list' && above.ordered;
    const goesOn = list.type === 'listItem' && above.type === 'listItem' && numberOf(list) <= numberOf(above);
    const { column } = above.position.start;
    if (!(isBelow || goesOn) || list.position.start.column <= column) continue;
    const [content] = (isBelow ? above.children.at(-1)! : (above as ListItem)).children;
    const spaces = (content?.position?.start.column ?? column + 3) - column;
    warn(list, 'this list is not part of the item above', `indent the list by ${spaces} spaces, or not at all`);
  }
}

/** Finds unused footnotes, and lines of text that are unused definitions of links: neither is shown. */
function checkUnused(tree: Root, { source, warn }: Linted): void {
  if (!source.includes(']:')) return;
  const used = findReferences(tree);
  walk(tree, (node) => {
    if (node.type === 'footnoteDefinition' && !used.has(`^${node.identifier}`)) {
      const hint = `write [^${node.label}] in the text, or delete the footnote`;
      warn(node, `the footnote [^${node.label}] is not shown: nothing refers to it`, hint);
    } else if (node.type === 'definition' && !used.has(node.identifier) && !/[#/:]|[\w][.]\w/.test(node.url || '#')) {
      const message = `this line is not shown: it defines a link [${node.label}], and nothing refers to it`;
      warn(node, message, `write \\[${node.label}]: to show the line`);
    }
  });
}

/** A check for text that looks like Markdown or like markup of other programs. */
interface TextCheck {
  /** Articles without a match need no check. */
  readonly pattern: RegExp;
  /** Explains a match in the plain text; `written` is the source from the match. */
  readonly explain: (match: RegExpExecArray, written: string) => readonly [number, string, string] | undefined;
}

const isDashes = (row: string): boolean => /^[ \t>]*\|[ \t:|+=_–—-]*$/.test(row) && /[=_–—-]/.test(row);
const asItIs = 'is shown as plain text';
const markdownInstead = 'write Markdown instead';

const invisible = String.raw`[\u{A0}\u{AD}\u{200B}-\u{200F}\u{202F}\u{2060}\u{FEFF}]`;
const controls = String.raw`[\u{1}-\u{8}\v\f\u{E}-\u{1F}\u{7F}-\u{9F}\u{2028}\u{2029}]`;
/** Matches what word processors write for a hyphen and quotes. */
const replaced = String.raw`[\u{2011}“”‘’]|(?<=^|[\s\x60])[\u{2013}\u{2014}](?=[\w-])`;
/** The characters that are wrong in a node, each with the rest of the line: the first one is enough. */
const wrong = {
  text: new RegExp(`(?:${controls}).*`, 'gmu'),
  output: new RegExp(`(?:${controls}|${invisible}).*`, 'gmu'),
  code: new RegExp(`(?:${controls}|${invisible}|${replaced}).*`, 'gmu'),
};
/** Lines that nobody runs: comments, and trees of files. */
const notRun = /^[\s>]*(?:#|\/\/|;|--|[│├└])/;
const replaceIt = (text: string): string =>
  /^[\u{A0}\u{202F}]/u.test(text) ? 'write a normal space' : 'delete it, or type what it stands for';

/** Finds control characters in text, and characters in code that only look like those that programs read. */
function checkCharacters(node: Extract<Nodes, { value: string }>, { sourceOf, warn }: Linted): void {
  const source = node.position ? sourceOf(node) : '';
  // Output has such quotes, and a single character is the subject of the sentence.
  const isOutput = 'lang' in node ? !node.lang || uncoloured.has(node.lang.toLowerCase()) : node.value.length === 1;
  const pattern = wrong[node.type === 'text' ? 'text' : isOutput ? 'output' : 'code'];
  for (const { index, 0: rest } of source.matchAll(pattern)) {
    if (node.type === 'code' && notRun.test(source.slice(source.lastIndexOf('\n', index) + 1))) continue;
    const place = node.type === 'text' ? 'in the text' : 'in code: copied code fails';
    warn(startOf(node) + index, `${describeCharacter(rest)} ${place}`, replaceIt(rest));
  }
}

const check = (pattern: RegExp, explain: TextCheck['explain']): TextCheck => ({ pattern, explain });
/** Creates a check; in its texts, `$0` is the first line of the match, and `$1` its group. */
const row = (pattern: RegExp, message: string, hint: string) =>
  check(pattern, ({ 0: shown, 1: group = '' }) => {
    const [line = ''] = /[^ \t>].*/.exec(shown.trimEnd()) ?? [];
    const fill = (text: string): string => text.replace('$0', () => line).replace('$1', () => group);
    return [shown.indexOf(line), fill(message), fill(hint)];
  });
/** Creates a check for a mark of other programs. */
const foreign = (pattern: RegExp, kind: string, hint: string): TextCheck =>
  row(pattern, `"$0" ${asItIs}: ${kind} are not supported`, hint);

/** The checks of paragraphs, whose lines may start with markers of lists and quotes. */
const ofParagraphs: readonly TextCheck[] = [
  // The plain text lacks the HTML in `{{<note>}}`.
  foreign(/\{\{[<%]|\{%|\{\{(?= {3,}\}\})/g, 'templates', markdownInstead),
  check(/^([ \t>]*)(?::{3,}[ \t]*\{?|([!?]{3})\+?[ \t]+)([a-z]\w*)/gim, ([, indent = '', marks, name = '']) => {
    const mark = alertMark(name);
    if (marks && !mark && !/^(?:example|quote|bug|question|failure)$/i.test(name)) return undefined;
    const hint = mark ? `write "> ${mark}" and start the lines of the box with >` : markdownInstead;
    const [written, kind] = marks ? [marks, 'such boxes'] : [':::', 'directives'];
    return [indent.length, `"${written}" ${asItIs}: ${kind} are not supported`, hint];
  }),
  // Matches the rest of the paragraph, so it is reported once.
  row(/^[ \t>]*([•●▪◦‣])[ \t\u{A0}][^]*/gmu, '"$1" does not start a list', 'write "- " at the start of each line'),
  // Before or after the mark of a block.
  check(
    new RegExp(
      String.raw`^([ \t>]*)(?:(?=${invisible}+[ \t]*(#{1,6}|[-*+>|]|\d{1,9}[.)]|\x60{3}|~{3}|\[!))|(#{1,6}|[-*+|[]|\d{1,9}[.)])(?=${invisible}))[^]*`,
      'gmu',
    ),
    ([, indent = '', next, mark = ''], written) => {
      const at = indent.length + mark.length;
      const character = written.slice(at);
      return [at, `"${next ?? mark}" ${asItIs} because of ${describeCharacter(character)}`, replaceIt(character)];
    },
  ),
  foreign(/^[ \t>]*\[\[?_?TOC_?\]?\][ \t]*$/gim, 'tables of contents', 'delete the line'),
  foreign(/%%[^%]*%%|^[ \t>]*%%/gm, 'comments between %%', 'write <!-- text -->'),
  foreign(/<!--/g, 'comments with an empty line within a paragraph', 'start the comment on a new line'),
  row(/^[ \t>]*(#{2,6})(?!\p{Cf}|\u{A0})[^ \t#\n].*/gmu, '"$0" is not a heading', 'write a space after $1'),
  // Two lines of a table; the first ends with |, or one of them has only dashes and separators.
  check(
    /^([ \t>]*\|(?:.*\|[ \t]*|.*(?=\n[ \t>]*\|[ \t:|+]*[=_–—-][ \t:|+=_–—-]*$)))\n([ \t>]*)(\|.*)[^]*/gm,
    ([, head = '', indent = '', next = '']) => {
      const heads = head.replace(/^[ \t>]*\||\|[ \t]*$/g, '').split(isDashes(head) ? /[|+]/ : '|');
      const at = isDashes(head) ? head.indexOf('|') : head.length + 1 + indent.length;
      const line = `|${'---|'.repeat(heads.length)}`;
      if (/^[|: -]*\u{A0}/u.test(next)) return undefined;
      return isDashes(head) || isDashes(next)
        ? [at, 'this line needs dashes for each header cell above, separated by |', `write ${line}`]
        : [at, 'the header row of a table needs a line of dashes below', `add the line ${line} here`];
    },
  ),
];

const address = /^(?:https?:\/\/|\.{0,2}\/|#)|\.(?:md|png|jpe?g|svg|webp|gif|pdf)$/i;

/** The checks of paragraphs, headings and cells. Lookahead keeps the patterns linear. */
const ofTexts: readonly TextCheck[] = [
  check(/(?<![\w)\]'"])(!?)(\[[^[\]]*)?\]\[([^[\]\n]*)\]/g, ({ 0: whole, 1: mark, 2: shown, 3: label }, source) => {
    const name = label || shown?.slice(1);
    // An array index, as in a[0][1] or $a['b']['c'].
    if (!name?.trim() || /^(?:['"$]|\d+$)/.test(name)) return undefined;
    const written = source.slice(0, whole.length);
    const short = shown && written.length <= 50 ? written.replace(/\s+/g, ' ') : `${mark}[...][${label}]`;
    const message = `"${short}" is not a ${mark ? 'picture' : 'link'}: [${name}] is not defined`;
    return [0, message, `write ${mark}[text](address), or add a line "[${name}]: address"`];
  }),
  // Except character classes, such as [^a-z].
  row(/\[\^(?!\w-\w\])[\w-]+\]/g, 'there is no footnote $0', 'add a line "$0: text"'),
  check(/\[(?=[^[\]\n]*\][ \t]*\()[^[\]\n]*\p{L}[^[\]\n]*\]([ \t]*)\(/gu, ([shown, space = ''], written) => {
    const [url = ''] = /^[^()\n"'<>]*(?=\))/.exec(written.slice(shown.length)) ?? [];
    if (!address.test(url) || /\S[ \t]+\S/.test(url) === (space !== '')) return undefined;
    const message = `"${written.slice(0, shown.length)}...)" is not a link`;
    const [, file, width] = /^(\S+)[ \t]+=(\d+)x\d*$/.exec(url) ?? [];
    const encode = /[ \t][“”„‘’]/.test(url) ? 'write " around the title' : 'write %20 for each space in the address';
    return space
      ? [shown.length - space.length - 1, message, 'delete the space before the parenthesis']
      : [shown.length, message, width ? `write <img src="${file}" alt="..." width="${width}">` : encode];
  }),
  row(/!\[\[[^[\]\n]+\]\]/g, '"$0" is not a picture', 'write ![text](/media/...)'),
  // Except names with dots, or in lower case and alone in their line: tables of TOML.
  row(
    /(?<!!)\[\[(?!toc\]|\w+\.|(?<=(?:^|\n)#* ?\[\[)[\p{Ll}\d_]+\]\][ \t]*(?:\n|$))(?:\p{L}[^[\]|\n]*\|)?(\p{L}[^[\]|\n]*)(?<!\s)\]\]/gu,
    '"$0" is not a link',
    'write [$1](address)',
  ),
  foreign(/(?<![=\w<>!])==(?=[^\s=])[^=\n]*[^\s=]==(?![=\w])/g, 'such highlights', 'write <mark>text</mark>'),
  foreign(/(?<=[\p{L}.,!?)])\^\[[^\]\n]* [^\]\n]*\]/gu, 'such footnotes', 'write [^1], and a line "[^1]: text"'),
  foreign(/(?<![\p{L}\d:/.])(:[a-z][a-z0-9_+-]+:)(?![\p{L}\d:/])/gu, 'names of emoji', 'write the emoji itself'),
  foreign(/\{:?[ \t]*[#.][\w-]+[^{}\n]*\}/g, 'attributes', 'delete it: headings have anchors'),
  foreign(
    /\{:?[ \t]*(?:align|height|style|width)=[^{}\n]*\}/g,
    'attributes',
    'write <img src="..." alt="..." width="...">',
  ),
  // Between dollar signs within a line, which may also be prices or variables, only TeX syntax.
  row(
    /\$\$?(?=\S)(?=[^$\n]*\$)[^$\n]*?(?:\\[a-z]{2,}|[\w)}][\^_]\{|[a-z)]\^\d)[^$\n]*\$|\$\$(?<=^[ \t>]*\$\$)\s[^$]+\$\$/gim,
    `"$0" ${asItIs}: formulas are not rendered`,
    'use backticks or words',
  ),
  // A tag with curly quotes is HTML only if no value has a space.
  row(/<[a-z][\w-]*[ \t][^<>]*?=[ \t]*[“”„‘’]/gi, curlyQuotes, 'write " around the value'),
];

/** Marks of bold text and code at the edge of a word; other marks are powers, globs and generics. */
const marks =
  /(?:^|[^\\*\p{L}\p{N}])(\*\*)(?=[\p{L}\p{N}\p{Cf}\u{A0}])|[\p{L}\p{N}.:!?](\*\*)(?![*\p{L}\p{N}])|(?:^|[\s([{])(`)(?=\S)|[^\s\\>`](`)(?![\p{L}\p{N}])/gu;

/** Finds the first unpaired mark of bold text or code. */
function checkMarks(node: Text, { source, sourceOf, warn }: Linted): void {
  if (!/\*\*|`/.test(node.value)) return;
  // The end of a tag, as in <code>`.
  const isAfterTag = source[startOf(node) - 1] === '>';
  const [match] = sourceOf(node)
    .matchAll(marks)
    .filter(({ index, 0: text }) => !(text.endsWith('`') && isAfterTag && index === 0));
  if (!match) return;
  const mark = match[0].endsWith('`') ? '`' : '**';
  const at = startOf(node) + match.index + match[0].length - mark.length;
  const next = source.charAt(at + mark.length);
  const reason = new RegExp(invisible, 'u').test(next) ? ` because of ${describeCharacter(next)}` : '';
  const hint =
    mark === '`'
      ? 'write ` where the code ends, or \\` to show it'
      : 'write ** directly before the first and after the last letter, or \\*\\* to show it';
  warn(at, `"${mark}" ${asItIs}${reason}`, hint);
}

function createTextCheck({ source, sourceOf, warn }: Linted) {
  const inTexts = ofTexts.filter(({ pattern }) => source.search(pattern) >= 0);
  const inParagraphs = [...ofParagraphs.filter(({ pattern }) => source.search(pattern) >= 0), ...inTexts];
  return (node: Paragraph | Heading | TableCell): void => {
    const checks = node.type === 'paragraph' ? inParagraphs : inTexts;
    if (checks.length === 0 || !node.position) return;
    const text = maskMarkup(node, sourceOf(node));
    for (const { pattern, explain } of checks) {
      for (const match of text.matchAll(pattern)) {
        const start = startOf(node) + match.index;
        const fault = explain(match, source.slice(start));
        if (fault) warn(start + fault[0], fault[1], fault[2]);
      }
    }
  };
}

const notPlainText = new Set<string>(
  'inlineCode html link linkReference image imageReference footnoteReference'.split(' '),
);

/** Replaces code, HTML, links, pictures and escaped characters in the source of a node with as many spaces. */
function maskMarkup(parent: Paragraph | Heading | TableCell, source: string): string {
  const start = startOf(parent);
  let text = '';
  walk(parent, (node) => {
    if (!notPlainText.has(node.type) || !node.position) return undefined;
    const end = node.position.end.offset! - start;
    text += source.slice(text.length, startOf(node) - start);
    // Keeps line breaks, and thus lines and offsets.
    text += source.slice(text.length, end).replace(/[^\n]/g, ' ');
    return false;
  });
  return (text + source.slice(text.length)).replace(/\\[!-/:-@[-`{-~]/g, '  ');
}
