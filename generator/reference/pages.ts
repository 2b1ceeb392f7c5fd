import { head } from '#contract/docs.ts';
import { html } from '../html.ts';
import { allows, scopes } from '#contract/api-keys.ts';
import type { Scope } from '#contract/api-keys.ts';
import type { Endpoint } from '#contract/endpoint.ts';
import { endpoints } from '#contract/endpoints.ts';
import type { Html } from '../html.ts';
import { problems, renderProblem } from '#contract/problem.ts';
import { bodyLimits, rateLimits } from '#contract/limits.ts';
import { origin, renderCode, renderPage, renderTable } from './page.ts';
import type { Assets } from './page.ts';

/** A way to a first answer and to a first line of a console. */
const firstCalls = [
  `echo 'Authorization: Bearer hk_...' > .key`,
  `curl -H @.key ${origin}/v1/key`,
  `curl -H @.key -X POST ${origin}/v1/hosting/game/power/demo/start`,
  `curl -H @.key ${origin}/v1/hosting/game/logs/demo/latest`,
];

/** Renders the first page: the way to a first answer, and the reference. */
export function renderStart(assets: Assets): string {
  const { viewer, viewerStyle } = assets;
  const main = html`<h1>${head.info.title}</h1>
    <p>${head.info.description}</p>
    <h2 id="start">Start</h2>
    <p>Content, plans, domains and the status are public. In a terminal:</p>
    ${renderCode(`curl ${origin}/v1/plans`)}
    <p>
      Servers need an API key, which your provider gives you. If you have started this service yourself with
      <code>npm start</code>, its first start printed a demo key for the servers <code>game:demo</code> and
      <code>vps:demo</code>. Keep the key in a file, ask what it may do, start the game server, and read its log:
    </p>
    ${renderCode(firstCalls.join('\n'))}
    <p>
      Or use this page: select <b>Authorize</b> below and paste the key. Then open an operation, and select
      <b>Execute</b>. The IDs are filled in for the demo servers; replace <code>demo</code> by the ID of your server.
      This is no simulation: actions are sent to the server. The key stays in the memory of this page only, so it is
      gone after a reload.
    </p>
    <ul>
      <li><a href="/docs/scopes.html">What a key may do</a></li>
      <li><a href="/docs/streams.html">How to follow a console live</a></li>
      <li><a href="/docs/errors.html">What an error means, and what to do</a></li>
      <li><a href="/docs/limits.html">How many requests you may send</a></li>
    </ul>
    <h2 id="reference">Reference</h2>
    <div id="viewer">
      <p role="status">
        The reference is loading. It needs JavaScript; <a href="/v1/openapi.json">the machine description</a> has the
        same content.
      </p>
    </div>`;
  return renderPage({ path: '/docs', main, styles: [viewerStyle], scripts: [viewer] }, assets);
}

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

/** Renders the page of all errors. */
export function renderErrors(assets: Assets): string {
  const json = Object.values(endpoints).filter(({ errorStyle }) => errorStyle === 'json');
  const tags = [...new Set(json.map(({ tag }) => tag))];
  const rows = Object.entries(problems)
    .toSorted(([, a], [, b]) => a.status - b.status)
    .map(([code, { status, message, advice }]) => [
      html`<code>${code.split('_').map((word, at) => html`${at > 0 && html`_<wbr />`}${word}`)}</code>`,
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

/** Renders the page of all limits. */
export function renderLimits(assets: Assets): string {
  const rates = Object.values(rateLimits).map(({ requests, burst, refill, seconds, countedFor }) => [
    requests,
    burst,
    seconds === 1 ? `${refill} a second` : `${refill} in ${seconds} seconds`,
    countedFor,
  ]);
  const bodies = [
    ['A vote on an article', `${bodyLimits.feedback / 1024} KiB`],
    ['Any other body', `${bodyLimits.others / 1024} KiB`],
  ];
  const main = html`<h1>Limits</h1>
    <p>
      These limits apply unless the operator has set others. <code>RateLimit-Policy</code> and <code>RateLimit</code>,
      on answers that no cache may keep, name the limit that applies and what is left of it. A request over a limit gets
      429, and <code>Retry-After</code> has the seconds to wait. IPv6 addresses are counted by their /64 network.
    </p>
    ${renderTable('Rate limits', ['Requests', 'At once', 'Then', 'Counted for'], rates)}
    <h2 id="bodies">Bodies</h2>
    <p>A larger body is an error 400, and so is a compressed one.</p>
    ${renderTable('Largest bodies', ['Body', 'At most'], bodies)}`;
  return renderPage({ path: '/docs/limits.html', main }, assets);
}
