import { describeStream, streamLimits } from '#contract/console-stream.ts';
import { html } from '../html.ts';
import type { Html } from '../html.ts';
import { origin, renderCode, renderPage, renderTable } from './page.ts';
import type { Assets } from './page.ts';

type Described = ReturnType<typeof describeStream>['events'][number];
type Argument = Described['args'][number];

/** A whole client, without a library: Node.js has a websocket client. */
const client = `import { readFileSync } from 'node:fs';
const [, authorization] = readFileSync('.key', 'utf8').trim().split(': ');
const answer = await fetch('${origin}/v1/hosting/game/console/demo/websocket', { headers: { authorization } });
const { websocket, message } = await answer.json();
if (!answer.ok) throw new Error(message);
const stream = new WebSocket(websocket.socket_url);
const send = (event, ...args) => stream.send(JSON.stringify({ event, args }));
stream.onopen = () => send('auth', websocket.token);
stream.onmessage = ({ data }) => {
  const { event, args } = JSON.parse(data);
  console.log(event, ...args);
  if (event === 'auth success') send('send logs');
};
stream.onclose = ({ code }) => console.log('closed', code);`;

/** Renders the page of console streams. */
export function renderStreams(assets: Assets): string {
  const { events, closeCodes } = describeStream();
  const from = (side: Described['from']): Html[][] =>
    events.filter((event) => event.from === side).map((event) => [renderName(event), renderEvent(event)]);
  const codes = closeCodes.map(({ code, meaning, client: then }) => [code, meaning, then]);
  const main = html`<h1>Console streams</h1>
    <p>A stream is a websocket that sends each line of a game server's console, and takes commands.</p>
    <ol>
      <li>
        <a href="/docs#/Game%20servers/openGameConsole"
          ><code>GET /v1/hosting/game/console/{server_id}/websocket</code></a
        >
        answers with the address of the stream and a token.
      </li>
      <li>Open the address with a websocket client. An HTTP request to it is 426.</li>
      <li>Send the token in the event <code>auth</code> within ${streamLimits.authSeconds} seconds.</li>
      <li>Read events. On <code>token expiring</code>, repeat the first and the third step, on the same websocket.</li>
    </ol>
    <p>A message is a JSON text with one event; all arguments are texts:</p>
    ${renderCode(toMessage(events[0]!))}
    <h2 id="client">A client</h2>
    <p>
      Save this as <code>console.mjs</code> beside the file <code>.key</code> of the
      <a href="/docs#start">first calls</a>. Start the server, and run <code>node console.mjs</code> with Node.js 22 or
      later; in the folder of this project, <code>npx node console.mjs</code> does.
    </p>
    ${renderCode(client)}
    <h2 id="send">Events that you send</h2>
    <p>
      ${streamLimits.messageBurst} messages at once, and then ${streamLimits.messagesPerSecond} a second, each of at
      most ${streamLimits.messageBytes / 1024} KiB.
    </p>
    ${renderTable('Events that you send', ['Event', 'Meaning'], from('client'))}
    <h2 id="receive">Events that you receive</h2>
    ${renderTable('Events that you receive', ['Event', 'Meaning'], from('service'))}
    <h2 id="close">Close codes</h2>
    ${renderTable('Close codes', ['Code', 'Meaning', 'What to do'], codes)}`;
  return renderPage({ path: '/docs/streams.html', main }, assets);
}

function renderName({ event, args }: Described): Html {
  const names = args.map(({ name, optional }) => (optional ? ` [${name}?]` : ` [${name}]`));
  return html`<code>${event}</code>${names.join('')}`;
}

function renderEvent(event: Described): Html {
  const { description, scope, args } = event;
  return html`<p>${description} ${scope !== null && html`Needs the scope <code>${scope}</code>.`}</p>
    ${
      args.length > 0 &&
      html`<ul>
        ${args.map(renderArgument)}
      </ul>`
    }
    <pre tabindex="0"><code>${toMessage(event)}</code></pre>`;
}

function renderArgument({ name, description, optional, values, fields }: Argument): Html {
  const parts = [
    ...values.map(({ value, meaning }) => html`<li><code>${value}</code>: ${meaning}</li>`),
    ...fields.map((field) => html`<li><code>${field.name}</code>: ${field.description}</li>`),
  ];
  return html`<li>
    <b>${name}</b>${optional && ', optional'}: ${description}
    ${
      parts.length > 0 &&
      html`<ul>
        ${parts}
      </ul>`
    }
  </li>`;
}

function toMessage({ event, example }: Described): string {
  return JSON.stringify({ event, args: example });
}
