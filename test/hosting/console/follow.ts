import { existsSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

/**
 * A small console client: prints the output of a game server and sends it the typed lines. Argument: the id of
 * the server. `.key` holds the API key as the header line `Authorization: Bearer hk_...`; API_URL is the API's address.
 */
const [, , server = 'demo'] = process.argv;
const base = process.env.API_URL ?? 'http://localhost:3000';
if (!existsSync('.key')) {
  console.error("There is no file .key. Write your key into it: echo 'Authorization: Bearer hk_...' > .key");
  process.exit(2);
}
const authorization = readFileSync('.key', 'utf8')
  .trim()
  .replace(/^Authorization: */i, '');

/** Gets the address of the stream and a short-lived token for it, so that the API key is never sent to the stream. */
async function bootstrap(): Promise<{ socket_url: string; token: string }> {
  const response = await fetch(`${base}/v1/hosting/game/console/${encodeURIComponent(server)}/websocket`, {
    headers: { authorization },
  });
  const body = (await response.json()) as { message?: string; websocket: { socket_url: string; token: string } };
  if (!response.ok) throw new Error(`${response.status}: ${body.message}`);
  return body.websocket;
}

const { socket_url: url, token: first } = await bootstrap();
const socket = new WebSocket(url);
const send = (event: string, ...args: string[]): void => socket.send(JSON.stringify({ event, args }));
let greeted = false;

socket.addEventListener('open', () => send('auth', first));
socket.addEventListener('close', ({ code, reason }) => {
  console.error(`-- closed: ${code} ${reason}`);
  process.exit(0);
});
socket.addEventListener('message', ({ data }) => {
  const { event, args } = JSON.parse(data as string) as { event: string; args: string[] };
  if (event === 'console output') console.log(args[0]);
  else if (event === 'auth success') {
    if (!greeted) send('send logs');
    greeted = true;
  } else if (event === 'token expiring' || event === 'token expired') {
    void bootstrap().then(({ token }) => send('auth', token));
  } else console.error(`-- ${event}: ${args.join(' ')}`);
});
createInterface({ input: process.stdin })
  .on('line', (line) => send('send command', line))
  .on('close', () => socket.close());
