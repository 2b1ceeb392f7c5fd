import { createInterface } from 'node:readline';

/** A program that simulates a game server on its console, so that every route can be tried. */

const players = ['Alma', 'Birk', 'Cleo', 'Dag'];
const chatter = ['Where is the bridge?', 'Nice tower!', 'Anyone for the dungeon?', 'Back in five.'];
const online = new Set<string>();
let stopping = false;

function print(text: string, level = 'INFO'): void {
  process.stdout.write(`[${new Date().toISOString().slice(11, 19)} ${level}]: ${text}\n`);
}

function pick(list: readonly string[]): string {
  return list[Math.floor(Math.random() * list.length)]!;
}

const commands: Record<string, (rest: string) => void> = {
  help: () => print(`Commands: ${Object.keys(commands).join(', ')}`),
  list: () => print(`There are ${online.size} of a max of 20 players online: ${[...online].join(', ')}`),
  say: (text) => print(`[Server] ${text}`),
  stop: () => stop(),
};

function live(): void {
  const player = pick(players);
  if (!online.has(player)) {
    online.add(player);
    print(`\u001B[33m${player} joined the game\u001B[0m`);
  } else if (Math.random() < 0.7) {
    print(`<${player}> ${pick(chatter)}`);
  } else {
    online.delete(player);
    print(`\u001B[33m${player} left the game\u001B[0m`);
  }
}

function stop(): void {
  if (stopping) return;
  stopping = true;
  print('Stopping the server');
  print('Saving the world');
  // No process.exit, so that buffered output is written.
  clearInterval(life);
  input.close();
  process.stdin.destroy();
}

const life = setInterval(live, 15_000);
const input = createInterface({ input: process.stdin });
input.on('line', (line) => {
  const [, name = '', rest = ''] = /^\s*(\S*)\s*(.*)$/s.exec(line)!;
  if (name === '') return;
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (command) command(rest);
  else print('Unknown command. Type "help" for help.', 'WARN');
});
// The parent process has ended.
input.on('close', stop);
process.on('SIGTERM', stop);
process.on('SIGINT', stop);
// Last, since a reader of these lines may stop the process at once.
for (const line of [
  'Starting the demo game server',
  'Loading the world "demo"',
  'Preparing the spawn area: 100%',
  'Done! For help, type "help"',
]) {
  print(line);
}
