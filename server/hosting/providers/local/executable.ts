import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import type { LocalServer } from './settings.ts';

/** Says why the program of a server cannot start; undefined if it can. */
export function findStartProblem({ command, cwd, env }: LocalServer): string | undefined {
  if (!statOf(cwd)?.isDirectory()) return `its folder ${cwd} does not exist`;
  const program = command[0]!;
  if (program.includes('/')) {
    const path = resolve(cwd, program);
    if (!statOf(path)) return `the program ${program} does not exist`;
    return isExecutable(path) ? undefined : `the program ${program} is not a file that this user may run`;
  }
  // Without PATH, the C library has a default of its own.
  const folders = (env.PATH ?? '/usr/bin:/bin').split(delimiter);
  if (folders.some((folder) => isExecutable(join(resolve(cwd, folder), program)))) return undefined;
  return `the program ${program} is in no folder of PATH`;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** A path below a file, or with a NUL, exists as little as a missing one. */
function statOf(path: string) {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}
