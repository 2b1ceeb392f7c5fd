import { spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import type { Logger } from '../../../log.ts';

/** Keeps a process group from outliving this process, even one that is killed and cannot clean up. */
export interface Guard {
  /** Lets the group go. */
  release(): void;
}

/**
 * Ends a group when the pipe from us breaks without a line, which a SIGKILL does too: first politely. A shell, as it is
 * on every machine and costs a megabyte.
 */
const script = `
trap '' HUP INT QUIT TERM
read -r line && exit 0
kill -s TERM -- "-$1"
sleep "$2"
kill -s KILL -- "-$1"
`;

/** Guards a group; the grace is between its SIGTERM and its SIGKILL. */
export function guardGroup(group: number, graceSeconds: number, log: Logger): Guard {
  // A session of its own: what a terminal sends to us must not reach it.
  const shell = spawn('/bin/sh', ['-c', script, 'guard', String(group), String(Math.ceil(graceSeconds))], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    env: {},
  });
  const fail = (error: unknown): void => log.error({ err: error }, 'a local server is not guarded');
  shell.on('error', fail);
  shell.stdin.on('error', fail);
  shell.unref();
  (shell.stdin as Socket).unref();
  return { release: () => void shell.stdin.end('release\n') };
}
