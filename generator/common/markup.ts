/** HTML that needs no escaping. */
export interface Html {
  readonly html: string;
}

/** Renders a page with its title, what else its head has, and its body element. */
export function renderDocument({ title, head, body }: { title: string; head: Html; body: Html }): string {
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
    </html> `.html;
}

type Part = string | number | Html | undefined | false | readonly Part[];

/** A template of HTML: texts are escaped, HTML and lists of it are inserted, `undefined` and `false` are left out. */
export function html(texts: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return { html: texts.reduce((all, text, index) => all + toHtml(parts[index - 1]) + text) };
}

/** Marks a text as HTML that needs no escaping. */
export function trusted(text: string): Html {
  return { html: text };
}

function toHtml(part: Part): string {
  if (part === undefined || part === false) return '';
  if (typeof part === 'string' || typeof part === 'number') return escapeHtml(String(part));
  return 'html' in part ? part.html : part.map(toHtml).join('');
}

function escapeHtml(text: string): string {
  const entities: Partial<Record<string, string>> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": '#39' };
  return text.replace(/[&<>"']/g, (character) => `&${entities[character]};`);
}
