import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { toName } from './checkouts.ts';
import type { Checkout } from './checkouts.ts';
import { isInstalled, node } from './generator-rows.ts';
import { prepareNginx } from './nginx.ts';
import type { Recorded } from './peers/answers.ts';
import type { Command } from './processes.ts';
import { headerOf, record, recordAnswers } from './recording.ts';
import type { Case } from './recording.ts';
import { startServer } from './running.ts';
import type { Running } from './running.ts';

const folder = import.meta.dirname;
/** The names of the servers that others are compared with. */
export const serverNames = {
  raw: 'raw node:http',
  fastify: 'fastify',
  hono: 'hono',
  nginx: 'nginx',
  h3: 'h3',
  ours: 'ours',
};

/** A checkout, and where its generator has built the release that its server serves. */
export interface Served {
  readonly checkout: Checkout;
  readonly dist: string;
}

/** How a server of ours is started on a release. */
export function toOwn({ checkout, dist }: Served, data: string, settings: Readonly<Record<string, string>> = {}) {
  return (port: number): Command => ({
    program: node,
    args: checkout.server,
    cwd: data,
    env: {
      PORT: String(port),
      DIST_DIR: dist,
      DATA_DIR: join(data, `data-${checkout.name}`),
      RATELIMIT_RPS: '1000000',
      RATELIMIT_BURST: '1000000',
      DNS_SERVERS: 'off',
      RDAP_BOOTSTRAP_URL: 'off',
      LOG_LEVEL: 'warn',
      ...settings,
    },
  });
}

/**
 * How a peer is started on recorded answers: as JavaScript, since to strip its types at each start would take longer than
 * the rest of the start of raw node:http.
 */
export function toPeer(name: string, recording: string, ...more: string[]) {
  const [file] = name.split(' ');
  const outfile = join(folder, `node_modules/.cache/${file}.js`);
  buildSync({
    entryPoints: [join(folder, 'peers', `${file}.ts`)],
    outfile,
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
  });
  return (port: number): Command => ({ program: node, args: [outfile, recording, String(port), ...more] });
}

/** A server that is asked in a case. */
export interface Asked {
  readonly name: string;
  readonly case: Case;
  readonly server: Running;
}

/** The servers that were started, and what each is asked. */
export interface Servers {
  readonly asked: readonly Asked[];
  /** A file of recorded answers. */
  readonly recording: string;
  readonly notes: readonly string[];
  /** Kills them. */
  readonly stop: () => Promise<void>;
}

type Run = (name: string, toCommand: (port: number) => Command) => Promise<Running>;

/** One checkout's servers: without an access log, with one, and with one and a limit of one request a day. */
interface OwnServers {
  readonly quiet: Running;
  readonly logged: Running;
  readonly limited: Running;
}

