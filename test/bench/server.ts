import { writeFileSync } from 'node:fs';
import { buildRelease, isInstalled, report, toBefore } from './bench.ts';
import type { Bench } from './bench.ts';
import type { Case, Recorded, Request } from './peers/answers.ts';
import { forkClient } from './processes.ts';
import {
  fastify,
  findTarget,
  h3,
  headerOf,
  raw,
  record,
  recordingFile,
  servedBy,
  startServer,
  toNginx,
  toOwn,
  toPeer,
} from './servers.ts';
import type { Running, ToCommand } from './servers.ts';
import { choose, formatSpread, measureInTurn, noise, readFigure } from './table.ts';
import type { Column, Figures, Section } from './table.ts';

const nginx = 'nginx';
const toRaw = (row: string): string => row.replace(/: .*/, `: ${raw}`);
const toFastify = (row: string): string => row.replace(/: .*/, `: ${fastify}`);
/** Compare only rows with equal work with h3. */
const toH3 = (row: string): string => row.replace(/: (?:ours|before)$/, `: ${h3}`);
const columns: readonly Column[] = [
  ['CPU us', 'cpuMicroseconds'],
  ['CPU/raw', 'cpuMicroseconds', toRaw],
  ['CPU/h3', 'cpuMicroseconds', toH3],
  ['CPU/before', 'cpuMicroseconds', toBefore],
  ['requests/s', 'requestsPerSecond'],
  ['rate/fastify', 'requestsPerSecond', toFastify],
  ['p99 ms', 'p99Milliseconds'],
  ['p99/raw', 'p99Milliseconds', toRaw],
  ['resident MB', 'residentMegabytes'],
  ['peak MB', 'peakMegabytes'],
];

/** A case for a server, and the name of its row. */
interface Turn {
  readonly name: string;
  readonly case: Case;
  readonly server: Running;
}

/**
 * Starts all servers on one release, and measures them in turn with the same number of requests for each server, case
 * and round. Throws after an unexpected response.
 */
export async function runServer(bench: Bench): Promise<Section> {
  for (const checkout of bench.checkouts) buildRelease(bench, checkout, servedBy(checkout));
  const { servers, turns: all, notes } = await startServers(bench);
  const client = forkClient();
  const drive = async (turn: Turn, connections: number, requests: number): Promise<Figures> => {
    const { port, pid } = turn.server;
    const { recorded, ...request } = turn.case;
    return client.measure({ port, pid, request, status: recorded.status, connections, requests }, () => turn.name);
  };

  const turns = choose(all, columns, bench.isChosen);
  for (const server of servers) {
    report(`server: warming up ${server.name}`);
    const own = turns.filter((turn) => turn.server === server);
    await warmUp(own, async (turn) => (await drive(turn, 64, bench.requests)).cpuMicroseconds!);
  }
  const items = turns.map((turn) => ({ name: turn.name, run: () => drive(turn, 64, bench.requests) }));
  const crowded = turns
    .filter((turn) => turn.case.name === 'gzip')
    .map((turn) => ({
      name: turn.name.replace('gzip', 'gzip, 1000 connections'),
      // Each of the thousand connections must send more than a few requests.
      run: () => drive(turn, 1000, bench.requests * 3),
    }));
  const [fixed, ...rows] = await measureInTurn('server', bench.rounds, [noise, ...items, ...crowded]);
  client.kill();
  for (const server of servers) await server.kill();
  const [cpu, wall] = (['cpuSeconds', 'wallSeconds'] as const).map((figure) =>
    readFigure([fixed!], noise.name, figure)!.toFixed(2),
  );
  const spread = formatSpread([fixed!], noise.name, 'cpuSeconds');
  const more = [
    `${noise.name}: ${cpu} s CPU ± ${spread}, ${wall} s wall`,
    '64 connections if the row names no number; each sends the next request after the response; CPU for each request.',
  ];
  return { name: 'server', columns, rows, notes: [...more, ...notes] };
}

/** Repeats all cases of a server until they stop getting cheaper: more code takes longer to optimise (JIT). */
async function warmUp(turns: readonly Turn[], run: (turn: Turn) => Promise<number>): Promise<void> {
  const atLeast = 3;
  const atMost = 15;
  let least = Infinity;
  for (let pass = 1; pass <= atMost; pass += 1) {
    let cost = 0;
    // Sequential, like the measurements.
    for (const turn of turns) cost += await run(turn);
    if (pass >= atLeast && cost > least * 0.97) return;
    least = Math.min(least, cost);
  }
}

/**
 * Starts all servers sequentially, so starts do not compete for the CPU; the peers send our recorded responses. Returns
 * the cases with a checked response for each server.
 */
