// The console of a game server, for Node.js 22 or later and for browsers, without packages.

/**
 * The address of the API, the ID of the server, and the key. With `isSameOrigin`, the stream is opened at the origin of
 * `base`, even if the service has another public address.
 * @typedef {{ base: string, server: string, key: string, isSameOrigin?: boolean }} Target
 */
/** @typedef {{ socket_url: string, token: string }} Access */
/** @typedef {{ cpu: number | null, memory_bytes: number | null }} Stats */
/**
 * Called with each line of the console, with messages of this client, with the state of the server, with its resource
 * usage, when commands can be sent, before the delay of a reconnection (with the last error, if any), and once at the
 * end, when a retry would be pointless.
 * @typedef {object} Handlers
 * @property {(line: string) => void} onLine
 * @property {(text: string) => void} onNote
 * @property {(state: string) => void} [onState]
 * @property {(stats: Stats) => void} [onStats]
 * @property {() => void} onOpen
 * @property {(delayMs: number, error?: Error) => void} [onLost]
 * @property {(reason: string) => void} onEnd
 */

/** Close codes after which a retry is pointless. */
const finalCodes = [1002, 1007, 1008, 1009, 4003];

/** The stream answers requests for statistics at most every 2 s. */
const statsMs = 2200;

/** An error that a retry would not fix. */
class FinalError extends Error {}

/**
 * Fetches the address of the stream and a short-lived token. The key is never sent to the stream.
 * @param {Target} target
 * @returns {Promise<Access>}
 */
async function fetchAccess({ base, server, key }) {
  const url = `${base}/v1/hosting/game/console/${encodeURIComponent(server)}/websocket`;
  const headers = { Authorization: `Bearer ${key}` };
  const response = await fetch(url, { headers, signal: AbortSignal.timeout(30_000) });
  const answer = await response.json().catch(() => ({ message: response.statusText }));
  if (response.ok) return answer.websocket;
  const isTemporary = response.status >= 500 || response.status === 429;
  throw new (isTemporary ? Error : FinalError)(`${response.status}: ${answer.message}`);
}

/** The names of this machine: a service without a public address has any of them. */
const local = /(?<=\/\/)(?:localhost|127\.0\.0\.1|\[::1\])(?=[:/])/;

/**
 * Moves the address of a stream to the origin of an API.
 * @param {string} url @param {string} base
 */
function moveTo(url, base) {
  const { pathname } = new URL(url);
  return new URL(pathname, base.replace(/^http/, 'ws')).href;
}

/** @param {WebSocket} to @param {string} event @param {string[]} args */
function send(to, event, ...args) {
  if (to.readyState === WebSocket.OPEN) to.send(JSON.stringify({ event, args }));
}

/**
 * Follows a console, and reconnects with growing delays. A command whose answer was lost is not sent again, because it
 * may have run.
 * @param {Target} target
 * @param {Handlers} handlers
 */
export function followConsole(target, { onLine, onNote, onState, onStats, onOpen, onLost, onEnd }) {
  /** @type {WebSocket | undefined} */
  let socket;
  let [isOpen, wasOpen, isStopped, failures, commands] = [false, false, false, 0, 0];
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  /** @type {ReturnType<typeof setInterval> | undefined} */
  let asking;
  /** Resolvers of pending commands, by reference. @type {Map<string, (code: string) => void>} */
  const waiting = new Map();

  function stop() {
    isStopped = true;
    clearTimeout(timer);
    clearInterval(asking);
    socket?.close(1000);
  }

  /** @param {string} reason */
  function end(reason) {
    stop();
    onEnd(reason);
  }

  /** @param {Error} [error] */
  function connectLater(error) {
    failures += 1;
    const delayMs = Math.min(30_000, 500 * 2 ** failures) * (0.5 + Math.random() / 2);
    timer = setTimeout(() => void connect(), delayMs);
    onLost?.(delayMs, error);
  }

  /** @param {WebSocket} from */
  function open(from) {
    if (wasOpen) onNote('connected again: lines may be missing here');
    else send(from, 'send logs');
    [isOpen, wasOpen, failures] = [true, true, 0];
    if (onStats) {
      send(from, 'send stats');
      asking = setInterval(() => send(from, 'send stats'), statsMs);
    }
    onOpen();
  }

  /** @param {WebSocket} from @param {{ event: string, args: string[] }} message */
  function onMessage(from, { event, args }) {
    const [first = ''] = args;
    if (event === 'console output') onLine(first);
    else if (event === 'auth success' && !isOpen) open(from);
    else if (event === 'status' && onState) onState(first);
    else if (event === 'stats' && onStats) onStats(JSON.parse(first));
    else if (event === 'gap') onNote(`lines may be missing: ${first}`);
    else if (event === 'command accepted' || event === 'command refused') settle(first, args[1] ?? 'accepted');
    else if (event === 'token expiring' || event === 'token expired') {
      fetchAccess(target).then(
        ({ token }) => send(from, 'auth', token),
        (error) => onNote(error.message),
      );
    } else if (event !== 'auth success' && event !== 'logs end') onNote([event, ...args].join(': '));
  }

  /** @param {string} reference @param {string} code */
  function settle(reference, code) {
    waiting.get(reference)?.(code);
    waiting.delete(reference);
  }

  /** @param {{ code: number, reason: string }} event */
  function onClose({ code, reason }) {
    isOpen = false;
    clearInterval(asking);
    for (const reference of waiting.keys()) settle(reference, 'lost');
    if (isStopped) return;
    onNote(`closed: ${code} ${reason}`);
    if (finalCodes.includes(code)) return end(`The connection was closed: ${code} ${reason}`);
    // Too many streams: wait longer.
    if (code === 1013) failures = 5;
    connectLater();
  }

  async function connect() {
    try {
      const { socket_url: given, token } = await fetchAccess(target);
      if (isStopped) return;
      const url = target.isSameOrigin ? moveTo(given, target.base) : given;
      const isMoved = url.replace(local, '') !== given.replace(local, '');
      if (isMoved && !wasOpen) onNote(`the service names ${given} (PUBLIC_URL); this page uses ${url}`);
      const opened = (socket = new WebSocket(url));
      opened.addEventListener('open', () => send(opened, 'auth', token));
      opened.addEventListener('message', ({ data }) => isStopped || onMessage(opened, JSON.parse(data)));
      opened.addEventListener('close', onClose);
    } catch (thrown) {
      if (isStopped) return;
      const error = /** @type {Error} */ (thrown);
      if (error instanceof FinalError) return end(error.message);
      onNote(error.message);
      connectLater(error);
    }
  }

  void connect();
  return {
    /** Ends the stream. */
    stop,
    /**
     * Sends a command. Returns undefined if it cannot be sent now; otherwise resolves to `accepted`, the code of a
     * refusal, or `lost` if the connection ended before the answer.
     * @param {string} line
     * @returns {Promise<string> | undefined}
     */
    sendCommand(line) {
      if (!socket || !isOpen) return undefined;
      const reference = `command ${(commands += 1)}`;
      const answer = new Promise((resolve) => void waiting.set(reference, resolve));
      send(socket, 'send command', line, reference);
      return answer;
    },
  };
}
