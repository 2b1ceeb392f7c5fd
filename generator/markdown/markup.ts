/** Markup that needs no escaping. */
export interface Markup {
  readonly markup: string;
}

/** Renders a page with its title, what else its head has, and its body element. */
export function renderDocument({ title, head, body }: { title: string; head: Markup; body: Markup }): string {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title}</title>
        <link rel="icon" href="data:," />
        ${head}
      </head>
      ${body}
    </html> `.markup;
}

type TemplateValue = string | number | Markup | undefined | false | readonly TemplateValue[];

/** A template of HTML: texts are escaped, markup and lists of it are inserted, `undefined` and `false` are left out. */
export function html(texts: TemplateStringsArray, ...parts: readonly TemplateValue[]): Markup {
  return join(texts, parts, (text) => toEntities(text, /[&<>"']/g));
}

/** The same for XML; line breaks are left out with their indents. */
export function xml(texts: TemplateStringsArray, ...parts: readonly TemplateValue[]): Markup {
  const lines = texts.map((text) => text.replace(/\n */g, ''));
  return join(lines, parts, escapeXml);
}

/** Marks a text as markup that needs no escaping. */
export const trusted = (markup: string): Markup => ({ markup });

/** Everything that XML 1.0 cannot hold, not even escaped: most control characters, and halves of characters. */
const impossible = /[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu;

/** Escapes text for XML, for content and for attributes in double quotes; removes what XML cannot hold. */
export function escapeXml(text: string): string {
  // A parser would read a carriage return as a line feed.
  return toEntities(text.replace(impossible, ''), /[&<>"\r]/g);
}

function toEntities(text: string, special: RegExp): string {
  const entities = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": '#39', '\r': '#13' };
  return text.replace(special, (character) => `&${entities[character as keyof typeof entities]};`);
}

function join(texts: readonly string[], parts: readonly TemplateValue[], escape: (text: string) => string): Markup {
  const toMarkup = (part: TemplateValue): string => {
    if (part === undefined || part === false) return '';
    if (typeof part === 'string' || typeof part === 'number') return escape(String(part));
    return 'markup' in part ? part.markup : part.map(toMarkup).join('');
  };
  return { markup: texts.reduce((all, text, at) => all + toMarkup(parts[at - 1]) + text) };
}
