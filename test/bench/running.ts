import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { findFreePort } from '../helpers/free-port.ts';
import { start } from './processes.ts';
import type { Command } from './processes.ts';

/** A running server. */
export interface Running {
  readonly name: string;
  readonly pid: number;
  readonly port: number;
  readonly stop: () => Promise<void>;
}

/** Starts a server at a free port and waits until it listens. Throws with its output if it does not. */
export async function startServer(name: string, toCommand: (port: number) => Command): Promise<Running> {
  const port = await findFreePort();
  const { child, printed, kill } = start(toCommand(port));
  for (const end = performance.now() + 30_000; ;) {
    // oxlint-disable-next-line no-await-in-loop
    if (await isListening(port)) break;
    if (child.pid === undefined || child.exitCode !== null || performance.now() > end) {
      child.kill('SIGKILL');
      throw new Error(`${name} does not start: ${printed()}`);
    }
    // oxlint-disable-next-line no-await-in-loop
    await sleep(20);
  }
  return { name, pid: child.pid!, port, stop: kill };
}

function isListening(port: number): Promise<boolean> {
  return new Promise((done) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('connect', () => done(true));
    socket.on('error', () => done(false));
    socket.on('connect', () => socket.destroy());
  });
}
