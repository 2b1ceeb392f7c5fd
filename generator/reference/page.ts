import { head as description } from '#contract/docs.ts';
import { html, renderDocument } from '../html.ts';
import type { Html } from '../html.ts';

/** The names of the scripts and style sheets, which have their version in them. */
export interface Assets {
  /** Swagger UI: script, style sheet and licences. */
  readonly viewer: string;
  readonly viewerStyle: string;
  readonly script: string;
  readonly style: string;
}

const { info, openapi } = description;

/** The pages of /docs, by path. */
const pages = {
  '/docs': 'Start and reference',
  '/docs/scopes.html': 'Keys and scopes',
  '/docs/streams.html': 'Console streams',
  '/docs/errors.html': 'Errors',
  '/docs/limits.html': 'Limits',
} as const;

/** A page of /docs. */
interface Page {
  readonly path: keyof typeof pages;
  readonly main: Html;
  /** The style sheets and scripts that only this page loads. */
  readonly styles?: readonly string[];
  readonly scripts?: readonly string[];
}

/** Where `npm start` serves. The script of each page puts its own address in its place. */
export const origin = 'http://localhost:3000';

/** Renders a whole page. All addresses start with a slash: the first page is at /docs and at /docs/. */
export function renderPage({ path, main, styles = [], scripts = [] }: Page, { viewer, style, script }: Assets): string {
  const title = path === '/docs' ? info.title : `${pages[path]} - ${info.title}`;
  const head = html`${[...styles, style].map((name) => html`<link rel="stylesheet" href="/docs/${name}.css" />`)}
  ${[...scripts, script].map((name) => html`<script src="/docs/${name}.js" defer></script>`)}`;
  const body = html`<body>
    <a class="skip" href="#main">Skip to the content</a>
    <header>
      <a class="name" href="/docs">${info.title}</a>
      <nav aria-label="Documentation">
        <ul>
          ${Object.entries(pages).map(([to, name]) => renderLink(to, name, to === path))}
        </ul>
      </nav>
    </header>
    <main id="main">${main}</main>
    <footer>
      <p>
        <a href="${info.contact.url}">${info.contact.name}</a> ·
        <a href="/v1/openapi.json">Machine description</a> (OpenAPI ${openapi}, API version ${info.version}) ·
        <a href="/docs/${viewer}.txt">Licences of the reference</a>
      </p>
    </footer>
  </body>`;
  return renderDocument({ title, head, body });
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
