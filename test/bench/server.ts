import { execFileSync, fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fixedLoop } from './generator.ts';
import type { Load, Measured } from './load.ts';
import { measure, readCpu, readPeak } from './measure.ts';
import { recordAnswers } from './recording.ts';
import type { Case } from './recording.ts';
import { startProgram } from './running.ts';
import type { Running } from './running.ts';
import { formatTable, median, medianRatio, spread } from './statistics.ts';

/** What one server cost in one case, in every round. */
interface Result {
  readonly server: string;
  readonly case: string;
  readonly rounds: { cpu: number; rate: number; p99: number }[];
  peak: number;
}

/** What was measured: the servers, and what a fixed loop cost beside them. */
export interface ServerResults {
  readonly results: readonly Result[];
  readonly noise: readonly number[];
}

const folder = import.meta.dirname;
const root = resolve(folder, '../..');
const connections = 64;

/** What is measured, for how long. */
export interface ServerOptions {
  /** A folder for everything, with `content` and `catalog`. */
  readonly work: string;
  readonly rounds: number;
  readonly lenient: boolean;
  /** How long each server is asked in each case and round. */
  readonly windowSeconds: number;
  readonly say: (line: string) => void;
}

/** Starts all servers on one release, and asks them in turn; the direction changes from round to round. */
export async function runServer({ work, rounds, lenient, windowSeconds, say }: ServerOptions): Promise<ServerResults> {
  const dist = join(work, 'served');
  const sources = ['--content', join(work, 'content'), '--catalog', join(work, 'catalog'), '--out', dist];
  const build = [join(root, 'generator/main.ts'), 'build', ...sources, ...(lenient ? ['--lenient'] : [])];
  execFileSync(process.execPath, build, { cwd: work, stdio: ['ignore', 'ignore', 'pipe'] });

  const started: Running[] = [];
  const driver = fork(join(folder, 'load.ts'), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  try {
    const start = async (name: string, args: string[], env: Record<string, string> = {}): Promise<Running> => {
      const running = await startProgram(name, { program: process.execPath, args, cwd: work, env });
      started.push(running);
      return running;
    };
    const main = join(root, 'server/main.ts');
    const settings = {
      DIST_DIR: dist,
      DATA_DIR: join(work, 'data'),
      RATELIMIT_RPS: '1000000',
      RATELIMIT_BURST: '1000000',
      DNS_SERVERS: 'off',
      RDAP_BOOTSTRAP_URL: 'off',
    };
    const ours = await start('ours', [main], { ...settings, LOG_LEVEL: 'warn' });
    const { recording, cases } = await recordAnswers(ours.port, dist);
    const file = join(work, 'recording.json');
    writeFileSync(file, JSON.stringify(recording));
    const peers: Running[] = [];
    for (const name of ['raw node:http', 'fastify', 'hono']) {
      // oxlint-disable-next-line no-await-in-loop
      peers.push(await start(name, [join(folder, 'peers', `${name.split(' ')[0]}.ts`), file]));
    }
    const logging = await start('ours, with access log', [main], { ...settings, LOG_LEVEL: 'info' });
    const servers = [...peers, ours, logging];

    const ask = async (server: Running, { request, status }: Case, seconds: number) => {
      const before = readCpu(server.pid);
      const measured = await drive(driver, { port: server.port, request, status, connections, seconds });
      if (measured.failure !== undefined) throw new Error(`${server.name}: ${measured.failure}`);
      const cpu = (readCpu(server.pid) - before) / measured.requests;
      return { cpu, rate: measured.requests / measured.seconds, p99: measured.p99 };
    };
    const results = cases.flatMap((one) =>
      servers.map((server) => ({
        one,
        server,
        result: { server: server.name, case: one.name, rounds: [], peak: 0 } as Result,
      })),
    );
    const noise: number[] = [];
    /* oxlint-disable no-await-in-loop -- One at a time: that is what is measured. */
    say('server: warming up');
    for (const { server, one } of results) await ask(server, one, 0.5);
    for (let round = 0; round < rounds; round += 1) {
      say(`server, round ${round + 1} of ${rounds}`);
      noise.push((await measure(fixedLoop)).cpu);
      for (const { server, one, result } of round % 2 === 0 ? results : results.toReversed()) {
        result.rounds.push(await ask(server, one, windowSeconds));
      }
    }
    /* oxlint-enable no-await-in-loop */
    for (const { server, result } of results) result.peak = readPeak(server.pid);
    return { results: results.map(({ result }) => result), noise };
  } finally {
    driver.kill();
    await Promise.all(started.map((running) => running.stop()));
  }
}

async function drive(driver: ChildProcess, load: Load): Promise<Measured> {
  const answer = once(driver, 'message');
  driver.send(load);
  const [measured] = (await answer) as [Measured];
  return measured;
}

/** The figures of all rows, as medians and ratios. */
export function summarizeServer({ results, noise }: ServerResults) {
  const rows = results.map((result) => {
    const figures = (name: string, figure: 'cpu' | 'rate' | 'p99'): number[] =>
      results
        .find((other) => other.case === result.case && other.server === name)!
        .rounds.map((round) => round[figure]);
    const own = (figure: 'cpu' | 'rate' | 'p99'): number[] => figures(result.server, figure);
    return {
      case: result.case,
      server: result.server,
      cpuMicroseconds: median(own('cpu')) * 1e6,
      cpuSpread: spread(own('cpu')),
      cpuToRaw: medianRatio(own('cpu'), figures('raw node:http', 'cpu')),
      requestsPerSecond: median(own('rate')),
      rateToFastify: medianRatio(own('rate'), figures('fastify', 'rate')),
      p99Milliseconds: median(own('p99')),
      peakMegabytes: result.peak,
    };
  });
  return { rows, noise: { cpuSeconds: median(noise), cpuSpread: spread(noise) } };
}

/** The summary as people read it. */
export function printServer({ rows, noise }: ReturnType<typeof summarizeServer>): string {
  const head = ['server', 'CPU us', '±', 'CPU/raw', 'requests/s', 'rate/fastify', 'p99 ms', 'peak MB'];
  const table = formatTable(
    head,
    rows.map((row) => [
      `${row.case}: ${row.server}`,
      row.cpuMicroseconds.toFixed(1),
      `${(row.cpuSpread * 100).toFixed(0)} %`,
      row.cpuToRaw.toFixed(2),
      row.requestsPerSecond.toFixed(0),
      row.rateToFastify.toFixed(2),
      row.p99Milliseconds.toFixed(1),
      row.peakMegabytes.toFixed(0),
    ]),
  );
  return `${table}\n\nfixed loop (noise): ${noise.cpuSeconds.toFixed(2)} s CPU ± ${(noise.cpuSpread * 100).toFixed(0)} %; ${connections} connections, CPU for each request`;
}
