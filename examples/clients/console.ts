import { existsSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

// A console client for Node.js 24: prints the output of a game server, and sends each line of its input as a command. It
// ends when its input has ended and each command is answered. Argument: the ID of the server. HOSTING_API_KEY is the key, or
// the file .key has the line `Authorization: Bearer hk_...`; API_URL is the address of the API.
const [, , server = 'demo'] = process.argv;
const { API_URL: base = 'http://localhost:3000', HOSTING_API_KEY: key } = process.env;
type Access = { readonly socket_url: string; readonly token: string };
type Message = { readonly event: string; readonly args: readonly string[] };

/** After these close codes, another attempt would end in the same way. */
const finalCodes: readonly unknown[] = [1002, 1007, 1008, 1009, 4003];
const lines: string[] = [];
/** The reference of the first line, while it waits for its answer. */
let waitsFor: string | undefined;
let stream: WebSocket | undefined;
let [commands, failures, wasOpen, isInputOver] = [0, 0, false, false];

/** Control characters and changes of the text direction, of which a terminal keeps colours: lines hold what players type. */
const acting = new RegExp(String.raw`\u001B\[[\d;]*m|[^\P{Cc}\t]|[\p{Zl}\p{Zp}\p{Bidi_Control}]`, 'gu');
const escape = (text: string): string =>
  text.replaceAll(acting, (found) =>
    found.length > 1 ? found : `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
const note = (text: string): void => console.error(`-- ${escape(text)}`);
const onFailure = ({ message }: Error): void => note(message);
function fail(text: string): never {
  note(text);
  process.exit(1);
}

if (!key && !existsSync('.key'))
  fail("There is no HOSTING_API_KEY and no file .key: echo 'Authorization: Bearer hk_...' > .key");
const authorization = key ? `Bearer ${key}` : readFileSync('.key', 'utf8').replace(/^Authorization:/i, '');

/** The address of the stream and a short-lived token, so that the API key is never sent to the stream. */
async function fetchAccess(): Promise<Access> {
  const url = `${base}/v1/hosting/game/console/${encodeURIComponent(server)}/websocket`;
  const response = await fetch(url, { headers: { authorization }, signal: AbortSignal.timeout(30_000) });
  const { message, websocket } = (await response.json()) as { message: string; websocket: Access };
  if (response.ok) return websocket;
  const isTemporary = response.status >= 500 || response.status === 429;
  throw isTemporary ? new Error(`${response.status}: ${message}`) : fail(`${response.status}: ${message}`);
}

function send(socket: WebSocket, event: string, ...args: string[]): void {
  if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ event, args }));
}

/** Sends one command at a time, in the order of the input. */
function sendNext(): void {
  if (!stream || waitsFor !== undefined) return;
  if (lines.length > 0) send(stream, 'send command', lines[0]!, (waitsFor = `command ${(commands += 1)}`));
  // What the last command prints may come a little later.
  else if (isInputOver) setTimeout(() => stream?.close(1000), 1000);
}

function onAnswer(reference: string | undefined, code = 'accepted'): void {
  if (reference !== waitsFor) return;
  waitsFor = undefined;
  if (code === 'rate_limited') return void setTimeout(sendNext, 1000);
  const line = lines.shift();
  if (code !== 'accepted') note(`refused (${code}): ${line}`);
  sendNext();
}

function onMessage(socket: WebSocket, { event, args }: Message): void {
  if (event === 'console output') console.log(escape(args[0]!));
  else if (event === 'token expiring' || event === 'token expired') {
    fetchAccess().then(({ token }) => send(socket, 'auth', token), onFailure);
  } else if (event === 'auth success' && stream !== socket) {
    if (wasOpen) note('connected again: lines may be missing here');
    else send(socket, 'send logs');
    [stream, failures, wasOpen] = [socket, 0, true];
    sendNext();
  } else if (event === 'command accepted' || event === 'command refused') onAnswer(args[0], args[1]);
  else if (event !== 'auth success' && event !== 'logs end') note([event, ...args].join(': '));
}

/** Follows the console until the connection closes; returns the close code. */
async function follow({ socket_url: url, token }: Access): Promise<number> {
  const socket = new WebSocket(url);
  socket.addEventListener('open', () => send(socket, 'auth', token));
  socket.addEventListener('message', ({ data }) => onMessage(socket, JSON.parse(data as string) as Message));
  const { code, reason } = await new Promise<CloseEvent>((resolve) => socket.addEventListener('close', resolve));
  note(`closed: ${code} ${reason}`);
  return code;
}

const input = createInterface({ input: process.stdin });
input.on('line', (line) => lines.push(line) && sendNext());
input.on('close', () => {
  isInputOver = true;
  sendNext();
});
while (true) {
  const code = await fetchAccess().then(follow, onFailure);
  if (code === 1000) process.exit(0);
  if (finalCodes.includes(code)) fail('this does not change by itself');
  // It is not sent again: it may have been run.
  if (waitsFor !== undefined) note(`no answer to: ${lines.shift()}`);
  [stream, waitsFor, failures] = [undefined, undefined, code === 1013 ? 6 : failures + 1];
  await sleep(Math.min(30_000, 500 * 2 ** failures) * (0.5 + Math.random() / 2));
}
