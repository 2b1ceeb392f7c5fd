import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { findFreePort } from '../helpers/free-port.ts';
import type { Command } from './measure.ts';

/** A server that answers. */
export interface Running {
  readonly name: string;
  readonly pid: number;
  readonly port: number;
  stop(): Promise<void>;
}

/** Starts a server at a free port, which it is told as PORT and as its last argument, and waits until it listens. */
export async function startProgram(name: string, { program, args, cwd, env }: Command): Promise<Running> {
  const port = await findFreePort();
  const child = spawn(program, [...args, String(port)], {
    cwd,
    // What the caller's environment says of servers must not change what is measured.
    env: { PATH: process.env['PATH'], ...env, PORT: String(port) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const exited = once(child, 'exit');
  for (const end = performance.now() + 30_000; ;) {
    // oxlint-disable-next-line no-await-in-loop
    if (await isListening(port)) break;
    if (child.exitCode !== null || performance.now() > end) {
      child.kill('SIGKILL');
      throw new Error(`${name} does not start: ${said}`);
    }
    // oxlint-disable-next-line no-await-in-loop
    await sleep(20);
  }
  return {
    name,
    pid: child.pid!,
    port,
    async stop() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}

function isListening(port: number): Promise<boolean> {
  return new Promise((done) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('connect', () => done(true));
    socket.on('error', () => done(false));
    socket.on('connect', () => socket.destroy());
  });
}
