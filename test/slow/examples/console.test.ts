import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join, resolve } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { WebSocketServer } from 'ws';
import { findFreePort, listen } from '../../helpers/free-port.ts';
import { temporaryFolder } from '../../helpers/project.ts';
import { findActing, withoutColours } from '../../helpers/terminal.ts';
import { ask } from '../../server/ask.ts';
import { createServable, startProcess } from '../../server/process.ts';
import type { ServerProcess } from '../../server/process.ts';
import { eventually } from '../../server/shared.ts';

const folder = resolve(import.meta.dirname, '../../../examples/clients');
// Another Python than that of Debian may come first.
const python = ['python3', '/usr/bin/python3'].find((program) => {
  return spawnSync(program, ['-c', 'import websockets']).status === 0;
});
if (python === undefined) {
  process.stderr.write('the tests of the Python client are skipped: apt-get install python3-websockets\n');
}
const keyPattern = /^ {2}echo 'Authorization: Bearer (hk_\w+)' > \.key$/m;

/** Starts the demo with its game server running. */
async function startDemo(changes: Record<string, string> = {}) {
  const { settings } = await createServable();
  const port = await findFreePort();
  const complete = { ...settings, DATA_DIR: join(temporaryFolder(), 'data'), PORT: String(port), ...changes };
  const start = async (): Promise<ServerProcess> => {
    const server = startProcess(complete, { args: ['--demo'] });
    await server.listening();
    return server;
  };
  const server = await start();
  await expect.poll(() => keyPattern.test(server.stdout()), eventually).toBe(true);
  const key = keyPattern.exec(server.stdout())![1]!;
  const power = (action: string) =>
    ask({ port }, `/v1/hosting/game/power/demo/${action}`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}` },
    });
  expect(await power('start')).toMatchObject({ status: 200 });
  return { server, start, port, key, power };
}

/** Starts a client with a key in its environment, if it is given. */
function startProgram(program: readonly string[], port: number, key: string | undefined, cwd = temporaryFolder()) {
  const env = { PATH: process.env.PATH, API_URL: `http://127.0.0.1:${port}`, ...(key && { HOSTING_API_KEY: key }) };
  const [command, ...args] = program;
  const child = spawn(command!, [...args, 'demo'], { cwd, env });
  onTestFinished(() => void child.kill());
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const closed = once(child, 'close');
  return {
    output: () => output,
    shows: async (text: string) => {
      await expect.poll(() => output, eventually).toContain(text);
    },
    type: (...lines: string[]) => child.stdin.write(lines.map((line) => `${line}\n`).join('')),
    end: () => child.stdin.end(),
    status: async () => ((await closed) as [number])[0],
  };
}

/** What the server said in answer to `say`. */
function saidIn(output: string): string[] {
  return [...output.matchAll(/\[Server\] (.+)/g)].map(([, text]) => text!);
}

test('Python and its websockets are installed on CI', () => {
  expect({ CI: process.env.CI, python }).not.toEqual({ CI: 'true', python: undefined });
});

const programs: [string, readonly string[]][] = [
  ['console.ts', [process.execPath, join(folder, 'console.ts')]],
  ...(python === undefined ? [] : [['console.py', [python, join(folder, 'console.py')]] as [string, string[]]]),
];

describe.each(programs)('%s', (_name, program) => {
  const startClient = (port: number, key: string | undefined) => startProgram(program, port, key);

  test('sends each line of its input once, in order and within the limits, and then ends', async () => {
    const { port, key } = await startDemo({ POWER_RATELIMIT_RPS: '4', POWER_RATELIMIT_BURST: '3' });
    const client = startClient(port, key);
    const numbers = Array.from({ length: 12 }, (_, number) => String(number));
    client.type(...numbers.map((number) => `say ${number}`), '');
    client.end();
    expect(await client.status()).toBe(0);
    expect(client.output()).toContain('Done! For help');
    expect(saidIn(client.output())).toEqual(numbers);
    expect(client.output()).toContain('-- refused (invalid): \n');
    expect(client.output()).toContain('-- closed: 1000');
  });

  test('renews its token, and shows why a command is refused', async () => {
    const { port, key, power } = await startDemo({ CONSOLE_TOKEN_TTL_SECONDS: '5' });
    const client = startClient(port, key);
    await client.shows('Done! For help');
    const until = Date.now() + 12_000;
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

  test('connects again after a restart of the service, and sends what was typed meanwhile', async () => {
    const { server, start, port, key, power } = await startDemo();
    const client = startClient(port, key);
    await client.shows('Done! For help');
    server.child.kill('SIGTERM');
    await client.shows('-- closed: 1012');
    expect(await server.ended()).toBe(0);
    client.type('say afterwards');
    await start();
    // The game server ended with the service.
    expect(await power('start')).toMatchObject({ status: 200 });
    await client.shows('-- connected again');
    client.type('say again');
    await client.shows('[Server] again');
    expect(client.output()).toMatch(/\[Server\] afterwards|refused \(offline\): say afterwards/);
  });

  test.for<[string, string | undefined, RegExp]>([
    ['without a key', undefined, /HOSTING_API_KEY/],
    ['with a key that is not valid', 'hk_nonsense', /^-- 401: .*This is not a whole API key/m],
  ])('%s, says so and fails', async ([, key, message]) => {
    const { port } = await startDemo();
    const client = startClient(port, key);
    expect(await client.status()).toBe(1);
    expect(client.output()).toMatch(message);
  });
});

test('console.ts takes the key from the file .key too', async () => {
  const { port, key } = await startDemo();
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, '.key'), `Authorization: Bearer ${key}\n`);
  const client = startProgram(programs[0]![1], port, undefined, cwd);
  client.end();
  expect(await client.status()).toBe(0);
});

test.each([
  ['TypeScript', [process.execPath, join(folder, 'console.ts')]],
  ['Python', [python ?? 'python3', join(folder, 'console.py')]],
])('the %s client shows control sequences of a game, and lets none act', async (language, program) => {
  if (language === 'Python' && python === undefined) return;
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
  const client = startProgram(program, port, 'hk_key');
  await client.shows('green');
  expect(findActing(withoutColours(client.output()), '\t')).toEqual([]);
  expect(client.output()).toContain('said \\u001b]0;title\\u0007');
  expect(client.output()).toContain('\u001B[32mgreen\u001B[0m\tend');
});
