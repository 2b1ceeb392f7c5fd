import { endpoints } from '#contract/endpoints.ts';
import { problems, renderProblem } from '#contract/problem.ts';
import { html } from '../html.ts';
import { renderCode, renderPage, renderTable } from './page.ts';
import type { Assets } from './page.ts';

/** Renders the page of all errors. */
export function renderErrors(assets: Assets): string {
  const json = Object.values(endpoints).filter(({ errorStyle }) => errorStyle === 'json');
  const tags = [...new Set(json.map(({ tag }) => tag))];
  const rows = Object.entries(problems)
    .toSorted(([, a], [, b]) => a.status - b.status)
    .map(([code, { status, message, advice }]) => [
      html`<code>${code}</code>`,
      status,
      html`<p>${message}.</p>
        <p>${advice}</p>`,
    ]);
  const main = html`<h1>Errors</h1>
    <p>
      The operations of ${new Intl.ListFormat('en-GB').format(tags)} answer with JSON: <code>error</code> is for
      programs, <code>message</code> for people, and may say more than the table.
    </p>
    ${renderCode(renderProblem('json', 'unauthorized').trim())}
    <p>
      All others answer with one line of plain text: there the status is for programs. No error repeats what you sent,
      or says what a system behind this service answered.
    </p>
    <p>Each answer has an <code>X-Request-Id</code>. Send it with a question to the support.</p>
    ${renderTable('All errors', ['Code', 'Status', 'Meaning, and what to do'], rows)}`;
  return renderPage({ path: '/docs/errors.html', main }, assets);
}
