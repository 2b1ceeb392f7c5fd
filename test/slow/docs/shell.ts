import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { onTestFinished } from 'vitest';

/** A shell into which an operator pastes lists of commands. A command that fails ends it. */
export interface Shell {
  /** Pastes commands, and returns their output. Throws an error with all output if one fails. */
  paste(commands: string): Promise<string>;
}

/** Runs each list that comes on descriptor 3, and ends its output with a NUL. */
const loop = `while IFS= read -r -d '' commands <&3; do eval "$commands"; printf '\\0'; done`;

/** Opens `bash -euo pipefail` until the test ends. It has no terminal; `input` is what is typed where a command asks. */
export function openShell(env: NodeJS.ProcessEnv, input = ''): Shell {
  const stdio = ['pipe', 'pipe', 'pipe', 'pipe'] as const;
  // Without a session of its own, psql would ask on the terminal of the tests.
  const options = { env, detached: true, stdio: [...stdio] };
  const child = spawn('bash', ['--norc', '-euo', 'pipefail', '-c', loop], options);
  const [stdin, stdout, stderr, lists] = child.stdio as unknown as [Writable, Readable, Readable, Writable];
  stdin.end(input);
  let printed = '';
  let all = '';
  stdout.on('data', (chunk: Buffer) => (printed += chunk.toString()));
  stderr.on('data', (chunk: Buffer) => (all += chunk.toString()));
  const closed = once(child, 'close') as Promise<[number | null]>;
  lists.on('error', () => undefined);
  onTestFinished(async () => {
    lists.end();
    await closed;
  });
  return {
    async paste(commands) {
      printed = '';
      lists.write(`${commands}\0`);
      while (!printed.endsWith('\0')) {
        // oxlint-disable-next-line no-await-in-loop -- until the end of the output
        const status = await Promise.race([once(stdout, 'data').then(() => undefined), closed]);
        if (status) throw new Error(`bash ended with status ${status[0]}:\n${printed}${all}`);
      }
      return printed.slice(0, -1);
    },
  };
}
