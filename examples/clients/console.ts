import { existsSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { followConsole } from './browser/stream.js';

// A console client for Node.js 24, with browser/stream.js: prints the output of a game server, and sends each input
// line as a command. It ends when the input has ended and every command is answered. Argument: the ID of the server.
// HOSTING_API_KEY is the key, or the file .key has the line `Authorization: Bearer hk_...`; API_URL is the address of
// the API.
const [, , server = 'demo'] = process.argv;
const { API_URL: base = 'http://localhost:3000', HOSTING_API_KEY } = process.env;
const key = HOSTING_API_KEY || (existsSync('.key') ? /hk_\w+/.exec(readFileSync('.key', 'utf8'))?.[0] : undefined);

/** Control characters and changes of the text direction, except colours: lines contain text typed by players. */
const acting = new RegExp(String.raw`\u001B\[[\d;]*m|[^\P{Cc}\t]|[\p{Zl}\p{Zp}\p{Bidi_Control}]`, 'gu');
const escape = (text: string): string =>
  text.replaceAll(acting, (found) =>
    found.length > 1 ? found : `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
const note = (text: string): void => console.error(`-- ${escape(text)}`);
function fail(text: string): never {
  note(text);
  process.exit(1);
}
if (!key) fail("Set HOSTING_API_KEY, or create the file .key: echo 'Authorization: Bearer hk_...' > .key");

const lines: string[] = [];
let [isSending, isInputOver, wasOpen] = [false, false, false];

/** Sends one command at a time, in input order. */
async function sendLines(): Promise<void> {
  if (isSending) return;
  isSending = true;
  for (let answer; lines.length > 0 && (answer = stream.sendCommand(lines[0]!));) {
    const code = await answer;
    if (code === 'rate_limited') await sleep(1000);
    else if (code === 'lost') note(`no answer to: ${lines.shift()}`);
    else if (code === 'accepted') lines.shift();
    else note(`refused (${code}): ${lines.shift()}`);
  }
  isSending = false;
  if (!isInputOver || !wasOpen || lines.length > 0) return;
  // Output of the last command may arrive a little later.
  await sleep(1000);
  stream.stop();
}

const stream = followConsole(
  { base, server, key },
  {
    onLine: (line) => console.log(escape(line)),
    onNote: note,
    onOpen: () => {
      wasOpen = true;
      void sendLines();
    },
    onEnd: fail,
  },
);
const input = createInterface({ input: process.stdin });
input.on('line', (line) => lines.push(line) && void sendLines());
input.on('close', () => {
  isInputOver = true;
  void sendLines();
});