/** Starts all servers on one release, the peers on what ours answers. Throws where one does not start, or answers otherwise. */
export async function startServers(work: string, served: readonly Served[]): Promise<Servers> {
  const started: Running[] = [];
  const stop = async (): Promise<void> => void (await Promise.all(started.map((running) => running.stop())));
  const run: Run = async (name, toCommand) => {
    const running = await startServer(name, toCommand);
    started.push(running);
    return running;
  };
  try {
    return { ...(await startAll(work, served, run)), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function startAll(work: string, served: readonly Served[], run: Run): Promise<Omit<Servers, 'stop'>> {
  // In turn, so that each finds the processor free.
  const own: OwnServers[] = [];
  // oxlint-disable-next-line no-await-in-loop
  for (const one of served) own.push(await startOwn(work, one, run));
  const [ours] = own;
  const { recording, cases } = await recordAnswers(ours!.quiet.port, ours!.limited.port, served[0]!.dist);
  const file = join(work, 'recording.json');
  writeFileSync(file, JSON.stringify(recording));
  const raw = await run(serverNames.raw, toPeer(serverNames.raw, file));
  const fastify = await run(serverNames.fastify, toPeer(serverNames.fastify, file));
  const hono = await run(serverNames.hono, toPeer(serverNames.hono, file));
  const h3 = await run(serverNames.h3, dropOutput(toPeer(serverNames.h3, file, '1000000')));
  const limitedH3 = await run(serverNames.h3, dropOutput(toPeer(serverNames.h3, file, '1')));
  const nginx = isInstalled('nginx', '-v') && (await run(serverNames.nginx, prepareNginx(work, recording)));

  const asked = cases.flatMap((one): Asked[] => {
    const ask = (server: Running): Asked => ({ name: `${one.name}: ${server.name}`, case: one, server });
    if (one.target === recording.target) {
      return [raw, fastify, hono, ...(nginx ? [nginx] : []), ...own.map(({ quiet }) => quiet)].map(ask);
    }
    if (one.status === 429) return [raw, limitedH3, ...own.map(({ limited }) => limited)].map(ask);
    return [raw, h3, ...own.map(({ logged }) => logged)].map(ask);
  });
  // Once each, so that those with a limit have spent it.
  await Promise.all(
    [h3, limitedH3, ...own.map(({ limited }) => limited)].map(({ port }) => record(port, '/v1/kb/list')),
  );
  const kilobytes = ({ body }: Recorded): string => (Buffer.from(body, 'base64').length / 1000).toFixed(1);
  const notes = [
    `The article has ${kilobytes(recording.identity)} kB, compressed ${kilobytes(recording.gzip)} kB.`,
    `What is no article is answered with an access log, by ${serverNames.raw} without; the logs go to /dev/null.`,
    ...(nginx ? [] : [`Left out: ${serverNames.nginx}; it is not installed.`]),
  ];
  return { asked: await Promise.all(asked.map(checkAnswer)), recording: file, notes };
}

async function startOwn(work: string, served: Served, run: Run): Promise<OwnServers> {
  const name = toName(served.checkout, serverNames.ours);
  const logging = { LOG_LEVEL: 'info' };
  const strict = { ...logging, RATELIMIT_RPS: '1', RATELIMIT_BURST: '1', RATELIMIT_BLOCK_SECONDS: '86400' };
  return {
    quiet: await run(name, toOwn(served, work)),
    logged: await run(name, dropOutput(toOwn(served, work, logging))),
    limited: await run(name, dropOutput(toOwn(served, work, strict))),
  };
}

function dropOutput(toCommand: (port: number) => Command) {
  return (port: number): Command => ({ ...toCommand(port), dropsOutput: true });
}

/** What differs from answer to answer, and how much of a limit is left. */
const varying = /^(?:x-request-id|retry-after|ratelimit.*)$/;

/** The headers of an answer in a form in which those of two servers can be compared. */
function comparable({ headers }: Recorded): string {
  const lines = headers.map(([name, value]): [string, string] => [name.toLowerCase(), value]);
  const toLine = ([name, value]: [string, string]): string =>
    `${name}: ${varying.test(name) ? '' : value.toLowerCase().replaceAll(', ', ',')}`;
  return lines.map(toLine).toSorted().join('\n');
}

/**
 * Sees to it that a server answers as it should: peers with ours' bytes, h3 with its headers as well. The code before
 * and nginx have ETags of their own, and the code before may word an answer otherwise: it needs the status alone.
 */
async function checkAnswer(asked: Asked): Promise<Asked> {
  const { name, case: one, server } = asked;
  const hasOwnTag = one.status === 304 && [serverNames.nginx, 'before'].includes(server.name);
  const headers = hasOwnTag
    ? { 'If-None-Match': headerOf(await record(server.port, one.target), 'etag') }
    : one.headers;
  const answer = await record(server.port, one.target, headers, one.method);
  const sameBody = server.name === 'before' || answer.body === one.recorded.body;
  const sameHeaders = server.name !== serverNames.h3 || comparable(answer) === comparable(one.recorded);
  if (answer.status === one.status && sameBody && sameHeaders) return { ...asked, case: { ...one, headers } };
  const text = [comparable(answer), '', Buffer.from(answer.body, 'base64').toString()].join('\n');
  throw new Error(
    `${name} answers ${answer.status}, and not as it should:\n${text}\nbut:\n${comparable(one.recorded)}`,
  );
}
