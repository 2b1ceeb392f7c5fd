import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { onTestFinished } from 'vitest';

/** A shell into which an operator pastes lists of commands. As on a terminal, it goes on after a command that fails. */
export interface Shell {
  /** Pastes commands, and returns their output. Throws an error with all output if one fails. */
  paste(commands: string): Promise<string>;
}

/**
 * Runs each list that comes on descriptor 3. Its status is 1 if its last command fails, or one before it that is not followed by
 * `&&` or `||`. A NUL ends the outputs.
 */
const loop = `trap 'status=1' ERR
while IFS= read -r -d '' commands <&3; do
  status=0; eval "$commands"; printf '\\0' >&2; printf '%d\\0' "$status"
done`;

/** Opens a bash until the test ends. It has no terminal; `input` is what is typed where a command asks. */
export function openShell(env: NodeJS.ProcessEnv, input = ''): Shell {
  const stdio = ['pipe', 'pipe', 'pipe', 'pipe'] as const;
  // Without a session of its own, psql would ask on the terminal of the tests.
  const child = spawn('bash', ['--norc', '-c', loop], { env, detached: true, stdio: [...stdio] });
  const [stdin, stdout, stderr, lists] = child.stdio as unknown as [Writable, Readable, Readable, Writable];
  stdin.end(input);
  let printed = '';
  let errors = '';
  stdout.on('data', (chunk: Buffer) => (printed += chunk.toString()));
  stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  const closed = once(child, 'close') as Promise<[number | null]>;
  lists.on('error', () => undefined);
  onTestFinished(async () => {
    lists.end();
    await closed;
  });
  return {
    async paste(commands) {
      [printed, errors] = ['', ''];
      lists.write(`${commands}\0`);
      while (!printed.endsWith('\0') || !errors.endsWith('\0')) {
        const more = Promise.race([once(stdout, 'data'), once(stderr, 'data')]).then(() => undefined);
        // oxlint-disable-next-line no-await-in-loop -- until the end of the output
        const status = await Promise.race([more, closed]);
        if (status) throw new Error(`bash ended with status ${status[0]}:\n${printed}${errors}`);
      }
      const output = printed.slice(0, -2);
      if (printed.at(-2) !== '0') throw new Error(`a command failed:\n${output}${errors.slice(0, -1)}`);
      return output;
    },
  };
}
