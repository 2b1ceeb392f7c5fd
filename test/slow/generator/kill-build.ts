import fs from 'node:fs';
import promises from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { isMainThread } from 'node:worker_threads';

// Loaded with --import into a build. Kills the build before change number KILL_BEFORE of `dist`, or prints the number of
// changes at the end.
const dist = join(process.cwd(), 'dist');
const last = Number(process.env.KILL_BEFORE);
let changes = 0;

function countCalls(module: object, names: readonly string[]): void {
  const functions = module as Record<string, (...args: unknown[]) => unknown>;
  for (const name of names) {
    const call = functions[name]!;
    functions[name] = (...args) => {
      // Only the line of the history is written to a descriptor.
      if (name === 'writeSync' || args.some((path) => typeof path === 'string' && path.startsWith(dist))) {
        changes += 1;
        if (changes === last) process.kill(process.pid, 'SIGKILL');
      }
      return call(...args);
    };
  }
}

if (isMainThread) {
  countCalls(fs, ['mkdirSync', 'writeFileSync', 'linkSync', 'copyFileSync', 'openSync', 'rmSync', 'writeSync']);
  countCalls(promises, ['writeFile', 'rename', 'symlink', 'lutimes', 'rm']);
  syncBuiltinESMExports();
  process.once('exit', () => process.stderr.write(`${changes} changes\n`));
}
