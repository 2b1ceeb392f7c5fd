import type { Assets } from './files.ts';
import { html } from './html.ts';
import { renderPage } from './page.ts';

/** Renders the page. */
export function renderScopes(assets: Assets): string {
  return renderPage({ path: '/docs/scopes', main: html`<h1>Keys and scopes</h1>` }, assets);
}
