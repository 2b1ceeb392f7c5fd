const wordsPerMinute = 200;

/** The reading time of a number of words, at least one minute. */
export function toReadTime(words: number): string {
  return `${Math.max(1, Math.ceil(words / wordsPerMinute))} min read`;
}

/** The text of an article for a search: without markup, code blocks and the labels that the renderer adds. */
export interface PlainText {
  readonly headings: readonly string[];
  readonly text: string;
}

/**
 * Extracts the text of an article from its HTML. It is only for the HTML of `render`: that closes each element and escapes
 * each `<` outside of tags, so that patterns find what a parser would, in a fraction of its time.
 */
export function toPlainText(html: string): PlainText {
  const headings: string[] = [];
  const body = html
    .replace(tag, (start) => start.replace(value, withoutBrackets))
    .replace(codeBlock, ' ')
    .replace(footnoteLabel, ' ')
    .replace(heading, (_, content: string) => {
      headings.push(stripTags(content));
      return ' ';
    });
  return { headings, text: stripTags(body) };
}

const codeBlock = /<pre[\s>].*?<\/pre>/gs;
const footnoteLabel =
  /<h2[^>]* id="user-content-footnote-label"[^>]*>.*?<\/h2>|<a [^>]*data-footnote-backref[^>]*>.*?<\/a>/gs;
const heading = /<(?=h[1-6][\s>])[^>]*>(.*?)<\/h[1-6]>/gs;
/** The text of these elements may be a part of a word. */
const inlineTag =
  /<\/?(?:a|abbr|b|code|del|em|i|ins|kbd|mark|s|samp|span|strike|strong|tt|u|var)(?:\s(?:[^>"]|"[^"]*")*)?>/g;
const tag = /<(?:[^>"]|"[^"]*")*>/g;
const value = /"[^"]*"/g;
/** Values of attributes hold brackets as they are, which the other patterns would take for tags. */
const withoutBrackets = (text: string): string => text.replace(/[<>]/g, '');
/** The renderer writes no other character references. */
const reference = /&#x([0-9A-F]+);/g;
/** Soft hyphens and other characters that are not visible. */
const invisible = /\p{Cf}/gu;

function stripTags(html: string): string {
  return html
    .replace(inlineTag, '')
    .replace(tag, ' ')
    .replace(reference, (_, code: string) => String.fromCodePoint(Number.parseInt(code, 16)))
    .replace(invisible, '')
    .replace(/\s+/g, ' ')
    .trim();
}
