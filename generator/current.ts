import { randomBytes } from 'node:crypto';
import { readlink, rename, symlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';

/** A new name for a folder in the making, or in removal; it says which process of which machine works there. */
export function stageName(): string {
  return `.stage-${hostname()}-${process.pid}-${randomBytes(4).toString('hex')}`;
}

/** Makes a release the current one, in one atomic step: a reader sees the old or the new one. */
export async function makeCurrent(out: string, id: string): Promise<void> {
  const link = join(out, 'releases', stageName());
  await symlink(join('releases', id), link);
  await rename(link, join(out, 'current'));
}

/** The id of the current release below `out`, or undefined where there is none. */
export async function readCurrent(out: string): Promise<string | undefined> {
  return readlink(join(out, 'current')).then(
    (target) => target.split('/').at(-1),
    () => undefined,
  );
}
