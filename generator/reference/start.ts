import { head } from '#contract/docs.ts';
import { html } from '../html.ts';
import { origin, renderCode, renderPage } from './page.ts';
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
