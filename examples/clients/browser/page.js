import { showConsole } from './console.js';

// Asks for a key and shows the console. The key stays in the memory of this page.

/** @param {string} selector */
const find = (selector) => /** @type {HTMLElement} */ (document.querySelector(selector));
const form = /** @type {HTMLFormElement} */ (find('#access'));
const [leave, section, alert] = [find('#leave'), find('#console'), find('[role=alert]')];

/** @type {ReturnType<typeof showConsole> | undefined} */
let shown;

/** Fetches the servers of a key. @param {string} origin @param {string} key @returns {Promise<string[]>} */
async function readServers(origin, key) {
  const headers = { Authorization: `Bearer ${key}` };
  const response = await fetch(`${origin}/v1/key`, { headers, signal: AbortSignal.timeout(30_000) }).catch((error) => {
    // Browsers hide the reason why a response could not be read.
    if (!(error instanceof TypeError)) throw error;
    throw new Error(
      `This page cannot read responses from ${origin}. Does CORS_ORIGINS there contain ${location.origin}?`,
    );
  });
  const { servers, message } = await response.json().catch(() => ({ message: response.statusText }));
  if (!response.ok) throw new Error(`${response.status}: ${message}`);
  return servers;
}

async function enter() {
  /** @param {string} name */
  const read = (name) => /** @type {string} */ (new FormData(form).get(name)).trim();
  // The key may be pasted with surrounding words.
  const key = /hk_\w+/.exec(read('key'))?.[0];
  if (!key) throw new Error('A key begins with hk_.');
  const { origin } = new URL(read('base'));
  const servers = await readServers(origin, key);
  shown = showConsole(section, { key, servers, origin });
  alert.textContent = '';
  [form.hidden, leave.hidden] = [true, false];
  if (servers.some((server) => server.startsWith('game:'))) shown.connect();
}

form.addEventListener('submit', (event) => {
  event.preventDefault();
  enter().catch((/** @type {Error} */ { message }) => (alert.textContent = message));
});

leave.addEventListener('click', () => {
  shown?.close();
  form.reset();
  [form.hidden, leave.hidden] = [false, true];
  form.querySelector('button')?.focus();
});
