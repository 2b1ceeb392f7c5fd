import { lstatSync, readFileSync } from 'node:fs';
import type { Diagnostic } from '../source/diagnostics.ts';
import { html, renderDocument } from '../html.ts';
import type { Html } from '../html.ts';
import type { PreviewState, Problems } from './state.ts';
import type { Article } from '../articles/article.ts';

/** Errors shown at once; fixing one often fixes others. */
const maxShown = 20;

/** Renders a whole page. `main` and the problems are replaced in the open page after each build. */
export function renderPage(title: string, main: Html, { build, diagnostics }: PreviewState): string {
  const errors = diagnostics.filter(({ severity }) => severity === 'error');
  const head = html`<link rel="stylesheet" href="/v1/article.css" />
    <link rel="stylesheet" href="/preview/preview.css" />
    <script src="/preview/preview.js" defer></script>`;
  const body = html`<body data-build="${build}">
    <header class="bar"><a href="/preview">All articles</a> <span id="connection" role="status"></span></header>
    <main>${main}</main>
    <div id="problems">${errors.length > 0 && renderOverlay(errors)}</div>
  </body>`;
  return renderDocument({ title: `${title} - preview`, head, body });
}

function renderOverlay(errors: readonly Diagnostic[]): Html {
  const more = errors.length - maxShown;
  return html`<section class="overlay" role="region" aria-labelledby="overlay-title" tabindex="0">
    <h2 id="overlay-title">${errors.length === 1 ? '1 problem' : `${errors.length} problems`}</h2>
    <p>The preview shows the last version without problems.</p>
    <button type="button" class="hide">Hide (Esc)</button>
    <ol>
      ${errors.slice(0, maxShown).map((error) => html`<li>${renderProblem(error)}</li>`)}
    </ol>
    ${more > 0 && html`<p>${more} more.</p>`}
  </section>`;
}

/** Renders a problem with its place, its hint and the line of the source. */
export function renderProblem({ severity, file, line, column, message, hint }: Diagnostic): Html {
  const source = readLine(file, line);
  const marker = ' '.repeat(Math.min(column, 500) - 1) + '^';
  return html`<div class="problem ${severity}">
    <p><code class="place">${file}:${line}:${column}</code> ${message}</p>
    ${hint !== undefined && html`<p class="hint">${hint}</p>`}
    ${
      source !== undefined &&
      html`<pre tabindex="0"><span class="number">${line} | </span>${source}
<span class="number">${' '.repeat(String(line).length)} | </span>${marker}</pre>`
    }
  </div>`;
}

/** A line of a source file, without what follows its first 500 characters; undefined if there is none. */
function readLine(file: string, line: number): string | undefined {
  // Other files are no text, or no files: only their names are wrong.
  if (!/\.(?:md|yaml)$/.test(file)) return undefined;
  try {
    if (!lstatSync(file).isFile()) return undefined;
    const text = readFileSync(file, 'utf8').split(/\r\n?|\n/)[line - 1];
    return text?.slice(0, 500).replaceAll('\t', ' ');
  } catch {
    return undefined;
  }
}

/** Renders the marks of an article: its state, and the numbers of its problems and warnings. */
export function renderMarks({ state, metadata }: Article, { errors, warnings }: Problems): Html[] {
  return [
    ...(state === 'draft' ? [html`<span class="mark draft">draft</span> `] : []),
    ...(state === 'scheduled' ? [html`<span class="mark scheduled">scheduled for ${metadata.due}</span> `] : []),
    ...(errors.length > 0 ? [html`<span class="mark error">${count(errors.length, 'problem')}</span> `] : []),
    ...(warnings.length > 0 ? [html`<span class="mark warning">${count(warnings.length, 'warning')}</span> `] : []),
  ];
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}
