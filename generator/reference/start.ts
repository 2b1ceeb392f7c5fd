import { head } from '#contract/openapi-document.ts';
import type { Assets } from './files.ts';
import { html } from './html.ts';
import { renderCode, renderPage } from './page.ts';

/** Where `npm start` serves; the script of the page puts its own address in its place. */
const origin = 'http://localhost:3000';

/** Renders the first page: the way to a first answer, and the reference. */
export function renderStart(assets: Assets): string {
  const { viewer, script } = assets;
  const scripts = html`<link rel="stylesheet" href="/docs/${viewer}.css" />
    <script src="/docs/${viewer}.js" defer></script>
    <script src="/docs/${script}.js" defer></script>`;
  const main = html`<h1>${head.info.title}</h1>
    <p>${head.info.description}</p>
    <h2 id="start">Start</h2>
    <p>Content, plans, domains and the status are public. Try one in a terminal:</p>
    ${renderCode(`curl ${origin}/v1/plans`)}
    <p>
      Servers need an API key, which your provider gives you. On a system that was started with
      <code>npm start</code>, the demo key is in the output of its first start, and opens the servers
      <code>game:demo</code> and <code>vps:demo</code>. Keep the key in a file, start the game server, and read its log:
    </p>
    ${renderCode(
      [
        `echo 'Authorization: Bearer hk_...' > .key`,
        `curl -H @.key -X POST ${origin}/v1/hosting/game/power/demo/start`,
        `curl -H @.key ${origin}/v1/hosting/game/logs/demo/latest`,
      ].join('\n'),
    )}
    <p>
      Or try it on this page: select <b>Authorize</b> below, paste the key without <code>Bearer</code>, open an
      operation and select <b>Execute</b>. The examples are filled in for the demo servers; replace <code>demo</code> by
      the ID of your own server. The key stays in the memory of this page and is gone when you leave it.
    </p>
    <p>
      <a href="/docs/scopes">What a key may do</a> · <a href="/docs/errors">What an error means</a> ·
      <a href="/docs/limits">How many requests you may send</a>
    </p>
    <h2 id="reference">Reference</h2>
    <div id="viewer" aria-live="polite"><p id="loading">The reference is loading.</p></div>
    <noscript
      ><p>
        The reference needs JavaScript. <a href="/v1/openapi.json">The machine description</a> has the same content.
      </p></noscript
    >`;
  return renderPage({ path: '/docs', main, head: scripts }, assets);
}
