import { fixedLoop, toBefore } from './checkouts.ts';
import type { BenchOptions, Served } from './checkouts.ts';
import type { Measured } from './client.ts';
import { forkClient, measure, readPeak } from './processes.ts';
import { serverNames, startServers } from './servers.ts';
import type { ServerCase } from './servers.ts';
import { measureInTurn, noiseName } from './table.ts';
import type { Column, Figures, Section } from './table.ts';

const many = 1000;
/** The case with a thousand connections at once. */
export const crowdedCase = `gzip, ${many} connections`;
const toBase = (base: string) => (name: string) => `${name.split(': ')[0]}: ${base}`;
const toRaw = toBase(serverNames.raw);
/** Only rows that do the same work are compared with h3. */
const toH3 = (name: string) => (/: (?:ours|before)$/.test(name) ? toBase(serverNames.h3)(name) : undefined);
const columns: readonly Column[] = [
  { head: 'CPU us', figure: 'cpuMicroseconds', digits: 1 },
  { head: '±', figure: 'cpuMicroseconds', digits: 0, isSpread: true },
  { head: 'CPU/raw', figure: 'cpuMicroseconds', digits: 2, base: toRaw },
  { head: 'CPU/h3', figure: 'cpuMicroseconds', digits: 2, base: toH3 },
  { head: 'CPU/before', figure: 'cpuMicroseconds', digits: 2, base: toBefore },
  { head: 'requests/s', figure: 'requestsPerSecond', digits: 0 },
  { head: 'rate/fastify', figure: 'requestsPerSecond', digits: 2, base: toBase(serverNames.fastify) },
  { head: 'p99 ms', figure: 'p99Milliseconds', digits: 1 },
  { head: 'p99/raw', figure: 'p99Milliseconds', digits: 2, base: toRaw },
  { head: 'resident MB', figure: 'residentMegabytes', digits: 0 },
  { head: 'peak MB', figure: 'peakMegabytes', digits: 0 },
];

/** A row: requests to a server, or the fixed workload if it has no server case. */
interface Turn {
  readonly name: string;
  readonly serverCase?: ServerCase;
  readonly connections: number;
}

/**
 * Starts all servers on one release, and measures them in turn with a number of requests for each server, case and
 * round. Throws if one sends an unexpected response.
 */
export async function runServer(
  { work, rounds, chosen, report }: BenchOptions,
  served: readonly Served[],
  requests: number,
): Promise<{ section: Section; recording: string }> {
  const { serverCases, recording, notes, stop } = await startServers(work, served);
  const client = forkClient<Measured>();
  const drive = async (
    { name, case: { headers, method, target, status }, server: { port, pid } }: ServerCase,
    connections: number,
    count: number,
  ): Promise<Figures> => {
    const lines = Object.entries({ Host: `127.0.0.1:${port}`, ...headers }).map((header) => `${header.join(': ')}\r\n`);
    const request = `${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n`;
    const load = { port, pid, request, status, connections, requests: count };
    const measured = await client.measure(load, () => name);
    return {
      cpuMicroseconds: (measured.cpuSeconds / count) * 1e6,
      requestsPerSecond: count / measured.seconds,
      p99Milliseconds: measured.p99Milliseconds,
      residentMegabytes: measured.residentMegabytes,
      peakMegabytes: readPeak(pid),
    };
  };

  try {
    const isSelected = ({ name, server }: ServerCase): boolean => server.name === serverNames.raw || chosen(name);
    const turns: Turn[] = serverCases
      .filter(isSelected)
      .map((serverCase) => ({ name: serverCase.name, serverCase, connections: 64 }));
    const crowdServers = [serverNames.raw, serverNames.fastify, serverNames.nginx, serverNames.ours, 'before'];
    const compressed = turns.filter(
      (turn) => turn.serverCase!.case.name === 'gzip' && crowdServers.includes(turn.serverCase!.server.name),
    );
    const crowded = compressed.map((turn) => ({
      ...turn,
      name: turn.name.replace('gzip', crowdedCase),
      connections: many,
    }));
    const all: Turn[] = [{ name: noiseName, connections: 0 }, ...turns, ...crowded];
    for (const server of new Set(turns.map((turn) => turn.serverCase!.server))) {
      report(`server: warming up ${server.name}`);
      const own = turns.filter((turn) => turn.serverCase!.server === server);
      // One at a time, as they are measured.
      await warmUp(own, async (turn) => (await drive(turn.serverCase!, turn.connections, requests)).cpuMicroseconds!);
    }
    const [first, ...rows] = await measureInTurn(all, rounds, async (turn, round) => {
      report(`server, round ${round + 1} of ${rounds}: ${turn.name}`);
      if (turn.serverCase === undefined) return measure(fixedLoop);
      // Each of a thousand connections must send more than a few requests.
      return drive(turn.serverCase, turn.connections, turn.connections === many ? requests * 3 : requests);
    });
    const more = `64 connections if the row names no number; each sends the next request after the response; CPU for each request.`;
    return { section: { name: 'server', columns, rows, noise: first!, notes: [more, ...notes] }, recording };
  } finally {
    client.kill();
    await stop();
  }
}

/** Repeats all cases of a server until they get no cheaper: the more code a server has, the later the JIT is done. */
async function warmUp(turns: readonly Turn[], run: (turn: Turn) => Promise<number>): Promise<void> {
  const atLeast = 3;
  const atMost = 15;
  let least = Infinity;
  for (let pass = 1; pass <= atMost; pass += 1) {
    let cost = 0;
    for (const turn of turns) cost += await run(turn);
    if (pass >= atLeast && cost > least * 0.97) return;
    least = Math.min(least, cost);
  }
}
