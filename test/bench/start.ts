import { appendFileSync, globSync, mkdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { findFreePort } from '../helpers/free-port.ts';
import { buildRelease, copyFolder, publicFolder, switchTo, toBefore, toName, toOurs } from './checkouts.ts';
import type { BenchOptions, Served } from './checkouts.ts';
import type { SteadyLoad, SteadyMeasured } from './client.ts';
import { forkClient, readCpu, readResident, start } from './processes.ts';
import type { Command, Started } from './processes.ts';
import { findTarget, firstAnswer, record, serverNames, toOwn, toPeer } from './servers.ts';
import { measureInTurn } from './table.ts';
import type { Column, Figures, Section } from './table.ts';

/** The names of the rows that others are compared with, or that have a target. */
export const startNames = {
  raw: `start: ${serverNames.raw}`,
  small: `start: ${serverNames.ours}, small release`,
  corpus: `start: ${serverNames.ours}, corpus`,
  read: `every article read: ${serverNames.ours}, corpus`,
  unchanged: `no new release: ${serverNames.ours}`,
  changed: `a new release is loaded: ${serverNames.ours}`,
} as const;
const toRaw = (name: string) => (name.startsWith('start: ') ? startNames.raw : undefined);
const toSmall = (name: string) => toName({ name: name.includes('before') ? 'before' : 'ours' }, startNames.small);
const startColumns: readonly Column[] = [
  { head: 'ms', figure: 'latencyMilliseconds', digits: 0 },
  { head: '±', figure: 'latencyMilliseconds', digits: 0, isSpread: true },
  { head: 'ms/raw', figure: 'latencyMilliseconds', digits: 2, base: toRaw },
  { head: 'CPU ms', figure: 'cpuMilliseconds', digits: 0 },
  { head: 'CPU/raw', figure: 'cpuMilliseconds', digits: 2, base: toRaw },
  { head: 'resident MB', figure: 'residentMegabytes', digits: 0 },
  { head: 'resident/small', figure: 'residentMegabytes', digits: 2, base: toSmall },
  { head: 'ms/before', figure: 'latencyMilliseconds', digits: 2, base: toBefore },
  { head: 'resident/before', figure: 'residentMegabytes', digits: 2, base: toBefore },
];
const newReleaseColumns: readonly Column[] = [
  { head: 'p99 ms', figure: 'p99Milliseconds', digits: 1 },
  { head: '±', figure: 'p99Milliseconds', digits: 0, isSpread: true },
  { head: 'p99/before', figure: 'p99Milliseconds', digits: 2, base: toBefore },
  { head: 'until it is served s', figure: 'wallSeconds', digits: 2 },
];

/** A server that is started in each round, and what is measured. */
interface Turn {
  readonly name: string;
  readonly target: string;
  readonly toCommand: (port: number) => Command;
  /** If given, it measures the running server instead of its start. */
  readonly measureRunning?: (server: Started, port: number) => Promise<Figures>;
}

/** Starts the server of a turn, waits until it serves an article, and measures. Throws if it does not respond. */
async function measureTurn({ name, target, toCommand, measureRunning }: Turn): Promise<Figures> {
  const port = await findFreePort();
  const started = performance.now();
  const server = start(toCommand(port));
  try {
    await firstAnswer(name, server, port, target);
    const latencyMilliseconds = performance.now() - started;
    const pid = server.child.pid!;
    const cpuMilliseconds = readCpu(pid) * 1000;
    if (measureRunning) return await measureRunning(server, port);
    return { latencyMilliseconds, cpuMilliseconds, residentMegabytes: readResident(pid) };
  } finally {
    await server.kill();
  }
}

/**
 * Starts each server in each round. Also measures the memory of ours with releases of two sizes. `recording` is the
 * file of recorded responses, for the peers.
 */
export async function runStart(options: BenchOptions, served: readonly Served[], recording: string): Promise<Section> {
  const { rounds, chosen, report } = options;
  const target = findTarget(served[0]!.dist);
  const peers = [serverNames.raw, serverNames.fastify];
  const turns: Turn[] = [
    ...peers.map((name) => ({ name: `start: ${name}`, target, toCommand: toPeer(name, recording) })),
    ...served.flatMap((one) => createTurns(options, one, target)),
  ];
  const always: readonly string[] = [startNames.raw, startNames.small];
  const selected = turns.filter(({ name }) => always.includes(toOurs(name)) || chosen(name));
  const rows = await measureInTurn(selected, rounds, async (turn, round) => {
    report(`start, round ${round + 1} of ${rounds}: ${turn.name}`);
    return measureTurn(turn);
  });
  const notes = [
    'start: from the start of the process to its first 200, for an article, and the resident memory at that time.',
    'every article read: once each uncompressed, with gzip and with Brotli.',
  ];
  return { name: 'start and memory', columns: startColumns, rows, notes };
}

/** The rows of one checkout: its sample content, and the corpus. */
function createTurns({ work }: BenchOptions, { checkout, dist }: Served, target: string): Turn[] {
  const small = join(work, `small-${checkout.name}`);
  mkdirSync(small);
  for (const name of ['content', 'catalog']) copyFolder(join(checkout.root, name), join(small, name));
  const sample = { checkout, dist: join(small, 'dist') };
  buildRelease(checkout, { work: small, articles: 0, lenient: false }, sample.dist);
  const named = (name: string): string => toName(checkout, name);
  const ofCorpus = { target, toCommand: toOwn({ checkout, dist }, work) };
  return [
    { name: named(startNames.small), target: findTarget(sample.dist), toCommand: toOwn(sample, work) },
    { name: named(startNames.corpus), ...ofCorpus },
    { name: named(startNames.read), ...ofCorpus, measureRunning: readAll(dist) },
  ];
}

function readAll(dist: string) {
  const release = join(publicFolder(join(dist, 'current')), 'v1');
  const targetsOf = (part: string, folder: string): string[] =>
    globSync('*/*.json', { cwd: join(release, part, 'article') }).map(
      (file) => `/v1/${part}/article?path=/${folder}/${file.slice(0, -'.json'.length)}`,
    );
  const targets = [...targetsOf('kb', 'knowledgebase'), ...targetsOf('blog', 'blog')];
  return async ({ child }: Started, port: number): Promise<Figures> => {
    for (const encoding of ['identity', 'gzip', 'br']) {
      for (const target of targets) {
        // One at a time, so that memory holds only the cached responses.
        const { status } = await record(port, target, { 'Accept-Encoding': encoding });
        if (status !== 200) throw new Error(`${serverNames.ours}: ${status} for ${target}`);
      }
    }
    return { residentMegabytes: readResident(child.pid!) };
  };
}

/**
 * Requests an article at a steady rate while `current` is switched to a release in which this article has changed.
 * Throws if the new release is not served in the end.
 */
export async function runNewRelease(options: BenchOptions, served: readonly Served[]): Promise<Section> {
  const { work, rounds, chosen, report } = options;
  const target = findTarget(served[0]!.dist);
  const changedContent = join(work, 'changed-content');
  copyFolder(join(work, 'content'), changedContent);
  appendFileSync(join(changedContent, `${new URL(target, 'http://x').searchParams.get('path')}.md`), '\nIt changed.\n');
  const turns = served.flatMap(({ checkout, dist }) => {
    const link = join(dist, 'current');
    const first = readlinkSync(link);
    report(`new release: building the second release of ${checkout.name}`);
    buildRelease(checkout, options, dist, changedContent);
    const second = readlinkSync(link);
    const toTurn = (name: string, release?: string): Turn & { reset: () => void } => ({
      name: toName(checkout, name),
      target,
      toCommand: toOwn({ checkout, dist }, work),
      reset: () => switchTo(link, first),
      measureRunning: loadSteadily(target, release === undefined ? undefined : { link, release }),
    });
    return [toTurn(startNames.unchanged), toTurn(startNames.changed, second)];
  });
  const selected = turns.filter(({ name }) => chosen(name));
  const rows = await measureInTurn(selected, rounds, async (turn, round) => {
    report(`new release, round ${round + 1} of ${rounds}: ${turn.name}`);
    turn.reset();
    return measureTurn(turn);
  });
  const notes = [
    'p99: an article with gzip, 500 requests/s; from the switch to the first response of the new release.',
  ];
  return { name: 'new release', columns: newReleaseColumns, rows, notes };
}

const loadSteadily =
  (target: string, change: SteadyLoad['change']) =>
  async ({ printed }: Started, port: number): Promise<Figures> => {
    const client = forkClient<SteadyMeasured>();
    try {
      const request = `GET ${target} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAccept-Encoding: gzip\r\n\r\n`;
      const { p99Milliseconds, seconds } = await client.measure({ port, request, change }, printed);
      return { p99Milliseconds, wallSeconds: seconds };
    } finally {
      client.kill();
    }
  };
