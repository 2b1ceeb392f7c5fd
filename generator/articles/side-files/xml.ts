/** Everything that XML 1.0 cannot hold, not even escaped: most control characters, and halves of characters. */
const impossible = /[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu;

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  // A parser would read it as a line feed.
  '\r': '&#13;',
};

/** Escapes text for XML, for content and for attributes in double quotes; removes what XML cannot hold. */
export function escapeXml(text: string): string {
  return text.replace(impossible, '').replace(/[&<>"\r]/g, (character) => entities[character]!);
}

/** An XML document. */
export function renderXml(root: string): string {
  return `<?xml version="1.0" encoding="utf-8"?>\n${root}\n`;
}

/** An XML element; its content is a text, elements in a list, or nothing. Attributes without a value are left out. */
export function element(
  name: string,
  content: string | readonly string[] = [],
  attributes: Readonly<Record<string, string | undefined>> = {},
): string {
  const written = Object.entries(attributes)
    .map(([key, value]) => (value === undefined ? '' : ` ${key}="${escapeXml(value)}"`))
    .join('');
  const inner = typeof content === 'string' ? escapeXml(content) : content.join('');
  return inner === '' ? `<${name}${written}/>` : `<${name}${written}>${inner}</${name}>`;
}
