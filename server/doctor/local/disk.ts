import { stat, statfs } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Env } from '../../env.ts';
import type { Finding, Outcome } from '../finding.ts';
import { fault, ok } from '../finding.ts';

const mebibyte = 1024 * 1024;
const gibibyte = 1024 * mebibyte;

/** A file system is nearly full below both: a tenth of a large one is enough for long, and a small one may be meant so. */
const fewBytes = gibibyte;
const fewInodes = 20_000;
const smallPart = 0.1;

/** The folders that are written or that grow. */
export type DiskSettings = Pick<Env, 'DATA_DIR' | 'DIST_DIR' | 'STATUS_FILE'>;

/** Checks what is left on the file systems of an installation: one finding for each of them. */
export async function checkDisks({ DATA_DIR, DIST_DIR, STATUS_FILE }: DiskSettings): Promise<readonly Finding[]> {
  const folders = { DATA_DIR, DIST_DIR, ...(STATUS_FILE !== undefined && { STATUS_FILE: dirname(STATUS_FILE) }) };
  const disks = new Map<number, { readonly folder: string; readonly names: string[] }>();
  for (const [name, path] of Object.entries(folders)) {
    // oxlint-disable-next-line no-await-in-loop
    const { folder, device } = await findExisting(resolve(path));
    const disk = disks.get(device);
    if (disk) disk.names.push(name);
    else disks.set(device, { folder, names: [name] });
  }
  return await Promise.all(
    [...disks.values()].map(async ({ folder, names }) => {
      const { bavail, blocks, bsize, ffree, files } = await statfs(folder);
      const outcome = judge({ free: bavail * bsize, size: blocks * bsize, inodes: ffree, allInodes: files });
      return { check: `disk of ${names.join(', ')}`, ...outcome };
    }),
  );
}

/** Finds the nearest folder that exists: one that is created later lies where it does. */
export async function findExisting(folder: string): Promise<{ folder: string; device: number }> {
  const found = await stat(folder).catch(() => undefined);
  if (found || folder === dirname(folder)) return { folder, device: found?.dev ?? 0 };
  return findExisting(dirname(folder));
}

interface Space {
  readonly free: number;
  readonly size: number;
  /** Zero, as all of them, on file systems that have no fixed number. */
  readonly inodes: number;
  readonly allInodes: number;
}

function judge({ free, size, inodes, allInodes }: Space): Outcome {
  const left = `${format(free)} of ${format(size)} left`;
  if (free < fewBytes && free < size * smallPart) {
    const advice =
      'make room: `npm run releases -- prune --keep 3` removes old releases; look for logs and backups too';
    return fault(left, advice);
  }
  if (inodes < fewInodes && inodes < allInodes * smallPart) {
    return fault(`${inodes} of ${allInodes} inodes left`, 'remove small files: old releases have most of them');
  }
  return ok(left);
}

function format(bytes: number): string {
  return bytes < gibibyte ? `${Math.floor(bytes / mebibyte)} MiB` : `${(bytes / gibibyte).toFixed(1)} GiB`;
}
