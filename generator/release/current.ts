import { hash, randomBytes } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { readlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';

/** A new name for a folder in the making, or in removal; it says which process works there, and where that number is its. */
export function stageName(): string {
  return `.stage-${readMachine()}-${process.pid}-${randomBytes(4).toString('hex')}`;
}

/** Names where process ids are those of this process: a machine since it was started, or a container on it. */
export function readMachine(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8');
    return `${hostname()}-${hash('sha256', boot + readlinkSync('/proc/self/ns/pid')).slice(0, 8)}`;
  } catch {
    return hostname();
  }
}

/** The id of the current release below `out`, or undefined where there is none. */
export async function readCurrent(out: string): Promise<string | undefined> {
  return readlink(join(out, 'current')).then(
    (target) => target.split('/').at(-1),
    () => undefined,
  );
}
