import type { Assets } from './files.ts';
import { html } from './html.ts';
import { renderPage } from './page.ts';

/** Renders the page. */
export function renderErrors(assets: Assets): string {
  return renderPage({ path: '/docs/errors', main: html`<h1>Errors</h1>` }, assets);
}
