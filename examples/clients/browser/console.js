import { followConsole } from './stream.js';

// The console of game servers in a web page. The key is sent only to the API, and kept only in memory.

/** Lines that stay on the page. */
const maxLines = 2000;
/** Points of a sparkline: about one minute. */
const maxPoints = 31;
/** A colour sequence (SGR, with its parameters), or another control sequence or character. */
const controls =
  // oxlint-disable-next-line no-control-regex
  /(?:\u001B\[|\u009B)(?:([\d;:]*)m|[0-?]*[ -/]*[@-~]?)|\u001B[\]PX^_][^\u0007\u001B]*(?:\u0007|\u001B\\)?|\u001B[ -/]*[0-~]?|[\u0000-\u0008\u000A-\u001F\u007F-\u009F]/g;

/**
 * Creates an element with attributes and children.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag @param {Record<string, string>} [attributes] @param {(Node | string)[]} children
 */
function create(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/**
 * Applies the parameters of a colour sequence to classes of text: `c0` to `c15`, `bold` and `italic`.
 * @param {ReadonlySet<string>} classes @param {string} parameters
 */
function applyColours(classes, parameters) {
  const next = new Set(classes);
  const setColour = (/** @type {number | undefined} */ colour) => {
    for (const name of next) if (/^c\d/.test(name)) next.delete(name);
    if (colour !== undefined && colour < 16) next.add(`c${colour}`);
  };
  // 38:5:n is the same as 38;5;n. Other parts with colons are mixed colours, or styles such as a wavy underline.
  const codes = parameters.split(';').flatMap((part) => {
    if (part.startsWith('38:')) return part.startsWith('38:5:') ? part.split(':').map(Number) : 39;
    return part.includes(':') ? [] : Number(part);
  });
  for (let at = 0; at < codes.length; at += 1) {
    const code = /** @type {number} */ (codes[at]);
    if (code === 0) next.clear();
    else if (code === 1) next.add('bold');
    else if (code === 3) next.add('italic');
    else if (code === 22) next.delete('bold');
    else if (code === 23) next.delete('italic');
    else if (code >= 30 && code <= 37) setColour(code - 30);
    else if (code >= 90 && code <= 97) setColour(code - 82);
    else if (code === 39) setColour(undefined);
    else if (code === 38 || code === 48) {
      // 38;5;n is a colour of a palette, which begins with these 16; 38;2;r;g;b is a mix.
      if (code === 38) setColour(codes[at + 1] === 5 ? codes[at + 2] : undefined);
      at += codes[at + 1] === 5 ? 2 : 4;
    }
  }
  return next;
}

/**
 * Renders a line with its colours, and without other control characters.
 * @param {string} text
 */
function renderLine(text) {
  const line = create('span', { class: 'line' });
  /** @type {ReadonlySet<string>} */
  let classes = new Set();
  let [from, isReturned] = [0, false];
  const add = (/** @type {string} */ part) => {
    if (part === '') return;
    // A terminal writes over the text before a carriage return, as of a progress bar.
    if (isReturned) line.replaceChildren();
    isReturned = false;
    line.append(classes.size > 0 ? create('span', { class: [...classes].join(' ') }, part) : part);
  };
  for (const { 0: sequence, 1: parameters, index } of text.matchAll(controls)) {
    add(text.slice(from, index));
    from = index + sequence.length;
    if (parameters !== undefined) classes = applyColours(classes, parameters);
    isReturned ||= sequence === '\r';
  }
  add(text.slice(from));
  return line;
}

/**
 * Creates a figure with a sparkline of its last values.
 * @param {string} name @param {(value: number) => string} format @param {number} least The smallest top of the scale.
 */
function createSparkline(name, format, least) {
  const value = create('b', {}, '–');
  const image = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  const line = document.createElementNS('http://www.w3.org/2000/svg', 'polyline');
  image.setAttribute('viewBox', `0 0 ${maxPoints - 1} 20`);
  image.setAttribute('preserveAspectRatio', 'none');
  image.setAttribute('aria-hidden', 'true');
  image.append(line);
  /** @type {number[]} */
  let points = [];
  return {
    element: create('span', { class: 'figure' }, create('span', {}, `${name} `, value), image),
    /** @param {number | null} [current] Null if unknown; undefined clears the line. */
    show(current) {
      points = current === undefined || current === null ? [] : [...points, current].slice(-maxPoints);
      const top = Math.max(least, ...points);
      const left = maxPoints - points.length;
      line.setAttribute('points', points.map((point, at) => `${left + at},${19 - (point / top) * 18}`).join(' '));
      value.textContent = current === undefined ? '–' : current === null ? 'no figures' : format(current);
    },
  };
}

/**
 * Shows the console of the game servers of a key in an element. `servers` are the key's servers as in `GET /v1/key`;
 * `origin` is the address of the API.
 * @param {Element} root
 * @param {{ key: string, servers: readonly string[], origin: string }} access
 */
export function showConsole(root, { key, servers, origin }) {
  const games = servers.filter((server) => server.startsWith('game:')).map((server) => server.slice('game:'.length));
  const choice = create('select', { 'aria-label': 'Game server' }, ...games.map((game) => create('option', {}, game)));
  const state = create('span', { class: 'state', role: 'status' }, 'not connected');
  const connection = create('button', { type: 'button', class: 'main' }, 'Connect');
  const actions = ['Start', 'Restart', 'Stop'].map((name) => create('button', { type: 'button' }, name));
  const figures = {
    cpu: createSparkline('CPU', (percent) => `${Math.round(percent)} %`, 100),
    memory: createSparkline('Memory', (bytes) => `${Math.round(bytes / 2 ** 20)} MiB`, 2 ** 20),
  };
  const log = create('pre', { role: 'log', tabindex: '0', 'aria-label': 'Console' });
  const field = create('input', {
    'aria-label': 'Command',
    placeholder: 'Command',
    autocomplete: 'off',
    autocapitalize: 'off',
    spellcheck: 'false',
    maxlength: '1024',
  });
  const form = create('form', {}, create('span', { 'aria-hidden': 'true' }, '>'), field, create('button', {}, 'Send'));
  const body = create(
    'div',
    { class: 'console' },
    create('div', { class: 'controls' }, choice, state, create('span', { class: 'buttons' }, connection, ...actions)),
    create('div', { class: 'figures' }, figures.cpu.element, figures.memory.element),
    log,
    form,
  );
  root.replaceChildren(
    games.length > 0 ? body : create('p', { class: 'empty', role: 'status' }, 'This key has no game server.'),
  );

  /** @type {ReturnType<typeof followConsole> | undefined} */
  let session;
  /** Lines to show in the next frame. @type {Node[]} */
  let pending = [];
  /** Sent commands, the newest last, and the place of the shown one. @type {string[]} */
  const history = [];
  let place = 0;

  /** @param {Node} line */
  function show(line) {
    if (pending.push(line) === 1) setTimeout(flush, 30);
    if (pending.length > maxLines) pending = pending.slice(-maxLines);
  }

  /** Adds the pending lines at once, and scrolls unless the reader has scrolled up. */
  function flush() {
    const isAtEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 40;
    log.append(...pending);
    pending = [];
    while (log.childNodes.length > maxLines) log.firstChild?.remove();
    if (isAtEnd) log.scrollTop = log.scrollHeight;
  }

  /** Writes a message of this page between the lines of the server. @param {string} text */
  const note = (text) => show(create('span', { class: 'line note' }, `-- ${text}`));

  /** @param {string} text @param {string} [kind] */
  function showState(text, kind = '') {
    state.textContent = text;
    state.dataset.state = kind;
  }

  function disconnect() {
    session?.stop();
    session = undefined;
    connection.textContent = 'Connect';
    showState('not connected');
    figures.cpu.show();
    figures.memory.show();
  }

  function connect() {
    disconnect();
    connection.textContent = 'Disconnect';
    showState('connecting');
    const target = { base: origin, server: choice.value, key, isSameOrigin: true };
    const opened = followConsole(target, {
      onLine: (line) => show(renderLine(line)),
      onNote: note,
      onState: (next) => showState(next, next),
      onStats({ cpu, memory_bytes: memory }) {
        figures.cpu.show(cpu);
        figures.memory.show(memory);
      },
      onOpen: () => showState('connected'),
      onLost: (delayMs) => showState(`connection lost; next attempt in ${Math.ceil(delayMs / 1000)} s`),
      onEnd(reason) {
        // Another server may be shown by now.
        if (session !== opened) return;
        disconnect();
        note(reason);
      },
    });
    session = opened;
  }

  /** @param {string} action */
  async function act(action) {
    const url = `${origin}/v1/hosting/game/power/${encodeURIComponent(choice.value)}/${action}`;
    try {
      const response = await fetch(url, { method: 'POST', headers: { Authorization: `Bearer ${key}` } });
      const { message = response.statusText } = await response.json().catch(() => ({}));
      note(`${action}: ${response.ok ? '' : `${response.status} `}${message}`);
    } catch (error) {
      note(`${action}: ${/** @type {Error} */ (error).message}`);
    }
  }

  /** Shows the outcome of a command. @param {string} line @param {Promise<string>} answer */
  async function noteAnswer(line, answer) {
    const code = await answer;
    if (code === 'lost') note(`no answer to: ${line}`);
    else if (code !== 'accepted') note(`refused (${code}): ${line}`);
  }

  connection.addEventListener('click', () => (session ? disconnect() : connect()));
  choice.addEventListener('change', () => {
    pending = [];
    log.replaceChildren();
    if (session) connect();
  });
  for (const button of actions) button.addEventListener('click', () => void act(button.textContent.toLowerCase()));
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const { value } = field;
    if (value.trim() === '') return;
    const answer = session?.sendCommand(value);
    // The command stays in the field if it cannot be sent now.
    if (!answer) return note('not connected: the command was not sent');
    show(create('span', { class: 'line command' }, `> ${value}`));
    place = history.push(value);
    field.value = '';
    void noteAnswer(value, answer);
    return undefined;
  });
  field.addEventListener('keydown', (event) => {
    const next = place + (event.key === 'ArrowUp' ? -1 : 1);
    if (!/^Arrow(?:Up|Down)$/.test(event.key) || next < 0 || next > history.length) return;
    event.preventDefault();
    place = next;
    field.value = history[place] ?? '';
  });

  return {
    /** Opens the stream of the chosen server. */
    connect,
    /** Ends the stream, and removes the console from the page. */
    close() {
      session?.stop();
      root.replaceChildren();
    },
  };
}
