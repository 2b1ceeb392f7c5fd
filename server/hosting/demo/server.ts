import { createInterface } from 'node:readline';

/** Simulates a server with a console. */

function print(text: string, level = 'INFO'): void {
  process.stdout.write(`[${new Date().toISOString().slice(11, 19)} ${level}]: ${text}\n`);
}

const input = createInterface({ input: process.stdin });
const stop = (): void => input.close();
const commands: Record<string, (rest: string) => void> = {
  help: () => print(`Commands: ${Object.keys(commands).join(', ')}`),
  list: () => print('There are 0 of a max of 20 players online'),
  say: (text) => print(`[Server] ${text}`),
  stop,
};

input.on('line', (line) => {
  const [, name = '', rest = ''] = /^\s*(\S*)\s*(.*)$/s.exec(line)!;
  if (Object.hasOwn(commands, name)) commands[name]!(rest);
  else if (name !== '') print('Unknown command. Type "help" for help.', 'WARN');
});
// Emitted by `stop`, and when the parent process has exited.
input.once('close', () => {
  for (const line of ['Stopping the server', 'Saving the world']) print(line);
  // Not process.exit: buffered output must be written first.
  process.stdin.destroy();
});
process.on('SIGTERM', stop);
process.on('SIGINT', stop);
setInterval(() => print('\u001B[32mSaved the world\u001B[0m'), 15_000).unref();

// Last: a reader of these lines may stop the process immediately.
for (const line of ['Starting the demo server', 'Loading the world "demo"', 'Done! For help, type "help"']) print(line);
