import type { Assets } from './files.ts';
import { html } from './html.ts';
import { renderPage } from './page.ts';

/** Renders the page. */
export function renderLimits(assets: Assets): string {
  return renderPage({ path: '/docs/limits', main: html`<h1>Limits</h1>` }, assets);
}
