import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { readFile, readdir } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { tryLock } from '#common/file-lock.ts';
import { createFolder } from '#common/files.ts';
import { unknownStats } from '#contract/console-stream.ts';
import type { ConsoleStats } from '#contract/console-stream.ts';
import type { Logger } from '../../../log.ts';
import { toRefusal } from '../../../upstream/client.ts';

/** A process group, and when its first process started. */
const Group = z.object({ id: z.int(), started: z.string().optional() });
type Group = z.infer<typeof Group>;

const Holder = z.object({ pid: z.int(), host: z.string(), since: z.string(), groups: z.record(z.string(), Group) });

/** The lock on the local servers of a DATA_DIR: only one process at a time runs servers of this folder. */
export type GroupsLock = ReturnType<typeof createGroupsLock>;

/** Creates the lock of a folder: a locked file, and one that says who holds the lock, and for which groups. */
export function createGroupsLock(folder: string, log: Logger) {
  const holderFile = join(folder, '.holder.json');
  /** The servers that use the lock; their groups as soon as they have one. */
  const users = new Map<string, Group | undefined>();
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
      // The servers run, and only other processes do not learn of them.
      log.error({ err: error }, 'the holder of the local servers cannot be written');
    }
  };
  /** Takes the lock; throws if another process holds it, or has left a group that still runs. */
  const take = (): (() => void) => {
    let taken: (() => void) | undefined;
    try {
      createFolder(folder, 0o700);
      taken = tryLock(join(folder, '.lock'));
    } catch (error) {
      throw toRefusal(`the lock of the local servers cannot be taken: ${(error as Error).message}`);
    }
    const holder = readHolder();
    const name = holder ? `process ${holder.pid} on ${holder.host} since ${holder.since}` : 'another process';
    if (!taken) throw toRefusal(`${name} runs the local servers of this DATA_DIR`);
    if (!holder || holder.host !== hostname() || !Object.values(holder.groups).some(isAlive)) return taken;
    taken();
    throw toRefusal(`${name} has ended, but its local servers have not yet`);
  };
  return {
    /** Takes the lock for a server, unless this process holds it. Throws a ProviderError that says why it cannot. */
    acquire(server: string): void {
      unlock ??= take();
      if (users.size === 0) since = new Date().toISOString();
      users.set(server, undefined);
    },
    describe(server: string, id: number): void {
      users.set(server, { id, started: readProcess(id)?.started });
      writeHolder();
    },
    /** Ends the use of the lock by a server, if it uses it; after the last one another process may take it. */
    release(server: string): void {
      if (!users.delete(server)) return;
      writeHolder();
      if (users.size > 0) return;
      unlock?.();
      unlock = undefined;
    },
    /** Whether another process runs the server, or the server of a dead one has not ended yet. */
    isTaken(server: string): boolean {
      // To try the lock could refuse a start of another process, so it is tried only if that one may run the server.
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

const isNumber = (name: string): boolean => /^\d+$/.test(name);

/** Whether a group outlives its killed holder until its guard ends it. After another start it is another group. */
function isAlive({ id, started }: Group): boolean {
  const names = existsSync('/proc') ? readdirSync('/proc') : [];
  const found = names.filter(isNumber).map(readProcess);
  const members = found.filter((process) => process?.group === id && process.state !== 'Z');
  const leader = members.find((process) => process?.pid === String(id));
  return members.length > 0 && (!leader || leader.started === started);
}

function readProcess(pid: string | number) {
  try {
    return { pid, ...parseStat(readFileSync(`/proc/${pid}/stat`, 'utf8')) };
  } catch {
    return undefined;
  }
}

/** A clock tick of /proc; it is part of the interface of Linux to programs. */
const tickMs = 10;

/** Parses /proc/<pid>/stat. The name of the program, in parentheses, may hold spaces and parentheses. */
function parseStat(text: string) {
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const cpuMs = (Number(fields[11]) + Number(fields[12])) * tickMs;
  return { state: fields[0], group: Number(fields[2]), cpuMs, started: fields[19] };
}

/** Reads the CPU, over half a second, and the memory of a group; the machine shares the rest. Never rejects. */
export async function readUsage(group: number): Promise<ConsoleStats> {
  const first = await readSample(group);
  await sleep(500, undefined, { ref: false });
  const last = await readSample(group);
  if (first.cpuMs.size === 0 || last.cpuMs.size === 0) return unknownStats;
  const used = [...last.cpuMs].reduce((sum, [pid, ms]) => sum + Math.max(0, ms - (first.cpuMs.get(pid) ?? 0)), 0);
  const cpu = Math.round((used / (last.at - first.at)) * 1000) / 10;
  return { ...unknownStats, cpu, memory_bytes: last.memoryBytes };
}

/** The CPU time of each process of a group, and the memory of all; empty if there is none, or no /proc. */
async function readSample(group: number) {
  const at = performance.now();
  const cpuMs = new Map<string, number>();
  let memoryBytes = 0;
  const add = async (pid: string): Promise<void> => {
    const found = parseStat(await readText(`/proc/${pid}/stat`));
    if (found.group !== group) return;
    cpuMs.set(pid, found.cpuMs);
    const [, kilobytes = '0'] = /^VmRSS:\s+(\d+) kB$/m.exec(await readText(`/proc/${pid}/status`)) ?? [];
    memoryBytes += Number(kilobytes) * 1024;
  };
  const names = await readdir('/proc').catch(() => []);
  await Promise.all(names.filter(isNumber).map(add));
  return { at, cpuMs, memoryBytes };
}

const readText = (file: string): Promise<string> => readFile(file, 'utf8').catch(() => '');
