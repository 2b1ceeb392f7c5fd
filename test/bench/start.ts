import { appendFileSync, globSync, readlinkSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { buildRelease, copyFolder, report, switchTo, toBefore } from './bench.ts';
import type { Bench, Checkout } from './bench.ts';
import type { SteadyLoad } from './client.ts';
import { forkClient, readCpu, readMemory } from './processes.ts';
import { fastify, findTarget, raw, record, servedBy, startServer, toOwn, toPeer } from './servers.ts';
import type { Running, ToCommand } from './servers.ts';
import { choose, measureInTurn } from './table.ts';
import type { Column, Figures, Item, Section } from './table.ts';

const toRaw = (): string => `start: ${raw}`;
const toSmall = (row: string): string => `start: ${row.includes('before') ? 'before' : 'ours'}, small release`;
const startColumns: readonly Column[] = [
  ['ms', 'latencyMilliseconds'],
  ['ms/raw', 'latencyMilliseconds', toRaw],
  ['CPU ms', 'cpuMilliseconds'],
  ['CPU/raw', 'cpuMilliseconds', toRaw],
  ['resident MB', 'residentMegabytes'],
  ['resident/small', 'residentMegabytes', toSmall],
  ['ms/before', 'latencyMilliseconds', toBefore],
  ['resident/before', 'residentMegabytes', toBefore],
];
const newReleaseColumns: readonly Column[] = [
  ['p99 ms', 'p99Milliseconds'],
  ['p99/before', 'p99Milliseconds', toBefore],
  ['until it is served s', 'wallSeconds'],
];

/** Measures the start of a server until it serves an article. Throws if the server does not respond. */
function createItem(
  name: string,
  toCommand: ToCommand,
  target: string,
  measureOne = measureStart,
  prepare?: () => void,
): Item {
  return {
    name,
    async run() {
      prepare?.();
      const server = await startServer(name, toCommand, target);
      const figures = await measureOne(server);
      await server.kill();
      return figures;
    },
  };
}

async function measureStart({ pid, startMs }: Running): Promise<Figures> {
  return {
    latencyMilliseconds: startMs,
    cpuMilliseconds: readCpu(pid) * 1000,
    residentMegabytes: readMemory(pid, 'VmRSS'),
  };
}

/** Starts each server in each round. Also measures our memory with releases of two sizes. */
export async function runStart({ checkouts, rounds, isChosen }: Bench): Promise<Section> {
  const target = findTarget(servedBy(checkouts[0]!));
  const items = [
    ...[raw, fastify].map((name) => createItem(`start: ${name}`, toPeer(name), target)),
    ...checkouts.flatMap((checkout) => createItems(checkout, target)),
  ];
  const rows = await measureInTurn('start', rounds, choose(items, startColumns, isChosen));
  const notes = [
    'start: from the start of the process to its first 200, for an article, and the resident memory at that time.',
    'every article read: once each uncompressed, with gzip and with Brotli.',
  ];
  return { name: 'start and memory', columns: startColumns, rows, notes };
}

/** Rows of one checkout: with a release of its sample content, and of the corpus. */
function createItems(checkout: Checkout, target: string): Item[] {
  const { name, root, generator } = checkout;
  const small = `small-${name}`;
  const sources = ['content', 'catalog'].flatMap((folder) => [`--${folder}`, join(root, folder)]);
  execFileSync(process.execPath, [generator, 'build', ...sources, '--out', small], { stdio: 'pipe' });
  const corpus = toOwn(checkout, 'quiet');
  return [
    createItem(`start: ${name}, small release`, toOwn(checkout, 'quiet', small), findTarget(small)),
    createItem(`start: ${name}, corpus`, corpus, target),
    createItem(`every article read: ${name}, corpus`, corpus, target, readAll(servedBy(checkout))),
  ];
}

function readAll(dist: string) {
  const folders = { kb: 'knowledgebase', blog: 'blog' };
  const targets = Object.entries(folders).flatMap(([part, folder]) =>
    globSync('*/*.json', { cwd: join(dist, 'current/public/v1', part, 'article') }).map(
      (file) => `/v1/${part}/article?path=/${folder}/${file.slice(0, -'.json'.length)}`,
    ),
  );
  return async ({ name, pid, port }: Running): Promise<Figures> => {
    for (const encoding of ['identity', 'gzip', 'br']) {
      for (const target of targets) {
        // Sequential, so memory holds only the cached responses.
        const request = { method: 'GET', target, headers: { 'Accept-Encoding': encoding } };
        const { status } = await record(port, request);
        if (status !== 200) throw new Error(`${name}: ${status} for ${target}`);
      }
    }
    return { residentMegabytes: readMemory(pid, 'VmRSS') };
  };
}

/**
 * Requests an article at a steady rate while `current` switches to a release with a change of this article. Throws if
 * the new release is never served.
 */
export async function runNewRelease(bench: Bench): Promise<Section> {
  const { checkouts, rounds, isChosen } = bench;
  const target = findTarget(servedBy(checkouts[0]!));
  copyFolder('content', 'changed-content');
  const article = new URL(target, 'http://localhost').searchParams.get('path');
  appendFileSync(join('changed-content', `${article}.md`), '\nIt changed.\n');
  const items = checkouts.flatMap((checkout) => {
    const { name } = checkout;
    const link = join(servedBy(checkout), 'current');
    const first = readlinkSync(link);
    report(`new release: building the second release of ${name}`);
    buildRelease(bench, checkout, servedBy(checkout), 'changed-content');
    const change = { link, release: readlinkSync(link) };
    const toCommand = toOwn(checkout, 'quiet');
    const reset = (): void => switchTo(link, first);
    return [
      createItem(`no new release: ${name}`, toCommand, target, loadSteadily(target), reset),
      createItem(`a new release is loaded: ${name}`, toCommand, target, loadSteadily(target, change), reset),
    ];
  });
  const rows = await measureInTurn('new release', rounds, choose(items, newReleaseColumns, isChosen));
  const notes = [
    'p99: an article with gzip, 500 requests/s; from the switch to the first response of the new release.',
  ];
  return { name: 'new release', columns: newReleaseColumns, rows, notes };
}

function loadSteadily(target: string, change?: SteadyLoad['change']) {
  const request = { method: 'GET', target, headers: { 'Accept-Encoding': 'gzip' } };
  return async ({ port, printed }: Running): Promise<Figures> => {
    const client = forkClient();
    const figures = await client.measure({ port, request, change }, printed);
    client.kill();
    return figures;
  };
}
