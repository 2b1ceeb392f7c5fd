import { spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import type { Logger } from '../../../log.ts';

/** Ends a process group when this process ends, even by SIGKILL. */
export interface Guard {
  /** Stops guarding the group. */
  release(): void;
}

/**
 * Ends a group when stdin closes without a line, also after a SIGKILL of the parent: first with SIGTERM. A shell script,
 * since a shell is on every machine and needs only a megabyte.
 */
const script = `
trap '' HUP INT QUIT TERM
read -r line && exit 0
kill -s TERM -- "-$1"
sleep "$2"
kill -s KILL -- "-$1"
`;

/** Guards a group; the grace period is between SIGTERM and SIGKILL. */
export function guardGroup(group: number, graceSeconds: number, log: Logger): Guard {
  // Detached, so that signals of the terminal do not reach it.
  const shell = spawn('/bin/sh', ['-c', script, 'guard', String(group), String(Math.ceil(graceSeconds))], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    env: {},
  });
  const fail = (error: unknown): void => log.error({ err: error }, 'the guard of a local server failed');
  shell.on('error', fail);
  shell.stdin.on('error', fail);
  shell.unref();
  (shell.stdin as Socket).unref();
  return { release: () => void shell.stdin.end('release\n') };
}
