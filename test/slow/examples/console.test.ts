import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { findFreePort } from '../../helpers/free-port.ts';
import { temporaryFolder } from '../../helpers/project.ts';
import { ask } from '../../server/ask.ts';
import { createServable, startProcess } from '../../server/process.ts';
import type { ServerProcess } from '../../server/process.ts';
import { eventually } from '../../server/shared.ts';

const script = resolve(import.meta.dirname, '../../../examples/clients/console.ts');
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

/** Starts the client with a key in its folder. */
function startClient(port: number, key: string | undefined) {
  const cwd = temporaryFolder();
  if (key !== undefined) writeFileSync(join(cwd, '.key'), `Authorization: Bearer ${key}\n`);
  const env = { PATH: process.env.PATH, API_URL: `http://127.0.0.1:${port}` };
  const child = spawn(process.execPath, [script, 'demo'], { cwd, env });
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

test('the client sends each line of its input once, in order and within the limits, and then ends', async () => {
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

test('the client renews its token, and shows why a command is refused', async () => {
  const { port, key, power } = await startDemo({ CONSOLE_TOKEN_TTL_SECONDS: '5' });
  const client = startClient(port, key);
  await client.shows('Done! For help');
  const until = Date.now() + 12_000;
  for (let count = 0; Date.now() < until; count += 1) {
    client.type(`say ${count}`);
    // oxlint-disable-next-line no-await-in-loop
    await client.shows(`[Server] ${count}\n`);
    // oxlint-disable-next-line no-await-in-loop
    await new Promise((wake) => void setTimeout(wake, 2000));
  }
  expect(client.output()).not.toMatch(/closed|expired|jwt/);
  await power('stop');
  await client.shows('-- status: offline');
  client.type('say late');
  await client.shows('-- refused (offline): say late');
});

test('the client connects again after a restart of the service, and sends what was typed meanwhile', async () => {
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

test.for<[string, string | undefined, string]>([
  ['without a key', undefined, '-- There is no file .key'],
  ['with a key that is not valid', 'hk_nonsense', '-- 401: A valid API key is required'],
])('the client %s says so and fails', async ([, key, message]) => {
  const { port } = await startDemo();
  const client = startClient(port, key);
  expect(await client.status()).toBe(1);
  expect(client.output()).toContain(message);
});
