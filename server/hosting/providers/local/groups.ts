import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { tryLock } from '#common/file-lock.ts';
import { createFolder } from '#common/files.ts';
import type { Logger } from '../../../log.ts';
import { toRefusal } from '../../../upstream/client.ts';

/** A process group, with the start time of its first process. */
const ProcessGroup = z.object({ id: z.int(), started: z.string().optional() });
type ProcessGroup = z.infer<typeof ProcessGroup>;

const Holder = z.object({
  pid: z.int(),
  host: z.string(),
  since: z.string(),
  groups: z.record(z.string(), ProcessGroup),
});

/** Lets only one process at a time run the local servers of a DATA_DIR. */
export type GroupsLock = ReturnType<typeof createGroupsLock>;

/** Creates the lock of a folder: a lock file, and a file that describes the holder and its groups. */
export function createGroupsLock(folder: string, log: Logger) {
  const holderFile = join(folder, '.holder.json');
  /** The servers that use the lock, with their groups once started. */
  const users = new Map<string, ProcessGroup | undefined>();
  let since = '';
  let unlock: (() => void) | undefined;

  const readHolder = () => {
    try {
      return Holder.parse(JSON.parse(readFileSync(holderFile, 'utf8')));
    } catch {
      return undefined;
    }
  };
  const writeHolder = (): void => {
    const groups = Object.fromEntries([...users].filter(([, group]) => group));
    const text = JSON.stringify({ pid: process.pid, host: hostname(), since, groups });
    try {
      if (users.size > 0) writeFileSync(holderFile, text, { mode: 0o600 });
      else rmSync(holderFile, { force: true });
    } catch (error) {
      // Not fatal: the servers run, but other processes cannot detect them.
      log.error({ err: error }, 'the holder file of the local servers cannot be written');
    }
  };
  /** Takes the lock; throws if another process holds it or has left a running group. */
  const take = (): (() => void) => {
    let taken: (() => void) | undefined;
    try {
      createFolder(folder, 0o700);
      taken = tryLock(join(folder, '.lock'));
    } catch (error) {
      throw toRefusal(`the local servers cannot be locked: ${(error as Error).message}`);
    }
    const holder = readHolder();
    const name = holder ? `process ${holder.pid} on ${holder.host} since ${holder.since}` : 'another process';
    if (!taken) throw toRefusal(`${name} runs the local servers of this DATA_DIR`);
    if (!holder || holder.host !== hostname() || !Object.values(holder.groups).some(isAlive)) return taken;
    taken();
    throw toRefusal(`${name} has ended, but its local servers still run`);
  };
  return {
    /** Takes the lock for a server unless this process holds it. Throws a ProviderError with the reason. */
    acquire(server: string): void {
      unlock ??= take();
      if (users.size === 0) since = new Date().toISOString();
      users.set(server, undefined);
    },
    /** Records the process group of a server. */
    describe(server: string, id: number): void {
      users.set(server, { id, started: readProcess(id)?.started });
      writeHolder();
    },
    /** Releases the lock of a server; the last release frees it for other processes. */
    release(server: string): void {
      if (!users.delete(server)) return;
      writeHolder();
      if (users.size > 0) return;
      unlock?.();
      unlock = undefined;
    },
    /** Returns true if another process runs the server, or a dead process has left it running. */
    isTaken(server: string): boolean {
      // Trying the lock could make a start by another process fail, so try only if the holder file names the server.
      if (unlock || readHolder()?.groups[server] === undefined) return false;
      try {
        const taken = take();
        rmSync(holderFile, { force: true });
        taken();
        return false;
      } catch {
        return true;
      }
    },
  };
}

/** Checks that a group still runs, and that its ID was not reused by another group. */
function isAlive({ id, started }: ProcessGroup): boolean {
  const names = existsSync('/proc') ? readdirSync('/proc') : [];
  const found = names.filter((name) => /^\d+$/.test(name)).map(readProcess);
  const members = found.filter((process) => process?.group === id && process.state !== 'Z');
  const leader = members.find((process) => process?.pid === String(id));
  return members.length > 0 && (!leader || leader.started === started);
}

/** Reads /proc/<pid>/stat. */
function readProcess(pid: string | number) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name of the program may contain spaces and parentheses.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return { pid, state: fields[0], group: Number(fields[2]), started: fields[19] };
  } catch {
    return undefined;
  }
}
