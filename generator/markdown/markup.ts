/** Markup that needs no escaping. */
export interface Markup {
  readonly markup: string;
}

interface DocumentParts {
  readonly title: string;
  readonly head: Markup;
  readonly body: Markup;
  readonly icon?: string;
}

/** Renders a page from a title, further elements of the head, the body element, and an icon. */
export function renderDocument({ title, head, body, icon = 'data:,' }: DocumentParts): string {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title}</title>
        <link rel="icon" href="${icon}" />
        ${head}
      </head>
      ${body}
    </html> `.markup;
}

type TemplateValue = string | number | Markup | undefined | false | readonly TemplateValue[];

/** Renders a template of HTML: escapes texts, inserts markup and lists, and skips `undefined` and `false`. */
export function html(texts: TemplateStringsArray, ...parts: readonly TemplateValue[]): Markup {
  return join(texts, parts, (text) => toEntities(text, /[&<>"']/g));
}

/** Renders a template of XML like {@link html}, without line breaks and indentation. */
export function xml(texts: TemplateStringsArray, ...parts: readonly TemplateValue[]): Markup {
  const lines = texts.map((text) => text.replace(/\n */g, ''));
  return join(lines, parts, escapeXml);
}

/** Marks a text as trusted markup, which is not escaped. */
export const trusted = (markup: string): Markup => ({ markup });

/** Characters that XML 1.0 cannot contain, not even escaped: most control characters, and lone surrogates. */
const impossible = /[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu;

/** Escapes text for XML content and double-quoted attributes; removes invalid characters. */
export function escapeXml(text: string): string {
  // A parser would turn a bare carriage return into a line feed.
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
