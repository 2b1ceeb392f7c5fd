import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { tryLock } from '#common/file-lock.ts';
import { createFolder } from '#common/files.ts';
import type { Logger } from '../../../log.ts';
import { toRefusal } from '../../../upstream/client.ts';

/** The process that holds the lock, and the guards of its servers: a guard lives on until its server has ended. */
const Holder = z.object({ name: z.string(), host: z.string(), guards: z.record(z.string(), z.string()) });

/** Lets only one process at a time run the local servers of a DATA_DIR. */
export type GroupsLock = ReturnType<typeof createGroupsLock>;

/** Creates the lock of a folder: a lock file, and a file that describes the holder. */
export function createGroupsLock(folder: string, log: Logger) {
  const holderFile = join(folder, '.holder.json');
  /** The servers that use the lock, with their guards once started. */
  const users = new Map<string, string>();
  let unlock: (() => void) | undefined;

  const readHolder = (): z.infer<typeof Holder> => {
    try {
      return Holder.parse(JSON.parse(readFileSync(holderFile, 'utf8')));
    } catch {
      return { name: 'another process', host: '', guards: {} };
    }
  };
  const writeHolder = (): void => {
    const host = hostname();
    const name = `process ${process.pid} on ${host}`;
    const text = JSON.stringify({ name, host, guards: Object.fromEntries(users) });
    try {
      if (users.size > 0) writeFileSync(holderFile, text, { mode: 0o600 });
      else rmSync(holderFile, { force: true });
    } catch (error) {
      // Not fatal: the servers run, but other processes cannot detect them.
      log.error({ err: error }, 'the holder file of the local servers cannot be written');
    }
  };
  /** Takes the lock; throws if another process holds it or has left a running server. */
  const take = (): (() => void) => {
    let taken: (() => void) | undefined;
    try {
      createFolder(folder, 0o700);
      taken = tryLock(join(folder, '.lock'));
    } catch (error) {
      throw toRefusal(`the local servers cannot be locked: ${(error as Error).message}`);
    }
    const { name, host, guards } = readHolder();
    if (!taken) throw toRefusal(`${name} runs the local servers of this DATA_DIR`);
    if (host !== hostname() || !Object.values(guards).some(isAlive)) return taken;
    taken();
    throw toRefusal(`${name} has ended, but its local servers still run`);
  };
  return {
    /** Takes the lock for a server unless this process holds it. Throws a ProviderError with the reason. */
    acquire(server: string): void {
      unlock ??= take();
      users.set(server, '');
    },
    /** Records the guard of a server. */
    describe(server: string, guard: number | undefined): void {
      users.set(server, identify(guard) ?? '');
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
    isTaken: (server: string): boolean => !unlock && isAlive(readHolder().guards[server] ?? ''),
  };
}

const isAlive = (guard: string): boolean => identify(Number.parseInt(guard, 10)) === guard;

/** Identifies a process by its ID and its start time: IDs are reused. Undefined if it has ended, or without /proc. */
function identify(pid: number | undefined): string | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name of the program may contain spaces and parentheses.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? undefined : `${pid} ${fields[19]}`;
  } catch {
    return undefined;
  }
}
