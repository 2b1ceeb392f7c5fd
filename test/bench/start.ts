import { globSync, mkdirSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findFreePort } from '../helpers/free-port.ts';
import { publicFolder, toBefore, toName, toOurs } from './checkouts.ts';
import { buildRelease, copyFolder } from './generator-rows.ts';
import { readCpu, readResident } from './measure.ts';
import { start } from './processes.ts';
import type { Command, Started } from './processes.ts';
import { findTarget, record } from './recording.ts';
import { measureInTurn } from './rows.ts';
import type { Choice, Figures } from './rows.ts';
import type { Column, Section } from './section.ts';
import { serverNames, toOwn, toPeer } from './servers.ts';
import type { Served } from './servers.ts';

/** The options of this part of the benchmark. */
export interface StartOptions {
  /** The working folder. */
  readonly work: string;
  /** The releases of the corpus. */
  readonly served: readonly Served[];
  /** The file of recorded responses, for the peers. */
  readonly recording: string;
  readonly rounds: number;
  readonly chosen: Choice;
  readonly report: (line: string) => void;
}

/** A server that is started in each round, and what is measured. */
interface Turn {
  readonly name: string;
  readonly target: string;
  readonly toCommand: (port: number) => Command;
  /** If given, it measures the running server instead of its start. */
  readonly measureRunning?: (server: Started, port: number) => Promise<Figures>;
}

/** The names of the rows that others are compared with, or that have a target. */
export const startNames = {
  raw: `start: ${serverNames.raw}`,
  small: `start: ${serverNames.ours}, small release`,
  corpus: `start: ${serverNames.ours}, corpus`,
  read: `every article read: ${serverNames.ours}, corpus`,
} as const;
const toRaw = (name: string) => (name.startsWith('start: ') ? startNames.raw : undefined);
const toSmall = (name: string) => toName({ name: name.includes('before') ? 'before' : 'ours' }, startNames.small);
const columns: readonly Column[] = [
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

/**
 * Starts each server in each round and waits until it serves an article. Also measures the memory of ours with releases
 * of two sizes. Throws if a server does not respond.
 */
export async function runStart(options: StartOptions): Promise<Section> {
  const { recording, served, rounds, chosen, report } = options;
  const target = findTarget(served[0]!.dist);
  const turns: Turn[] = [
    ...[serverNames.raw, serverNames.fastify, serverNames.hono].map((name) => ({
      name: `start: ${name}`,
      target,
      toCommand: toPeer(name, recording),
    })),
    ...served.flatMap((one) => createTurns(options, one, target)),
  ];
  const always: readonly string[] = [startNames.raw, startNames.small];
  const selected = turns.filter(({ name }) => always.includes(toOurs(name)) || chosen(toOurs(name)) || chosen(name));
  const rows = await measureInTurn(
    selected,
    rounds,
    async ({ name, target: article, toCommand, measureRunning }, round) => {
      report(`start, round ${round + 1} of ${rounds}: ${name}`);
      const port = await findFreePort();
      const started = performance.now();
      const server = start(toCommand(port));
      try {
        await firstAnswer(name, server, port, article);
        const latencyMilliseconds = performance.now() - started;
        const pid = server.child.pid!;
        const cpuMilliseconds = readCpu(pid) * 1000;
        return (
          (await measureRunning?.(server, port)) ?? {
            latencyMilliseconds,
            cpuMilliseconds,
            residentMegabytes: readResident(pid),
          }
        );
      } finally {
        await server.kill();
      }
    },
  );
  const notes = [
    'start: from the start of the process to its first 200, for an article, and the resident memory at that time.',
    'every article read: once each uncompressed, with gzip and with Brotli.',
  ];
  return { name: 'start and memory', columns, rows, notes };
}

/** The rows of one checkout: its sample content, and the corpus. */
function createTurns({ work }: StartOptions, { checkout, dist }: Served, target: string): Turn[] {
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

/** Waits for the first 200 of a server that is starting. Throws if there is none. */
export async function firstAnswer(
  name: string,
  { child, printed }: Started,
  port: number,
  target: string,
): Promise<void> {
  const request = `GET ${target} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: close\r\n\r\n`;
  for (const end = performance.now() + 60_000; performance.now() < end;) {
    if (child.pid === undefined || child.exitCode !== null) break;
    // oxlint-disable-next-line no-await-in-loop
    const answer = await new Promise<string>((done) => {
      const socket = connect(port, '127.0.0.1', () => socket.write(request));
      socket.setTimeout(10_000, () => socket.destroy());
      socket.on('error', () => done(''));
      socket.on('close', () => done(''));
      socket.once('data', (chunk) => {
        done(chunk.toString('latin1', 0, 12));
        socket.destroy();
      });
    });
    if (answer === 'HTTP/1.1 200') return;
    // oxlint-disable-next-line no-await-in-loop
    await sleep(2);
  }
  throw new Error(`${name} does not answer: ${printed()}`);
}

function readAll(dist: string) {
  const release = join(publicFolder(join(dist, 'current')), 'v1');
  const targets = [
    ...globSync('*/*.json', { cwd: join(release, 'kb/article') }).map(
      (file) => `/v1/kb/article?path=/knowledgebase/${file}`,
    ),
    ...globSync('*/*.json', { cwd: join(release, 'blog/article') }).map(
      (file) => `/v1/blog/article?path=/blog/${file}`,
    ),
  ].map((target) => target.slice(0, -'.json'.length));
  return async ({ child }: Started, port: number): Promise<Figures> => {
    for (const encoding of ['identity', 'gzip', 'br']) {
      for (const target of targets) {
        // oxlint-disable-next-line no-await-in-loop -- One at a time, so that memory holds only the cached responses.
        const { status } = await record(port, target, { 'Accept-Encoding': encoding });
        if (status !== 200) throw new Error(`${serverNames.ours}: ${status} for ${target}`);
      }
    }
    return { residentMegabytes: readResident(child.pid!) };
  };
}
