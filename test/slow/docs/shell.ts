import { spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { onTestFinished } from 'vitest';

/** A shell into which an operator pastes lists of commands. A command that fails ends it. */
export interface Shell {
  /** Pastes commands, and returns their output. Throws an error with all output if one fails. */
  paste(commands: string): Promise<string>;
}

/** Runs each list that comes on descriptor 3, and says on descriptor 4 that it is done. */
const loop = `while IFS= read -r -d '' commands <&3; do eval "$commands"; printf 'done\\0' >&4; done`;

/** Opens `bash -euo pipefail` until the test ends. It has no terminal; `input` is what is typed. */
export function openShell(env: NodeJS.ProcessEnv, input = ''): Shell {
  // Without a session of its own, psql would ask on the terminal of the tests.
  const child = spawn('bash', ['--norc', '-euo', 'pipefail', '-c', loop], {
    env,
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe', 'pipe', 'pipe'],
  });
  const [stdin, stdout, stderr, commandsIn, doneOut] = child.stdio as [
    Writable,
    Readable,
    Readable,
    Writable,
    Readable,
  ];
  stdin.end(input);
  let [printed, all] = ['', ''];
  stdout.on('data', (chunk: Buffer) => {
    printed += chunk.toString();
    all += chunk.toString();
  });
  stderr.on('data', (chunk: Buffer) => (all += chunk.toString()));
  const closed = new Promise<number | null>((resolve) => child.once('close', resolve));
  commandsIn.on('error', () => undefined);
  onTestFinished(async () => {
    commandsIn.end();
    await closed;
  });
  return {
    async paste(commands) {
      printed = '';
      commandsIn.write(`${commands}\0`);
      const done = new Promise<'done'>((resolve) => doneOut.once('data', () => resolve('done')));
      const outcome = await Promise.race([done, closed]);
      if (outcome !== 'done') throw new Error(`bash ended with status ${outcome}:\n${all}`);
      // Output and the end come by different pipes.
      await new Promise((resolve) => setImmediate(resolve));
      return printed;
    },
  };
}
