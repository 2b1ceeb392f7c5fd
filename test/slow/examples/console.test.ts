import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join, resolve } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { WebSocketServer } from 'ws';
import { startDemo } from '../../helpers/demo.ts';
import { findFreePort, listen } from '../../helpers/free-port.ts';
import { describeInstalled } from '../../helpers/installed.ts';
import { startProgram, temporaryFolder } from '../../helpers/project.ts';
import { findActing, withoutColours } from '../../helpers/terminal.ts';

const folder = resolve(import.meta.dirname, '../../../examples/clients');

/** Starts the demo with a running game server. */
async function startRunning(settings: Record<string, string> = {}) {
  const demo = await startDemo(settings);
  await demo.power('start');
  return demo;
}

/** Output of `say` commands. */
function saidIn(output: string): string[] {
  return [...output.matchAll(/\[Server\] (.+)/g)].map(([, text]) => text!);
}

/** A client: its interpreter and its file. */
type Client = readonly [program: string, file: string];

/** Starts a client, optionally with a key in the environment. */
function start([program, file]: Client, port: number, key: string | undefined, cwd = temporaryFolder()) {
  const env = { PATH: process.env.PATH, API_URL: `http://127.0.0.1:${port}`, ...(key && { HOSTING_API_KEY: key }) };
  const client = startProgram(program, [join(folder, file), 'demo'], { cwd, env });
  return {
    ...client,
    shows: async (text: string) => {
      await expect.poll(client.output).toContain(text);
    },
    type: (...lines: string[]) => client.child.stdin.write(lines.map((line) => `${line}\n`).join('')),
  };
}

function testClient(language: () => Client): void {
  const startClient = (port: number, key: string | undefined) => start(language(), port, key);

  test('sends each input line once, in order and within the limits, and then exits', async () => {
    const { port, key } = await startRunning({ POWER_RATELIMIT_RPS: '4', POWER_RATELIMIT_BURST: '3' });
    const client = startClient(port, key);
    const numbers = Array.from({ length: 12 }, (_, number) => String(number));
    client.type(...numbers.map((number) => `say ${number}`), '');
    client.child.stdin.end();
    expect(await client.ended()).toBe(0);
    expect(client.output()).toContain('Done! For help');
    expect(saidIn(client.output())).toEqual(numbers);
    expect(client.output()).toContain('-- refused (invalid): \n');
  });

  test('renews its token, and shows why a command is refused', async () => {
    const { port, key, power } = await startRunning({ CONSOLE_TOKEN_TTL_SECONDS: '8' });
    const client = startClient(port, key);
    await client.shows('Done! For help');
    const until = Date.now() + 14_000;
    for (let count = 0; Date.now() < until; count += 1) {
      client.type(`say ${count}`);
      await client.shows(`[Server] ${count}\n`);
      await new Promise((wake) => void setTimeout(wake, 2000));
    }
    expect(client.output()).not.toMatch(/closed|expired|jwt/);
    await power('stop');
    await client.shows('-- status: offline');
    client.type('say late');
    await client.shows('-- refused (offline): say late');
  });

  test('reconnects after a restart of the service, and sends the input typed meanwhile', async () => {
    const settings = { PORT: String(await findFreePort()), DATA_DIR: temporaryFolder(), SHUTDOWN_GRACE_SECONDS: '5' };
    const { stop, port, key, power } = await startRunning(settings);
    const client = startClient(port, key);
    await client.shows('Done! For help');
    const stopped = stop();
    await client.shows('-- closed: 1012');
    await stopped;
    client.type('say afterwards');
    await startDemo(settings);
    // The game server stopped with the service.
    await power('start');
    await client.shows('-- connected again');
    client.type('say again');
    await client.shows('[Server] again');
    expect(client.output()).toMatch(/\[Server\] afterwards|refused \(offline\): say afterwards/);
  });

  test.for<[string, string | undefined, RegExp]>([
    ['without a key', undefined, /HOSTING_API_KEY/],
    ['with a key that is not valid', 'hk_nonsense', /^-- 401: .*Malformed API key: incomplete or mistyped/m],
  ])('%s, prints the reason and fails', async ([, key, message]) => {
    const { port } = await startDemo();
    const client = startClient(port, key);
    expect(await client.ended()).toBe(1);
    expect(client.output()).toMatch(message);
  });

  test("shows a game's control sequences as text", async () => {
    const sequences = [
      '\u001B]0;title\u0007',
      '\u001B]52;c;ZWNobw==\u0007',
      '\u001B[2J',
      '\u009B31m',
      '\u202Ereversed',
      '\rhidden',
    ];
    const http = createServer((_, response) => {
      const websocket = { socket_url: `ws://127.0.0.1:${port}/`, token: 'a token' };
      response.end(JSON.stringify({ success: true, websocket }));
    });
    const port = await listen(http);
    const sockets = new WebSocketServer({ server: http });
    onTestFinished(() => void [sockets.close(), http.close()]);
    sockets.on('connection', (socket) => {
      const send = (event: string, ...args: string[]) => socket.send(JSON.stringify({ event, args }));
      socket.once('message', () => {
        send('auth success');
        for (const sequence of sequences) send('console output', `said ${sequence}`);
        send('daemon error', 'because\u001B[2J');
        send('console output', '\u001B[32mgreen\u001B[0m\tend');
      });
    });
    const client = startClient(port, 'hk_key');
    await client.shows('green');
    expect(findActing(withoutColours(client.output()), '\t')).toEqual([]);
    expect(client.output()).toContain('said \\u001b]0;title\\u0007');
    expect(client.output()).toContain('\u001B[32mgreen\u001B[0m\tend');
  });
}

describe('console.ts', () => {
  const typescript = [process.execPath, 'console.ts'] as const;
  testClient(() => typescript);

  test('also reads the key from the file .key', async () => {
    const { port, key } = await startRunning();
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, '.key'), `Authorization: Bearer ${key}\n`);
    const { child, ended } = start(typescript, port, undefined, cwd);
    child.stdin.end();
    expect(await ended()).toBe(0);
  });
});

const python = {
  name: 'Python with websockets',
  package: 'python3-websockets',
  commands: ['python3'],
  files: ['/usr/lib/python3/dist-packages/websockets/__init__.py'],
  // The first Python in the PATH may not be Debian's.
  folders: '/usr/bin',
};
describeInstalled(python, (commands) => testClient(() => [join(commands(), 'python3'), 'console.py']));