async function startServers({ checkouts }: Bench) {
  const servers: Running[] = [];
  const run = async (name: string, toCommand: ToCommand): Promise<Running> => {
    const server = await startServer(name, toCommand);
    servers.push(server);
    return server;
  };
  const own: Record<'quiet' | 'logged' | 'limited', Running[]> = { quiet: [], logged: [], limited: [] };
  for (const checkout of checkouts) {
    for (const mode of ['quiet', 'logged', 'limited'] as const) {
      own[mode].push(await run(checkout.name, toOwn(checkout, mode)));
    }
  }
  const cases = await recordCases(own.quiet[0]!.port, own.limited[0]!.port, findTarget(servedBy(checkouts[0]!)));
  writeFileSync(recordingFile, JSON.stringify(cases));
  const [identity, gzip, ...others] = cases;
  const first = await run(raw, toPeer(raw));
  const article = [first, await run(fastify, toPeer(fastify))];
  const logged = [first, await run(h3, toPeer(h3, '1000000')), ...own.logged];
  const limited = [first, await run(h3, toPeer(h3, '1')), ...own.limited];
  const hasNginx = isInstalled(nginx, '-v');
  if (hasNginx) article.push(await run(nginx, toNginx(identity!, gzip!)));
  article.push(...own.quiet);

  const turns = [gzip!, ...others].flatMap((one) => {
    const { status } = one.recorded;
    const answering = one.target === identity!.target ? article : status === 429 ? limited : logged;
    return answering.map((server) => ({ name: `${one.name}: ${server.name}`, case: one, server }));
  });
  const kilobytes = ({ recorded }: Case): string => (Buffer.from(recorded.body, 'base64').length / 1000).toFixed(1);
  const notes = [
    `The article has ${kilobytes(identity!)} kB, compressed ${kilobytes(gzip!)} kB.`,
    `Cases other than the article run with an access log to /dev/null; ${raw} has none.`,
    ...(hasNginx ? [] : [`Left out: ${nginx}; it is not installed.`]),
  ];
  return { servers, turns: await Promise.all(turns.map(checkAnswer)), notes };
}

/**
 * Records one response of our server for each case, for the peers to repeat. For the 429, a second server allows one
 * request a second.
 */
async function recordCases(port: number, limitedPort: number, target: string): Promise<Case[]> {
  const etag = headerOf(await record(port, { method: 'GET', target, headers: {} }), 'etag');
  const requests: readonly (readonly [name: string, status: number, request: Partial<Case>])[] = [
    ['identity', 200, { target }],
    ['gzip', 200, { target, headers: { 'Accept-Encoding': 'gzip' } }],
    ['304', 304, { target, headers: { 'If-None-Match': etag } }],
    ['404', 404, { target: '/v1/kb/article?path=/knowledgebase/nowhere/nothing' }],
    ['405', 405, { target: '/v1/plans', method: 'DELETE' }],
    ['429', 429, { target: '/v1/kb/list' }],
    ['401', 401, { target: '/v1/hosting/game/logs/demo/latest' }],
    ['/v1/info', 200, { target: '/v1/info' }],
  ];
  const cases: Case[] = [];
  for (const [name, status, changes] of requests) {
    const one = { name, method: 'GET', target, headers: {}, ...changes };
    const recorded = await ask(status === 429 ? limitedPort : port, one, status);
    if (recorded.status !== status) throw new Error(`${name}: ours sent ${recorded.status}`);
    cases.push({ ...one, recorded });
  }
  return cases;
}

/** Records the response to a request; for a 429, of the first request above the limit: on a busy machine not the second. */
async function ask(port: number, request: Request, status: number): Promise<Recorded> {
  const most = status === 429 ? 20 : 0;
  let answer = await record(port, request);
  for (let sent = 0; sent < most && answer.status === 200; sent += 1) answer = await record(port, request);
  return answer;
}

/**
 * Checks a server's response: peers must send our bytes, h3 also our headers. The `before` checkout and nginx have
 * different ETags. The `before` checkout may have different bodies, so only its status is checked.
 */
async function checkAnswer(turn: Turn): Promise<Turn> {
  const { name, server } = turn;
  const { recorded: expected, ...request } = turn.case;
  const hasOwnTag = expected.status === 304 && [nginx, 'before'].includes(server.name);
  const headers = hasOwnTag
    ? { 'If-None-Match': headerOf(await record(server.port, { ...request, headers: {} }), 'etag') }
    : request.headers;
  const answer = await ask(server.port, { ...request, headers }, expected.status);
  const sameBody = server.name === 'before' || answer.body === expected.body;
  const sameHeaders = server.name !== h3 || comparable(answer) === comparable(expected);
  if (answer.status === expected.status && sameBody && sameHeaders) return { ...turn, case: { ...turn.case, headers } };
  const text = [comparable(answer), '', Buffer.from(answer.body, 'base64').toString()].join('\n');
  throw new Error(`${name} sent ${answer.status}:\n${text}\nexpected:\n${comparable(expected)}`);
}

/** Headers that differ between responses. */
const varying = /^(?:x-request-id|retry-after|ratelimit.*)$/i;

/** Normalises the headers of a response for comparison between servers. */
function comparable({ headers }: Recorded): string {
  const lines = headers.map(([name, value]) => `${name}: ${varying.test(name) ? '' : value.replaceAll(', ', ',')}`);
  return lines
    .map((line) => line.toLowerCase())
    .toSorted()
    .join('\n');
}
