import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { z } from 'zod';
import { createFolder } from '#common/folder.ts';
import { toRefusal } from '../../../upstream/reply.ts';

/** A lock on a local server, so that only one of several instances with the same DATA_DIR runs it. */
export interface ServerLock {
  /** Takes the lock. Throws a ProviderError that says who holds it, or that the server of a dead holder is still ending. */
  acquire(): void;
  /** Notes who holds the lock, and the process group of the server. */
  describe(group: number): void;
  /** Releases the lock; does nothing if it is not held. */
  release(): void;
  /** Whether another instance runs the server, or the server of a dead one has not ended yet. */
  isTaken(): boolean;
}

const Holder = z.object({
  pid: z.int(),
  host: z.string(),
  since: z.string(),
  /** The process group of the server, and when its first process started. */
  group: z.int(),
  groupStarted: z.string().optional(),
});
type Holder = z.infer<typeof Holder>;

/**
 * Creates the lock of a server: SQLite's lock on an empty file, which the operating system releases when the process ends,
 * also by SIGKILL. So no process ID decides who holds it. A file beside it says who does.
 */
export function createServerLock(base: string): ServerLock {
  const holderFile = `${base}.holder.json`;
  let held: DatabaseSync | undefined;
  return {
    acquire() {
      try {
        createFolder(dirname(base), 0o700);
        held = lockFile(`${base}.lock`);
      } catch (error) {
        if (isBusy(error)) throw toRefusal(`${toText(readHolder(holderFile))} runs this local server`);
        throw toRefusal(`the lock of a local server cannot be taken: ${(error as Error).message}`);
      }
      const holder = readHolder(holderFile);
      if (!holder || !isGroupAlive(holder)) return;
      held.close();
      held = undefined;
      throw toRefusal(`${toText(holder)} has ended, but its server has not yet`);
    },
    describe(group) {
      const groupStarted = readProcess(group)?.started;
      const holder: Holder = {
        pid: process.pid,
        host: hostname(),
        since: new Date().toISOString(),
        group,
        groupStarted,
      };
      writeFileSync(holderFile, JSON.stringify(holder), { mode: 0o600 });
    },
    release() {
      if (!held) return;
      rmSync(holderFile, { force: true });
      held.close();
      held = undefined;
    },
    isTaken() {
      // To try the lock could refuse a start of another instance, so it is tried only if there may be a holder.
      if (held || !existsSync(holderFile)) return false;
      let lock: DatabaseSync;
      try {
        lock = lockFile(`${base}.lock`);
      } catch {
        return true;
      }
      const holder = readHolder(holderFile);
      const runs = holder !== undefined && isGroupAlive(holder);
      if (!runs) rmSync(holderFile, { force: true });
      lock.close();
      return runs;
    },
  };
}

/** Opens a file and locks it; throws SQLITE_BUSY if another process has locked it. */
function lockFile(path: string): DatabaseSync {
  const file = new DatabaseSync(path, { timeout: 0 });
  try {
    file.exec('BEGIN EXCLUSIVE');
    return file;
  } catch (error) {
    file.close();
    throw error;
  }
}

function isBusy(error: unknown): boolean {
  return (error as { errcode?: number }).errcode === 5;
}

function readHolder(file: string): Holder | undefined {
  try {
    return Holder.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    return undefined;
  }
}

function toText(holder: Holder | undefined): string {
  return holder ? `process ${holder.pid} on ${holder.host} since ${holder.since}` : 'another process';
}

/**
 * Whether the process group of a holder that was killed still runs: its guard ends it after the grace period. If the first
 * process started at another time, the ID belongs to another group now. Only Linux lists its processes.
 */
function isGroupAlive({ host, group, groupStarted }: Holder): boolean {
  if (host !== hostname()) return false;
  const members = listProcesses().filter((one) => one.group === group && one.state !== 'Z');
  const leader = members.find(({ pid }) => pid === group);
  return members.length > 0 && (!leader || leader.started === groupStarted);
}

function listProcesses() {
  try {
    return readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? (readProcess(Number(name)) ?? []) : []));
  } catch {
    return [];
  }
}

/** Reads /proc/<pid>/stat; undefined if the process has ended, or there is no such file system. */
function readProcess(pid: number) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name of the program, in parentheses, may hold spaces and parentheses.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { pid, state: fields[0], group: Number(fields[2]), started: fields[19] };
  } catch {
    return undefined;
  }
}
