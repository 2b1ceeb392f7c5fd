import { createInterface } from 'node:readline';

/** A program that simulates a game server on its console, or with the argument `vps` a VPS, so that every route can be tried. */

const started = performance.now();
const players = ['Alma', 'Birk', 'Cleo', 'Dag'];
const chatter = ['Where is the bridge?', 'Nice tower!', 'Anyone for the dungeon?', 'Back in five.'];
const online = new Set<string>();

function say(text: string, level = 'INFO'): void {
  process.stdout.write(`[${new Date().toISOString().slice(11, 19)} ${level}]: ${text}\n`);
}

function log(text: string): void {
  process.stdout.write(`[${((performance.now() - started) / 1000).toFixed(6).padStart(12)}] ${text}\n`);
}

function pick(list: readonly string[]): string {
  return list[Math.floor(Math.random() * list.length)]!;
}

const commands: Record<string, (rest: string) => void> = {
  help: () => say(`Commands: ${Object.keys(commands).join(', ')}`),
  list: () => say(`There are ${online.size} of a max of 20 players online: ${[...online].join(', ')}`),
  say: (text) => say(`[Server] ${text}`),
  stop: () => stop(),
};

const game = {
  boot: [
    'Starting the demo game server',
    'Loading the world "demo"',
    'Preparing the spawn area: 100%',
    'Done! For help, type "help"',
  ],
  end: ['Stopping the server', 'Saving the world'],
  print: say,
  everyMs: 15_000,
  live() {
    const player = pick(players);
    if (!online.has(player)) {
      online.add(player);
      say(`\u001B[33m${player} joined the game\u001B[0m`);
    } else if (Math.random() < 0.7) {
      say(`<${player}> ${pick(chatter)}`);
    } else {
      online.delete(player);
      say(`\u001B[33m${player} left the game\u001B[0m`);
    }
  },
  read(line: string) {
    const [, name = '', rest = ''] = /^\s*(\S*)\s*(.*)$/s.exec(line)!;
    if (name === '') return;
    const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
    if (command) command(rest);
    else say('Unknown command. Type "help" for help.', 'WARN');
  },
};

const vps: typeof game = {
  boot: [
    'Booting the demo VPS',
    'Mounted root file system',
    'Started network: eth0 is up',
    'Started OpenSSH server',
    'Reached target: multi-user',
  ],
  end: ['Stopped OpenSSH server', 'Reached target: power-off'],
  print: log,
  everyMs: 60_000,
  live: () => log('systemd-timesyncd: clock synchronised'),
  read: () => undefined,
};

const server = process.argv[2] === 'vps' ? vps : game;
const life = setInterval(() => server.live(), server.everyMs);
const input = createInterface({ input: process.stdin });
let isStopping = false;

function stop(): void {
  if (isStopping) return;
  isStopping = true;
  for (const line of server.end) server.print(line);
  // No process.exit, so that buffered output is written.
  clearInterval(life);
  input.close();
  process.stdin.destroy();
}

input.on('line', (line) => server.read(line));
// The parent process has ended.
input.on('close', stop);
process.on('SIGTERM', stop);
process.on('SIGINT', stop);
// Last, since a reader of these lines may stop the process at once.
for (const line of server.boot) server.print(line);
