import { createInterface } from 'node:readline';

/** Simulates the console of a game server, or of a VPS with the argument `vps`. */

const isVps = process.argv[2] === 'vps';
const players = ['Alma', 'Birk', 'Cleo', 'Dag'];
const chatter = ['Where is the bridge?', 'Nice tower!', 'Anyone for the dungeon?', 'Back in five.'];
const online = new Set<string>();

function print(text: string, level = 'INFO'): void {
  const seconds = (performance.now() / 1000).toFixed(6).padStart(12);
  const start = isVps ? `[${seconds}]` : `[${new Date().toISOString().slice(11, 19)} ${level}]:`;
  process.stdout.write(`${start} ${text}\n`);
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
  if (isVps) return print('systemd-timesyncd: clock synchronised');
  const player = pick(players);
  if (online.has(player) && Math.random() < 0.7) return print(`<${player}> ${pick(chatter)}`);
  const verb = online.delete(player) ? 'left' : 'joined';
  if (verb === 'joined') online.add(player);
  print(`\u001B[33m${player} ${verb} the game\u001B[0m`);
}

function read(line: string): void {
  const [, name = '', rest = ''] = /^\s*(\S*)\s*(.*)$/s.exec(line)!;
  if (isVps || name === '') return;
  if (Object.hasOwn(commands, name)) commands[name]!(rest);
  else print('Unknown command. Type "help" for help.', 'WARN');
}

const life = setInterval(live, isVps ? 60_000 : 15_000);
const input = createInterface({ input: process.stdin });
let isStopping = false;

function stop(): void {
  if (isStopping) return;
  isStopping = true;
  const vps = ['Stopped OpenSSH server', 'Reached target: power-off'];
  for (const line of isVps ? vps : ['Stopping the server', 'Saving the world']) print(line);
  // Not process.exit: buffered output must be written first.
  clearInterval(life);
  input.close();
  process.stdin.destroy();
}

input.on('line', read);
// The parent process has exited.
input.on('close', stop);
process.on('SIGTERM', stop);
process.on('SIGINT', stop);

const game = ['Starting the demo game server', 'Loading the world "demo"', 'Preparing the spawn area: 100%'];
const vps = [
  'Booting the demo VPS',
  'Mounted root file system',
  'Started network: eth0 is up',
  'Started OpenSSH server',
];
// Last: a reader of these lines may stop the process immediately.
for (const line of isVps ? vps : game) print(line);
print(isVps ? 'Reached target: multi-user' : 'Done! For help, type "help"');
