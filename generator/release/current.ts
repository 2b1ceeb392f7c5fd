import { hash, randomBytes } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { readlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';

/** Creates a name for a folder that is being written or removed. It contains the machine and process that do so. */
export function createStageName(): string {
  return `.stage-${readMachineId()}-${process.pid}-${randomBytes(4).toString('hex')}`;
}

/** Identifies the scope of this process's PID: the machine since its last boot, or a container on it. */
export function readMachineId(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8');
    return `${hostname()}-${hash('sha256', boot + readlinkSync('/proc/self/ns/pid')).slice(0, 8)}`;
  } catch {
    return hostname();
  }
}

/** The ID of the current release below `out`; undefined if there is none. */
export async function readCurrent(out: string): Promise<string | undefined> {
  return readlink(join(out, 'current')).then(
    (target) => target.split('/').at(-1),
    () => undefined,
  );
}
