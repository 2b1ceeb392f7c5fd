import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { toName } from './checkouts.ts';
import type { Checkout } from './checkouts.ts';
import { isInstalled, node } from './generator-rows.ts';
import { prepareNginx, toExample } from './nginx.ts';
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
  cached: 'cached by nginx',
  h3: 'h3',
  ours: 'ours',
};

/** A checkout, and the folder of the release that its generator built and its server serves. */
export interface Served {
  readonly checkout: Checkout;
  readonly dist: string;
}

/** The command that starts a server of ours on a release. */
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
 * The command that starts a peer on recorded responses. It is compiled to JavaScript: stripping types at each start
 * takes longer than the rest of the start of raw node:http.
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

/** A case, and the server that its requests go to. */
export interface ServerCase {
  readonly name: string;
  readonly case: Case;
  readonly server: Running;
}

/** The started servers, and their cases. */
export interface Servers {
  readonly serverCases: readonly ServerCase[];
  /** The file of recorded responses. */
  readonly recording: string;
  readonly notes: readonly string[];
  /** Kills all servers. */
  readonly stop: () => Promise<void>;
}

type Run = (name: string, toCommand: (port: number) => Command) => Promise<Running>;

/** The servers of one checkout: without access log, with it, and with it and a limit of one request a day. */
interface OwnServers {
  readonly quiet: Running;
  readonly logged: Running;
  readonly limited: Running;
}

/** Starts all servers on one release; peers send our recorded responses. Throws if one does not start or differs. */
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
  // One after the other, so that starts do not compete for the CPU.
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

  const instance = ours!.quiet.port;
  const cached = nginx && (await run(serverNames.cached, toExample(work, 'cached.conf', instance)));

  const serverCases = cases.flatMap((one): ServerCase[] => {
    const toServerCase = (server: Running): ServerCase => ({ name: `${one.name}: ${server.name}`, case: one, server });
    if (one.target === recording.target) {
      return [
        raw,
        fastify,
        hono,
        ...(nginx ? [nginx] : []),
        ...(cached ? [cached] : []),
        ...own.map(({ quiet }) => quiet),
      ].map(toServerCase);
    }
    if (one.status === 429) return [raw, limitedH3, ...own.map(({ limited }) => limited)].map(toServerCase);
    return [raw, h3, ...own.map(({ logged }) => logged)].map(toServerCase);
  });
  // One request each, so that the limited servers have used up their limit.
  await Promise.all(
    [h3, limitedH3, ...own.map(({ limited }) => limited)].map(({ port }) => record(port, '/v1/kb/list')),
  );
  const kilobytes = ({ body }: Recorded): string => (Buffer.from(body, 'base64').length / 1000).toFixed(1);
  const notes = [
    `The article has ${kilobytes(recording.identity)} kB, compressed ${kilobytes(recording.gzip)} kB.`,
    `Cases other than the article run with an access log to /dev/null; ${serverNames.raw} has none.`,
    ...(nginx ? [] : [`Left out: ${serverNames.nginx}; it is not installed.`]),
    `${serverNames.cached} is examples/nginx; only the CPU of nginx is counted.`,
  ];
  return { serverCases: await Promise.all(serverCases.map(checkAnswer)), recording: file, notes };
}

async function startOwn(work: string, served: Served, run: Run): Promise<OwnServers> {
  const name = toName(served.checkout, serverNames.ours);
  const logging = { LOG_LEVEL: 'info' };
  const strict = { ...logging, RATELIMIT_RPS: '1', RATELIMIT_BURST: '1' };
  return {
    quiet: await run(name, toOwn(served, work)),
    logged: await run(name, dropOutput(toOwn(served, work, logging))),
    limited: await run(name, dropOutput(toOwn(served, work, strict))),
  };
}

function dropOutput(toCommand: (port: number) => Command) {
  return (port: number): Command => ({ ...toCommand(port), dropsOutput: true });
}

/** Headers that differ between responses. */
const varying = /^(?:x-request-id|retry-after|ratelimit.*)$/;

/** The headers of a response in a form that can be compared between servers. */
function comparable({ headers }: Recorded): string {
  const lines = headers.map(([name, value]): [string, string] => [name.toLowerCase(), value]);
  const toLine = ([name, value]: [string, string]): string =>
    `${name}: ${varying.test(name) ? '' : value.toLowerCase().replaceAll(', ', ',')}`;
  return lines.map(toLine).toSorted().join('\n');
}

/**
 * Checks the response of a server: peers must send our bytes, h3 also our headers. The `before` checkout and nginx have
 * ETags of their own. The `before` checkout may have other bodies, so only its status is checked.
 */
async function checkAnswer(serverCase: ServerCase): Promise<ServerCase> {
  const { name, case: one, server } = serverCase;
  const hasOwnTag = one.status === 304 && [serverNames.nginx, 'before'].includes(server.name);
  const headers = hasOwnTag
    ? { 'If-None-Match': headerOf(await record(server.port, one.target), 'etag') }
    : one.headers;
  const answer = await record(server.port, one.target, headers, one.method);
  const sameBody = server.name === 'before' || answer.body === one.recorded.body;
  const sameHeaders = server.name !== serverNames.h3 || comparable(answer) === comparable(one.recorded);
  if (answer.status === one.status && sameBody && sameHeaders) return { ...serverCase, case: { ...one, headers } };
  const text = [comparable(answer), '', Buffer.from(answer.body, 'base64').toString()].join('\n');
  throw new Error(`${name} sent ${answer.status}:\n${text}\nexpected:\n${comparable(one.recorded)}`);
}
