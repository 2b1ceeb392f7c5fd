import { head } from '#contract/openapi-document.ts';
import type { Assets } from './files.ts';
import { html } from './html.ts';
import type { Html } from './html.ts';

/** The pages of /docs, by path. */
const pages = {
  '/docs': 'Start and reference',
  '/docs/scopes': 'Keys and scopes',
  '/docs/errors': 'Errors',
  '/docs/limits': 'Limits',
} as const;

/** A page of /docs. */
interface Page {
  readonly path: keyof typeof pages;
  readonly main: Html;
  /** What only this page loads. */
  readonly head?: Html;
}

/** Renders a whole page. All addresses start with a slash: the first page is at /docs and at /docs/. */
export function renderPage({ path, main, head: own }: Page, { viewer, style }: Assets): string {
  const title = path === '/docs' ? head.info.title : `${pages[path]} - ${head.info.title}`;
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title}</title>
        <link rel="icon" href="data:," />
        ${own}
        <link rel="stylesheet" href="/docs/${style}.css" />
      </head>
      <body>
        <a class="skip" href="#main">Skip to the content</a>
        <header>
          <a class="name" href="/docs">${head.info.title}</a>
          <nav aria-label="Documentation">
            <ul>
              ${Object.entries(pages).map(([to, name]) => renderLink(to, name, to === path))}
            </ul>
          </nav>
        </header>
        <main id="main">${main}</main>
        <footer>
          <p>
            <a href="${head.info.contact.url}">${head.info.contact.name}</a> ·
            <a href="/v1/openapi.json">Machine description</a> (OpenAPI ${head.openapi}, API version
            ${head.info.version}) · <a href="/docs/${viewer}.txt">Licences of the reference</a>
          </p>
        </footer>
      </body>
    </html> `.html;
}

function renderLink(to: string, name: string, isCurrent: boolean): Html {
  if (isCurrent) return html`<li><a href="${to}" aria-current="page">${name}</a></li>`;
  return html`<li><a href="${to}">${name}</a></li>`;
}

/** Renders a table that scrolls in itself on a narrow screen. The first cell of each row names it. */
export function renderTable(caption: string, columns: readonly string[], rows: readonly (readonly Cell[])[]): Html {
  return html`<div class="table" role="region" aria-label="${caption}" tabindex="0">
    <table>
      <thead>
        <tr>
          ${columns.map((column) => html`<th scope="col">${column}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          ([first, ...cells]) =>
            html`<tr>
              <th scope="row">${first}</th>
              ${cells.map((cell) => html`<td>${cell}</td>`)}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

type Cell = string | number | Html | readonly Html[];

/** Renders lines for a terminal. The script of the page puts its own address in place of the example's. */
export function renderCode(text: string): Html {
  return html`<pre class="code" tabindex="0"><code>${text}</code></pre>`;
}
