import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import type { Socket } from 'node:net';
import type { Logger } from '../../../log.ts';

/** Keeps process groups from outliving this process, even one that is killed and cannot clean up. */
export interface Guard {
  add(group: number): void;
  remove(group: number): void;
  /** Lets go of all groups. */
  close(): void;
}

/**
 * Reads what is watched until the pipe from us breaks, which a SIGKILL does too, and then ends the groups that are
 * left: first politely. A shell, as it is on every machine and costs a megabyte.
 */
const script = `
trap '' HUP INT QUIT TERM
groups=
while read -r verb group; do
  rest=
  for known in $groups; do [ "$known" = "$group" ] || rest="$rest $known"; done
  groups=$rest
  [ "$verb" = add ] && groups="$groups $group"
done
[ -n "$groups" ] || exit 0
for group in $groups; do kill -s TERM -- "-$group"; done
sleep "$1"
for group in $groups; do kill -s KILL -- "-$group"; done
`;

/** Creates a guard, which is begun with the first group; the grace is between its SIGTERM and its SIGKILL. */
export function createGuard(graceSeconds: number, log: Logger): Guard {
  let shell: ChildProcess | undefined;
  const fail = (error: unknown): void => log.error({ err: error }, 'local servers are not guarded');
  const begin = (): ChildProcess => {
    // A session of its own: what a terminal sends to us must not reach it.
    const started = spawn('/bin/sh', ['-c', script, 'guard', String(Math.ceil(graceSeconds))], {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
      env: {},
    });
    started.on('error', fail).on('exit', () => (shell = undefined));
    started.stdin?.on('error', fail);
    started.unref();
    (started.stdin as Socket | null)?.unref();
    return started;
  };
  return {
    add: (group) => void (shell ??= begin()).stdin?.write(`add ${group}\n`),
    remove: (group) => void shell?.stdin?.write(`remove ${group}\n`),
    close: () => void shell?.stdin?.end(),
  };
}
