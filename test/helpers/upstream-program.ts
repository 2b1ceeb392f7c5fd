import { spawn } from 'node:child_process';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';

/**
 * A test program for the local provider. Connects to a port, reports events there and executes the orders it receives.
 * The connection closes when the process ends for any reason. Arguments: port, name, and optionally `ignore-sigterm`.
 */
const [, , port, name, mode] = process.argv;
const connection = connect(Number(port), '127.0.0.1');

function report(event: string, detail: string): void {
  connection.write(`${JSON.stringify({ name, event, detail })}\n`);
}

process.on('SIGTERM', () => {
  report('SIGTERM', '');
  if (mode === 'ignore-sigterm') return;
  process.stdout.write('saving\n', () => process.exit(0));
});
createInterface({ input: process.stdin }).on('line', (line) => report('input', line));
createInterface({ input: connection }).on('line', (line) => {
  const { order, detail } = JSON.parse(line) as { order: string; detail: string };
  if (order === 'print') process.stdout.write(detail);
  else if (order === 'print-error') process.stderr.write(detail);
  else if (order === 'pause-input') process.stdin.pause();
  else if (order === 'exit') process.exit(Number(detail));
  else if (order === 'print-lines') {
    const lines = Array.from({ length: Number(detail) }, (_, index) => `line ${index + 1}\n`);
    process.stdout.write(lines.join(''));
  } else if (order === 'spawn-child') {
    spawn(process.execPath, [import.meta.filename, port!, detail, 'ignore-sigterm'], { stdio: 'inherit' });
  } else if (order === 'spawn-detached') {
    // A detached child leaves the process group and keeps the output pipes open.
    const stdio = ['ignore', 'inherit', 'inherit'] as const;
    spawn(process.execPath, [import.meta.filename, port!, detail], { stdio: [...stdio], detached: true });
  }
});
connection.on('error', (error) => process.stderr.write(`${error.message}\n`)).on('close', () => process.exit(1));
connection.on('connect', () => report('started', JSON.stringify(process.env)));
