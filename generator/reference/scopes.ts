import { allows, scopes } from '#contract/api-keys.ts';
import type { Scope } from '#contract/api-keys.ts';
import type { Endpoint } from '#contract/endpoint.ts';
import { endpoints } from '#contract/endpoints.ts';
import { html } from '../html.ts';
import type { Html } from '../html.ts';
import { renderPage, renderTable } from './page.ts';
import type { Assets } from './page.ts';

/** Renders the page of API keys, and of the operations that each scope opens. */
export function renderScopes(assets: Assets): string {
  const rows = [
    ...scopes.map((scope) => [html`<code>${scope}</code>`, renderOperations((access) => opens(scope, access))]),
    ['any key', renderOperations((access) => access === 'any_key')],
  ];
  const main = html`<h1>Keys and scopes</h1>
    <p>
      A key opens some servers, and its scopes say what it may do with them. Send it in the header
      <code>Authorization: Bearer hk_...</code>. All operations that are not in the table are public and need no key.
    </p>
    <p>
      A key belongs in a program, not in a web page: everyone who opens the page can read it. Browsers do not send a key
      from a web page of another origin, unless the operator has allowed that origin.
    </p>
    ${renderTable('What each scope opens', ['Scope', 'Operations'], rows)}
    <p>
      A key without the scope gets 403 <code>insufficient_scope</code>, and <code>WWW-Authenticate</code> names the
      scope that is missing. A server that the key does not have is 403 <code>forbidden</code>, whether it exists or
      not.
    </p>`;
  return renderPage({ path: '/docs/scopes.html', main }, assets);
}

type Access = NonNullable<Endpoint['access']>;

function opens(scope: Scope, access: Access): boolean {
  return access !== 'any_key' && allows([scope], access.scope);
}

function renderOperations(isOpen: (access: Access) => boolean): Html {
  const open = Object.entries<Endpoint>(endpoints).filter(([, { access }]) => access && isOpen(access));
  return html`<ul>
    ${open.map(
      ([operation, { method, path, summary, tag }]) =>
        html`<li>
          <a href="/docs#/${encodeURIComponent(tag)}/${operation}"><code>${method} ${path}</code></a> ${summary}
        </li>`,
    )}
  </ul>`;
}
