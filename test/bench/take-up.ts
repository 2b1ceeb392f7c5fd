import { fork } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { findFreePort } from '../helpers/free-port.ts';
import { switchTo, toBefore, toName, toOurs } from './checkouts.ts';
import { buildRelease, copyFolder } from './generator-rows.ts';
import type { Corpus } from './generator-rows.ts';
import { start, track } from './processes.ts';
import { findTarget } from './recording.ts';
import { measureInTurn } from './rows.ts';
import type { Choice, Figures } from './rows.ts';
import type { Column, Section } from './section.ts';
import { serverNames, toOwn } from './servers.ts';
import type { Served } from './servers.ts';
import { firstAnswer } from './start.ts';
import type { SteadyLoad, SteadyMeasured } from './steady.ts';

/** The options of this part of the benchmark. */
export interface TakeUpOptions extends Corpus {
  readonly served: readonly Served[];
  readonly rounds: number;
  readonly chosen: Choice;
  readonly report: (line: string) => void;
}

/** The names of the rows. */
export const takeUpNames = {
  unchanged: `no new release: ${serverNames.ours}`,
  changed: `a new release is selected up: ${serverNames.ours}`,
} as const;
const columns: readonly Column[] = [
  { head: 'p99 ms', figure: 'p99Milliseconds', digits: 1 },
  { head: '±', figure: 'p99Milliseconds', digits: 0, isSpread: true },
  { head: 'p99/before', figure: 'p99Milliseconds', digits: 2, base: toBefore },
  { head: 'until it is served s', figure: 'wallSeconds', digits: 2 },
];

/** A server whose release is switched under load, or is not. */
interface Turn extends Served {
  readonly name: string;
  /** The target of `current` at first. */
  readonly first: string;
  /** The target that it is switched to. */
  readonly second?: string;
}

/**
 * Requests an article at a steady rate while `current` is switched to a release in which this article has changed.
 * Throws if the new release is not served in the end.
 */
export async function runTakeUp(options: TakeUpOptions): Promise<Section> {
  const { work, served, rounds, chosen, report } = options;
  const target = findTarget(served[0]!.dist);
  const changedContent = join(work, 'selected-up-content');
  copyFolder(join(work, 'content'), changedContent);
  appendFileSync(join(changedContent, `${new URL(target, 'http://x').searchParams.get('path')}.md`), '\nIt changed.\n');
  const turns = served.flatMap(({ checkout, dist }): Turn[] => {
    const [unchanged, changed] = [takeUpNames.unchanged, takeUpNames.changed].map((name) => toName(checkout, name));
    const first = readlinkSync(join(dist, 'current'));
    report(`take-up: building the second release of ${checkout.name}`);
    buildRelease(checkout, options, dist, changedContent);
    const second = readlinkSync(join(dist, 'current'));
    const one = { checkout, dist, first };
    return [
      { ...one, name: unchanged! },
      { ...one, name: changed!, second },
    ];
  });
  const selected = turns.filter(({ name }) => chosen(toOurs(name)) || chosen(name));
  const rows = await measureInTurn(selected, rounds, async (turn, round) => {
    report(`take-up, round ${round + 1} of ${rounds}: ${turn.name}`);
    return takeUp(turn, work, target);
  });
  const notes = [
    'p99: an article with gzip, 500 requests/s; from the switch to the first response of the new release.',
  ];
  return { name: 'take-up', columns, rows, notes };
}

async function takeUp({ name, checkout, dist, first, second }: Turn, work: string, target: string): Promise<Figures> {
  const link = join(dist, 'current');
  switchTo(link, first);
  const port = await findFreePort();
  const server = start(toOwn({ checkout, dist }, work)(port));
  const client = track(
    fork(join(import.meta.dirname, 'steady.ts'), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] }),
  );
  try {
    await firstAnswer(name, server, port, target);
    const request = `GET ${target} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAccept-Encoding: gzip\r\n\r\n`;
    const load: SteadyLoad = { port, request, change: second === undefined ? undefined : { link, release: second } };
    const ended = once(client, 'exit').then(() => [{ failure: 'the client ended' }]);
    const answer = Promise.race([once(client, 'message'), ended]);
    client.send(load);
    const [measured] = (await answer) as [SteadyMeasured];
    if (measured.failure !== undefined) throw new Error(`${name}: ${measured.failure}; ${server.printed()}`);
    return { p99Milliseconds: measured.p99Milliseconds, wallSeconds: measured.seconds };
  } finally {
    client.kill();
    await server.kill();
  }
}
