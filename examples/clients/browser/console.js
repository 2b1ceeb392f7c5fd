import { followConsole } from './stream.js';

// The console of a game server in a browser, with xterm.js. The key is sent only to the API, and kept only in memory.

// Globals set by the xterm.js scripts.
const { Terminal } = /** @type {typeof import('@xterm/xterm')} */ (/** @type {unknown} */ (globalThis));
const { FitAddon } = /** @type {{ FitAddon: typeof import('@xterm/addon-fit') }} */ (
  /** @type {unknown} */ (globalThis)
).FitAddon;

const themes = {
  light: { background: '#ffffff', foreground: '#17212b', cursor: '#ffffff', selectionBackground: '#b6d5f5' },
  dark: { background: '#172029', foreground: '#e4eaf0', cursor: '#172029', selectionBackground: '#33506d' },
};

/** @param {string} selector */
const find = (selector) => /** @type {HTMLElement} */ (document.querySelector(selector));
const accessForm = /** @type {HTMLFormElement} */ (find('#access'));
const commandForm = /** @type {HTMLFormElement} */ (find('#command'));
const lineInput = /** @type {HTMLInputElement} */ (find('#command input'));
const section = find('#console');
const disconnectButton = find('#disconnect');

const isDark = matchMedia('(prefers-color-scheme: dark)');
const theme = () => (isDark.matches ? themes.dark : themes.light);
const terminal = new Terminal({
  theme: theme(),
  // These colours keep a server's output readable on both themes.
  minimumContrastRatio: 4.5,
  fontSize: innerWidth < 600 ? 12 : 15,
  convertEol: true,
  disableStdin: true,
  screenReaderMode: true,
  scrollback: 5000,
});
const fit = new FitAddon();
terminal.loadAddon(fit);
isDark.addEventListener('change', () => (terminal.options.theme = theme()));
new ResizeObserver(() => section.hidden || fit.fit()).observe(section);

/** @param {string} text */
const showStatus = (text) => (find('#status').textContent = text);
/** Writes a message of this page between the lines of the server. @param {string} text */
const note = (text) => terminal.writeln(`\u001B[0;3m-- ${text}\u001B[0m`);

/** @type {ReturnType<typeof followConsole> | undefined} */
let session;

/** Hides the console and shows the form. @param {string} reason */
function showForm(reason) {
  session = undefined;
  accessForm.hidden = false;
  section.hidden = true;
  disconnectButton.hidden = true;
  showStatus('Not connected');
  find('#error').textContent = reason;
  accessForm.querySelector('button')?.focus();
}

/** @param {{ base: string, server: string, key: string }} target */
function connect(target) {
  let wasOpen = false;
  showStatus('Connecting ...');
  const opened = followConsole(target, {
    onLine: (line) => terminal.writeln(line),
    onNote: note,
    onState: (state) => showStatus(`Connected: the server is ${state}`),
    onOpen: () => {
      wasOpen = true;
      showStatus('Connected');
    },
    onLost: (delayMs, error) => {
      showStatus(`Connection lost; next attempt in ${Math.ceil(delayMs / 1000)} s`);
      // Reconnect only if the connection worked before; otherwise the user has to correct the form.
      if (wasOpen || !error) return;
      opened.stop();
      // Browsers hide the reason why a response could not be read.
      const hint = `This page cannot read responses from ${target.base}. Does CORS_ORIGINS there contain ${location.origin}?`;
      showForm(error instanceof TypeError ? hint : error.message);
    },
    onEnd: showForm,
  });
  return opened;
}

/** Shows the outcome of a command. @param {string} line @param {Promise<string>} answer */
async function noteAnswer(line, answer) {
  const code = await answer;
  if (code === 'lost') note(`no answer to: ${line}`);
  else if (code !== 'accepted') note(`refused (${code}): ${line}`);
}

accessForm.addEventListener('submit', (event) => {
  event.preventDefault();
  /** @param {string} name */
  const read = (name) => /** @type {string} */ (new FormData(accessForm).get(name)).trim();
  // The key may be pasted with surrounding words.
  const key = /hk_\w+/.exec(read('key'))?.[0];
  if (!key) return showForm('A key begins with hk_.');
  find('#error').textContent = '';
  accessForm.hidden = true;
  section.hidden = false;
  disconnectButton.hidden = false;
  if (terminal.element) terminal.reset();
  else terminal.open(find('#terminal'));
  fit.fit();
  lineInput.focus();
  session = connect({ base: read('base').replace(/\/+$/, ''), server: read('server'), key });
  return undefined;
});

commandForm.addEventListener('submit', (event) => {
  event.preventDefault();
  const { value } = lineInput;
  // Keep a command in the field if it cannot be sent now.
  const answer = value.trim() === '' ? undefined : session?.sendCommand(value);
  if (!answer) return;
  lineInput.value = '';
  void noteAnswer(value, answer);
});

disconnectButton.addEventListener('click', () => {
  session?.stop();
  accessForm.reset();
  showForm('');
});
