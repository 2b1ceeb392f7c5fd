import { spawn } from 'node:child_process';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';

/**
 * A program for the local provider, on a leash: it tells a port what happens to it, and does what it is told there.
 * Its connection ends with it, whatever ends it. Arguments: the port, its name, and how it takes a SIGTERM.
 */
const [, , port, name, manner] = process.argv;
const leash = connect(Number(port), '127.0.0.1');

function tell(event: string, detail: string): void {
  leash.write(`${JSON.stringify({ name, event, detail })}\n`);
}

process.on('SIGTERM', () => {
  tell('SIGTERM', '');
  if (manner === 'stubborn') return;
  process.stdout.write('saving\n', () => process.exit(0));
});
createInterface({ input: process.stdin }).on('line', (line) => tell('input', line));
createInterface({ input: leash }).on('line', (line) => {
  const { order, detail } = JSON.parse(line) as { order: string; detail: string };
  if (order === 'print') process.stdout.write(detail);
  else if (order === 'complain') process.stderr.write(detail);
  else if (order === 'deafen') process.stdin.pause();
  else if (order === 'exit') process.exit(Number(detail));
  else if (order === 'count') {
    const lines = Array.from({ length: Number(detail) }, (_, index) => `line ${index + 1}\n`);
    process.stdout.write(lines.join(''));
  } else if (order === 'breed') {
    spawn(process.execPath, [import.meta.filename, port!, detail, 'stubborn'], { stdio: 'inherit' });
  } else if (order === 'abandon') {
    // One that left the group, and holds on to the outputs.
    const stdio = ['ignore', 'inherit', 'inherit'] as const;
    spawn(process.execPath, [import.meta.filename, port!, detail], { stdio: [...stdio], detached: true });
  }
});
leash.on('error', (error) => process.stderr.write(`${error.message}\n`)).on('close', () => process.exit(1));
leash.on('connect', () => tell('started', JSON.stringify(process.env)));
