/**
 * Extracts headings, text and code blocks of an article for the search, without labels of the renderer. Patterns
 * suffice for HTML of `render`, which closes each element and escapes each `<` in a text.
 */
export function toPlainText(html: string) {
  const headings: string[] = [];
  const blocks: string[] = [];
  const plain = bracketed.test(html) ? html.replace(tag, (start) => start.replace(value, withoutBrackets)) : html;
  const body = plain
    .replace(codeBlock, (block) => (blocks.push(block), ' '))
    .replace(footnoteLabel, ' ')
    .replace(heading, (_, content: string) => {
      headings.push(stripTags(content));
      return ' ';
    });
  return { headings, text: stripTags(body), code: stripTags(blocks.join(' ')) };
}

const codeBlock = /<pre[\s>].*?<\/pre>/gs;
const footnoteLabel =
  /<h2[^>]* id="user-content-footnote-label"[^>]*>.*?<\/h2>|<a [^>]*data-footnote-(?:back)?ref[^>]*>.*?<\/a>/gs;
const heading = /<(?=h[1-6][\s>])[^>]*>(.*?)<\/h[1-6]>/gs;
/** Elements whose text may be part of a word. */
const inlineTag =
  /<\/?(?:a|abbr|b|code|del|em|i|ins|kbd|mark|s|samp|span|strike|strong|tt|u|var)(?:\s(?:[^>"]|"[^"]*")*)?>/g;
const tag = /<(?:[^>"]|"[^"]*")*>/g;
const value = /"[^"]*"/g;
/** An attribute value with a bracket, which is rare, or a text that looks like one. */
const bracketed = /="[^"<>]*[<>]/;
/** Removes brackets from attribute values, which the other patterns would mistake for tags. */
const withoutBrackets = (text: string): string => text.replace(/[<>]/g, '');
/** The only character references that the renderer writes. */
const reference = /&#x([0-9A-F]+);/g;
/** Soft hyphens and other invisible characters. */
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
