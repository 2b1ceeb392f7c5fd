import { execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync, readFileSync, readSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { unlimited } from '../../helpers/app.ts';
import { findFreePort } from '../../helpers/free-port.ts';
import { temporaryFolder } from '../../helpers/project.ts';
import { createServable } from '../../server/process.ts';

const main = resolve(import.meta.dirname, '../../../server/main.js');

/** More lines than the pipe, the buffer of the log and the reader hold. */
const requests = 4000;
const longAgent = 'x'.repeat(256);

/** Starts a server; only `drain` reads its output. */
interface Stalled {
  readonly port: number;
  /** The id of the server's own process. */
  pid(): number;
  /** Waits for the exit status. */
  ended(): Promise<unknown[]>;
  /** Reads the output from now on; returns what has been read so far. */
  drain(): () => string;
}

type Start = (settings: Record<string, string>) => Stalled | Promise<Stalled>;

function drainStream(stream: Readable): () => string {
  let text = '';
  stream.on('data', (chunk: Buffer) => (text += chunk.toString()));
  return () => text;
}

function watch(child: ChildProcess): () => Promise<unknown[]> {
  const ended = once(child, 'exit');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  return () => ended as Promise<unknown[]>;
}

/** Node.js gives its child processes a pair of sockets, as systemd does. */
const startOnSocket: Start = (env) => {
  const child = spawn(process.execPath, [main], { env, stdio: ['ignore', 'pipe', 'ignore'] });
  return {
    port: Number(env['PORT']),
    pid: () => child.pid!,
    ended: watch(child),
    drain: () => drainStream(child.stdout),
  };
};

const startOnPipe: Start = (env) => {
  const fifo = join(temporaryFolder(), 'fifo');
  execFileSync('mkfifo', [fifo]);
  // Open for reading and writing: neither end must wait.
  const reader = openSync(fifo, constants.O_RDWR | constants.O_NONBLOCK);
  const writer = openSync(fifo, constants.O_WRONLY);
  // Both outputs, as with 2>&1.
  const child = spawn(process.execPath, [main], { env, stdio: ['ignore', writer, writer] });
  closeSync(writer);
  onTestFinished(() => closeSync(reader));
  const drain = (): (() => string) => {
    let text = '';
    const buffer = Buffer.alloc(65_536);
    return () => {
      for (;;) {
        try {
          text += buffer.toString('utf8', 0, readSync(reader, buffer));
        } catch {
          return text;
        }
      }
    };
  };
  return { port: Number(env['PORT']), pid: () => child.pid!, ended: watch(child), drain };
};

/** Opens a terminal stopped as by Ctrl-S. */
const startOnTerminal: Start = (env) => {
  const args = ['-qec', `exec ${process.execPath} ${main}`, '/dev/null'];
  const child = spawn('script', args, { env: { ...env, SHELL: '/bin/sh' }, stdio: ['ignore', 'pipe', 'ignore'] });
  const pid = (): number => Number(readFileSync(`/proc/${child.pid!}/task/${child.pid!}/children`, 'utf8'));
  onTestFinished(() => {
    try {
      process.kill(pid(), 'SIGKILL');
    } catch {
      // It has ended.
    }
  });
  void watch(child);
  return { port: Number(env['PORT']), pid, ended: () => zombieOf(pid()), drain: () => drainStream(child.stdout) };
};

/** Waits for the exit status of a process with a stalled parent. */
async function zombieOf(pid: number): Promise<unknown[]> {
  for (;;) {
    const [state, ...fields] = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /, '')
      .trim()
      .split(' ');
    if (state === 'Z') return [Number(fields.at(-1)) >> 8];
    await sleep(10);
  }
}

const agent = new Agent({ keepAlive: true, maxSockets: 4 });

function ask(port: number, path: string): Promise<number> {
  return new Promise((done, fail) => {
    const began = performance.now();
    get({ port, path, agent, headers: { 'User-Agent': longAgent } }, (response) => {
      response.resume().on('end', () => done(performance.now() - began));
    }).on('error', fail);
  });
}

async function start(open: Start, settings: Record<string, string> = {}): Promise<Stalled> {
  const servable = await createServable();
  const port = String(await findFreePort());
  const cwd = temporaryFolder();
  const stalled = await open({
    PATH: process.env.PATH!,
    DATA_DIR: cwd,
    ...unlimited,
    ...servable.settings,
    PORT: port,
    ...settings,
  });
  const measure = () => ask(stalled.port, '/health').catch(() => 0);
  await expect.poll(measure).toBeGreaterThan(0);
  return stalled;
}

async function fill({ port }: Stalled): Promise<void> {
  await Promise.all(
    Array.from({ length: requests }, (_, at) => ask(port, `/v1/kb/article?path=${'/x'.repeat(100)}${at}`)),
  );
}

describe.each([
  ['pipe', startOnPipe],
  ['socket', startOnSocket],
  ['terminal', startOnTerminal],
])('a server whose output is a %s that is not read', (_, open) => {
  test.each(['json', 'pretty'])('answers at once and ends on SIGTERM (%s)', async (format) => {
    const server = await start(open, { LOG_FORMAT: format });
    await fill(server);
    const times: number[] = [];
    for (let time = 0; time < 50; time += 1) times.push(await ask(server.port, '/health'));
    const [median = 0] = times.toSorted((one, other) => one - other).slice(25);
    const began = performance.now();
    process.kill(server.pid(), 'SIGTERM');
    const [status] = await Promise.race([server.ended(), sleep(60_000, ['still running'], { ref: false })]);
    const endedAfter = performance.now() - began;
    console.log(`${format}: /health in ${median.toFixed(1)} ms; ended after ${endedAfter.toFixed(0)} ms`);
    expect(median).toBeLessThan(1000);
    expect(status).toBe(0);
    // The log gets 1 s.
    expect(endedAfter).toBeGreaterThan(900);
  });

  test('logs the number of dropped lines after the reader resumes', async () => {
    const server = await start(open, { LOG_FORMAT: 'json' });
    await fill(server);
    const read = server.drain();
    const lines = () =>
      read()
        .split(/\r?\n/)
        .slice(0, -1)
        .map((line) => JSON.parse(line) as { msg: string; lines?: number });
    const dropped = () => lines().filter(({ msg }) => msg.startsWith('log lines were dropped'));
    await expect.poll(() => dropped().length).toBe(1);
    const logged = lines().filter(({ msg }) => msg === 'request').length;
    expect(logged).toBeGreaterThan(1000);
    // Besides, at least one request for /health.
    expect(logged + dropped()[0]!.lines!).toBeGreaterThan(requests);
    await ask(server.port, '/health');
    process.kill(server.pid(), 'SIGTERM');
    await expect.poll(() => lines().at(-1)!.msg).toBe('stopped');
  });
});

test('with an unwritable log a server answers and exits', async () => {
  const server = await start((env) => {
    const full = openSync('/dev/full', 'w');
    const child = spawn(process.execPath, [main], { env, stdio: ['ignore', full, full] });
    closeSync(full);
    return { port: Number(env['PORT']), pid: () => child.pid!, ended: watch(child), drain: () => () => '' };
  });
  await fill(server);
  await ask(server.port, '/health');
  process.kill(server.pid(), 'SIGTERM');
  expect(await server.ended()).toEqual([0, null]);
});
