import { once } from 'node:events';
import { cpSync, globSync, mkdirSync } from 'node:fs';
import { connect } from 'node:net';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findFreePort } from '../helpers/free-port.ts';
import { buildRelease } from './generator-rows.ts';
import { readCpu, readResident } from './measure.ts';
import { start } from './processes.ts';
import type { Command, Started } from './processes.ts';
import { findTarget, record } from './recording.ts';
import { measureInTurn } from './rows.ts';
import type { Choice, Figures } from './rows.ts';
import type { Column, Section } from './section.ts';
import { serverNames, toOurs, toPeer } from './servers.ts';

/** What is measured, and how often. */
export interface StartOptions {
  /** A folder for everything. */
  readonly work: string;
  /** Where the release of the corpus is. */
  readonly dist: string;
  /** A file of recorded answers, for the peers. */
  readonly recording: string;
  readonly rounds: number;
  readonly chosen: Choice;
  readonly say: (line: string) => void;
}

/** A server that is started in each round, and what is looked at then. */
interface Turn {
  readonly name: string;
  readonly target: string;
  readonly toCommand: (port: number) => Command;
  /** Takes the place of what the start cost. */
  readonly look?: (server: Started, port: number) => Promise<Figures>;
}

/** How the rows are called that others are compared with, or that have a target. */
export const startNames = {
  raw: `start: ${serverNames.raw}`,
  small: `start: ${serverNames.ours}, small release`,
  corpus: `start: ${serverNames.ours}, corpus`,
  read: `every article read: ${serverNames.ours}, corpus`,
} as const;
const idle = 100;
const toRaw = (name: string) => (name.startsWith('start: ') ? startNames.raw : undefined);
const columns: readonly Column[] = [
  { head: 'ms', figure: 'latencyMilliseconds', digits: 0 },
  { head: '±', figure: 'latencyMilliseconds', digits: 0, isSpread: true },
  { head: 'ms/raw', figure: 'latencyMilliseconds', digits: 2, base: toRaw },
  { head: 'CPU ms', figure: 'cpuMilliseconds', digits: 0 },
  { head: 'CPU/raw', figure: 'cpuMilliseconds', digits: 2, base: toRaw },
  { head: 'resident MB', figure: 'residentMegabytes', digits: 0 },
  { head: 'resident/small', figure: 'residentMegabytes', digits: 2, base: () => startNames.small },
];

/**
 * Starts each server anew in each round, until it answers an article; and looks at the memory of ours with releases of
 * two sizes, and at how it stops. Throws where one does not answer.
 */
export async function runStart(options: StartOptions): Promise<Section> {
  const { work, dist, recording, rounds, chosen, say } = options;
  const root = resolve(import.meta.dirname, '../..');
  const small = join(work, 'small');
  mkdirSync(small);
  for (const name of ['content', 'catalog']) cpSync(join(root, name), join(small, name), { recursive: true });
  buildRelease({ work: small, articles: 0, lenient: false }, join(small, 'dist'));
  const ofSmall = { target: findTarget(join(small, 'dist')), toCommand: toOurs(join(small, 'dist'), small) };
  const target = findTarget(dist);
  const ofCorpus = { target, toCommand: toOurs(dist, work) };
  const turns: Turn[] = [
    ...[serverNames.raw, serverNames.fastify, serverNames.hono].map((name) => ({
      name: `start: ${name}`,
      target,
      toCommand: toPeer(name, recording),
    })),
    { name: startNames.small, ...ofSmall },
    { name: startNames.corpus, ...ofCorpus },
    { name: startNames.read, ...ofCorpus, look: readAll(dist) },
    { name: `stop, ${idle} idle connections: ${serverNames.ours}`, ...ofSmall, look: stopIdle(ofSmall.target) },
  ];
  const always: readonly string[] = [startNames.raw, startNames.small];
  const taken = turns.filter(({ name }) => always.includes(name) || chosen(name));
  const rows = await measureInTurn(taken, rounds, async ({ name, target: asked, toCommand, look }, round) => {
    say(`start, round ${round + 1} of ${rounds}: ${name}`);
    const port = await findFreePort();
    const started = performance.now();
    const server = start(toCommand(port));
    try {
      await firstAnswer(name, server, port, asked);
      const latencyMilliseconds = performance.now() - started;
      const pid = server.child.pid!;
      const cpuMilliseconds = readCpu(pid) * 1000;
      return (
        (await look?.(server, port)) ?? { latencyMilliseconds, cpuMilliseconds, residentMegabytes: readResident(pid) }
      );
    } finally {
      await server.kill();
    }
  });
  const notes = [
    'start: from the start of the process to its first 200, an article, and the resident memory then.',
    'every article read: once each as it is, by gzip and by Brotli.',
  ];
  return { name: 'start and memory', columns, rows, notes };
}

async function firstAnswer(name: string, { child, said }: Started, port: number, target: string): Promise<void> {
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
  throw new Error(`${name} does not answer: ${said()}`);
}

function readAll(dist: string) {
  const release = join(dist, 'current/public/v1');
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
        // oxlint-disable-next-line no-await-in-loop -- As one reader would, so that nothing but the answers is kept.
        const { status } = await record(port, target, { 'Accept-Encoding': encoding });
        if (status !== 200) throw new Error(`${serverNames.ours}: ${status} for ${target}`);
      }
    }
    return { residentMegabytes: readResident(child.pid!) };
  };
}

function stopIdle(target: string) {
  return async ({ child, said }: Started, port: number): Promise<Figures> => {
    const request = `GET ${target} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`;
    await Promise.all(
      Array.from({ length: idle }, async () => {
        const socket = connect(port, '127.0.0.1', () => socket.write(request));
        await once(socket, 'data');
        socket.resume();
      }),
    );
    const started = performance.now();
    const exit = once(child, 'exit');
    child.kill('SIGTERM');
    const [code] = (await exit) as [number | null];
    if (code !== 0) throw new Error(`${serverNames.ours} does not stop: ${said()}`);
    return { latencyMilliseconds: performance.now() - started };
  };
}
