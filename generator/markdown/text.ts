/**
 * Extracts the headings and the other text of an article for a search, without code blocks and the labels of the renderer. For HTML
 * of `render` only: that closes each element and escapes each `<` of a text, so patterns find what a slower parser would.
 */
export function toPlainText(html: string) {
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
