// The console of a game server in a browser, with xterm.js. The key is sent to the API alone, and is kept in a variable.

/** @typedef {{ base: string, server: string, key: string }} Target */
/** @typedef {{ socket_url: string, token: string }} Access */

// Their scripts set these globals.
const { Terminal } = /** @type {typeof import('@xterm/xterm')} */ (/** @type {unknown} */ (globalThis));
const { FitAddon } = /** @type {{ FitAddon: typeof import('@xterm/addon-fit') }} */ (
  /** @type {unknown} */ (globalThis)
).FitAddon;

/** After these close codes, another attempt would end in the same way. */
const finalCodes = [1002, 1007, 1008, 1009, 4003];
const themes = {
  light: { background: '#ffffff', foreground: '#17212b', cursor: '#ffffff', selectionBackground: '#b6d5f5' },
  dark: { background: '#172029', foreground: '#e4eaf0', cursor: '#172029', selectionBackground: '#33506d' },
};

/** An error that another attempt would not change. */
class FinalError extends Error {}

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
  // The colours of a server are readable on both themes.
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
/** Writes a line of this page itself between the lines of the server. @param {string} text */
const note = (text) => terminal.writeln(`\u001B[0;3m-- ${text}\u001B[0m`);

/**
 * Fetches the address of the stream and a short-lived token, so that the key is never sent to the stream.
 * @param {Target} target
 * @returns {Promise<Access>}
 */
async function fetchAccess({ base, server, key }) {
  const url = `${base}/v1/hosting/game/console/${encodeURIComponent(server)}/websocket`;
  const headers = { Authorization: `Bearer ${key}` };
  const response = await fetch(url, { headers, signal: AbortSignal.timeout(30_000) }).catch(() => {
    // A browser does not say why.
    throw new Error(`No answer that this page may read from ${base}. Does its CORS_ORIGINS have ${location.origin}?`);
  });
  const answer = await response.json().catch(() => ({ message: response.statusText }));
  if (response.ok) return answer.websocket;
  const isTemporary = response.status >= 500 || response.status === 429;
  throw new (isTemporary ? Error : FinalError)(`${response.status}: ${answer.message}`);
}

/** @param {WebSocket} to @param {string} event @param {string[]} args */
const send = (to, event, ...args) => to.readyState === WebSocket.OPEN && to.send(JSON.stringify({ event, args }));

/**
 * Follows a console, and connects again whenever the connection is lost, until it is stopped or `onEnd` is called.
 * @param {Target} target
 * @param {(reason: string) => void} onEnd
 */
function startSession(target, onEnd) {
  /** @type {WebSocket | undefined} */
  let socket;
  let [isOpen, wasOpen, isStopped, failures, commands] = [false, false, false, 0, 0];
  /** @type {number | undefined} */
  let timer;
  /** The commands without an answer, by their references. @type {Map<string, string>} */
  const waiting = new Map();

  /** @param {string} reason */
  const end = (reason) => {
    stop();
    onEnd(reason);
  };
  const connectLater = () => {
    failures += 1;
    const delay = Math.min(30_000, 500 * 2 ** failures) * (0.5 + Math.random() / 2);
    showStatus(`Connection lost; next attempt in ${Math.ceil(delay / 1000)} s`);
    timer = window.setTimeout(() => void connect(), delay);
  };

  function onOpen() {
    [isOpen, failures] = [true, 0];
    showStatus('Connected');
    if (wasOpen) note('connected again: lines may be missing here');
    else if (socket) send(socket, 'send logs');
    wasOpen = true;
  }

  /** @param {string} reference @param {string} code */
  function onAnswer(reference, code = 'accepted') {
    if (code !== 'accepted') note(`refused (${code}): ${waiting.get(reference)}`);
    waiting.delete(reference);
  }

  /** @param {WebSocket} from @param {{ event: string, args: string[] }} message */
  function onMessage(from, { event, args }) {
    if (event === 'console output') terminal.writeln(args[0] ?? '');
    else if (event === 'auth success' && !isOpen) onOpen();
    else if (event === 'status') showStatus(`Connected: the server is ${args[0]}`);
    else if (event === 'gap') note(`lines may be missing here: ${args[0]}`);
    else if (event === 'command accepted' || event === 'command refused') onAnswer(args[0] ?? '', args[1]);
    else if (event === 'token expiring' || event === 'token expired') {
      fetchAccess(target).then(
        ({ token }) => send(from, 'auth', token),
        (error) => note(error.message),
      );
    } else if (event !== 'auth success' && event !== 'logs end') note([event, ...args].join(': '));
  }

  /** @param {CloseEvent} event */
  function onClose({ code, reason }) {
    if (isStopped) return;
    for (const line of waiting.values()) note(`no answer to: ${line}`);
    waiting.clear();
    isOpen = false;
    note(`closed: ${code} ${reason}`);
    if (finalCodes.includes(code)) return end(`The connection was closed: ${code} ${reason}`);
    // Too many streams: the wait is long.
    if (code === 1013) failures = 5;
    connectLater();
  }

  async function connect() {
    showStatus('Connecting ...');
    try {
      const { socket_url: url, token } = await fetchAccess(target);
      if (isStopped) return;
      const opened = (socket = new WebSocket(url));
      opened.addEventListener('open', () => send(opened, 'auth', token));
      opened.addEventListener('message', ({ data }) => isStopped || onMessage(opened, JSON.parse(data)));
      opened.addEventListener('close', onClose);
    } catch (thrown) {
      if (isStopped) return;
      const error = /** @type {Error} */ (thrown);
      // A wrong address or key is corrected by hand; what worked before is tried again.
      if (error instanceof FinalError || !wasOpen) return end(error.message);
      note(error.message);
      connectLater();
    }
  }

  function stop() {
    isStopped = true;
    clearTimeout(timer);
    socket?.close(1000);
  }

  void connect();
  return {
    stop,
    /** Sends a command. Returns whether it was sent. @param {string} line */
    sendCommand(line) {
      if (!socket || !isOpen) return false;
      commands += 1;
      waiting.set(`command ${commands}`, line);
      send(socket, 'send command', line, `command ${commands}`);
      return true;
    },
  };
}

/** @type {ReturnType<typeof startSession> | undefined} */
let session;

/** Shows the form in place of the console. @param {string} reason */
function showForm(reason) {
  session = undefined;
  accessForm.hidden = false;
  section.hidden = true;
  disconnectButton.hidden = true;
  showStatus('Not connected');
  find('#error').textContent = reason;
  accessForm.querySelector('button')?.focus();
}

accessForm.addEventListener('submit', (event) => {
  event.preventDefault();
  /** @param {string} name */
  const read = (name) => /** @type {string} */ (new FormData(accessForm).get(name)).trim();
  // A key may be pasted with the words around it.
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
  session = startSession({ base: read('base').replace(/\/+$/, ''), server: read('server'), key }, showForm);
  return undefined;
});

commandForm.addEventListener('submit', (event) => {
  event.preventDefault();
  const { value } = lineInput;
  // A command that cannot be sent now stays in the field.
  if (value.trim() !== '' && session?.sendCommand(value)) lineInput.value = '';
});

disconnectButton.addEventListener('click', () => {
  session?.stop();
  accessForm.reset();
  showForm('');
});
