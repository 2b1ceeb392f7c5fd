import { once } from 'node:events';
import { globSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { buildSync } from 'esbuild';
import { findFreePort } from '../helpers/free-port.ts';
import { isInstalled, node, publicFolder, toName } from './checkouts.ts';
import type { Served } from './checkouts.ts';
import type { Recorded, Recording, Refusal } from './peers/answers.ts';
import { start } from './processes.ts';
import type { Command, Started } from './processes.ts';

/** The names of the servers that others are compared with. */
export const serverNames = {
  raw: 'raw node:http',
  fastify: 'fastify',
  nginx: 'nginx',
  h3: 'h3',
  ours: 'ours',
};

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
  const outfile = join(import.meta.dirname, `node_modules/.cache/${file}.js`);
  buildSync({
    entryPoints: [join(import.meta.dirname, 'peers', `${file}.ts`)],
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

type Run = (name: string, toCommand: (port: number) => Command) => Promise<Running>;

/**
 * Starts all servers on one release; peers send our recorded responses, which are kept in the file `recording`. Throws
 * if one does not start or differs. `stop` kills all of them.
 */
export async function startServers(work: string, served: readonly Served[]) {
  const started: Started[] = [];
  const stop = async (): Promise<void> => void (await Promise.all(started.map((one) => one.kill())));
  const run: Run = async (name, toCommand) => {
    const port = await findFreePort();
    const server = start(toCommand(port));
    started.push(server);
    await firstAnswer(name, server, port, '/', '');
    return { name, pid: server.child.pid!, port };
  };
  try {
    return { ...(await startAll(work, served, run)), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function startAll(work: string, served: readonly Served[], run: Run) {
  // One after the other, so that starts do not compete for the CPU.
  const own: Awaited<ReturnType<typeof startOwn>>[] = [];
  for (const one of served) own.push(await startOwn(work, one, run));
  const [ours] = own;
  const { recording, cases } = await recordAnswers(ours!.quiet.port, ours!.limited.port, served[0]!.dist);
  const file = join(work, 'recording.json');
  writeFileSync(file, JSON.stringify(recording));
  const raw = await run(serverNames.raw, toPeer(serverNames.raw, file));
  const fastify = await run(serverNames.fastify, toPeer(serverNames.fastify, file));
  const h3 = await run(serverNames.h3, dropOutput(toPeer(serverNames.h3, file, '1000000')));
  const limitedH3 = await run(serverNames.h3, dropOutput(toPeer(serverNames.h3, file, '1')));
  const nginx = isInstalled('nginx', '-v') && (await run(serverNames.nginx, prepareNginx(work, recording)));
  const article = [raw, fastify, ...(nginx ? [nginx] : []), ...own.map(({ quiet }) => quiet)];
  const serverCases = cases.flatMap((one): ServerCase[] => {
    const toServerCase = (server: Running): ServerCase => ({ name: `${one.name}: ${server.name}`, case: one, server });
    if (one.target === recording.target) return article.map(toServerCase);
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
  ];
  return { serverCases: await Promise.all(serverCases.map(checkAnswer)), recording: file, notes };
}

/** The servers of one checkout: without access log, with it, and with it and a limit of one request a day. */
async function startOwn(work: string, served: Served, run: Run) {
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

/** A request that is sent to all servers, and the status of its response. */
interface Case {
  readonly name: string;
  readonly method: string;
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly status: number;
  /** Its recorded response. */
  readonly recorded: Recorded;
}

/** Headers that every server writes itself. */
const own = /^(?:date|connection|keep-alive)$/i;

/** Sends one request and records the response. */
export async function record(
  port: number,
  target: string,
  headers: Readonly<Record<string, string>> = {},
  method = 'GET',
): Promise<Recorded> {
  const sent = request({ port, host: '127.0.0.1', path: target, headers, method }).end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const { rawHeaders } = response;
  const pairs = rawHeaders.flatMap((name, index): [string, string][] =>
    index % 2 === 0 && !own.test(name) ? [[name, rawHeaders[index + 1]!]] : [],
  );
  return { status: response.statusCode!, headers: pairs, body: (await buffer(response)).toString('base64') };
}

/** A header of a response; it must have it. */
function headerOf({ headers }: Recorded, name: string): string {
  return headers.find(([other]) => other.toLowerCase() === name)![1];
}

/** The target of an article of about 10 kB in a release. Throws if the knowledge base has no article. */
export function findTarget(dist: string): string {
  const folder = join(publicFolder(join(dist, 'current')), 'v1/kb/article');
  const distance = (file: string): number => Math.abs(statSync(join(folder, file)).size - 10_000);
  const [nearest] = globSync('*/*.json', { cwd: folder }).toSorted((a, b) => distance(a) - distance(b));
  if (nearest === undefined) throw new Error('the corpus has no article of the knowledge base');
  return `/v1/kb/article?path=/knowledgebase/${nearest.slice(0, -'.json'.length)}`;
}

const limitedTarget = '/v1/kb/list';
const absent = '/v1/kb/article?path=/knowledgebase/nowhere/nothing';

/**
 * Records one response of our server for each case, so that peers send the same bytes. A second server allows one
 * request a day; its response to the next request is the recorded 429.
 */
async function recordAnswers(
  port: number,
  limitedPort: number,
  dist: string,
): Promise<{ recording: Recording; cases: Case[] }> {
  const target = findTarget(dist);
  const refusal = async (at: number, method: string, refused: string): Promise<Refusal> => ({
    method,
    target: refused,
    recorded: await record(at, refused, {}, method),
  });
  const identity = await record(port, target);
  const etag = headerOf(identity, 'etag');
  const gzipOnly = { 'Accept-Encoding': 'gzip' };
  await record(limitedPort, limitedTarget);
  const recording = {
    target,
    identity,
    gzip: await record(port, target, gzipOnly),
    unchanged: await record(port, target, { 'If-None-Match': etag }),
    missing: await record(port, absent),
    info: await record(port, '/v1/info'),
    refusals: await Promise.all([
      refusal(port, 'DELETE', '/v1/plans'),
      refusal(limitedPort, 'GET', limitedTarget),
      refusal(port, 'GET', '/v1/hosting/game/logs/demo/latest'),
    ]),
  };
  const toCase = (name: string, status: number, recorded: Recorded, changes: Partial<Case> = {}): Case => ({
    name,
    method: 'GET',
    target,
    headers: {},
    status,
    recorded,
    ...changes,
  });
  const cases = [
    toCase('gzip', 200, recording.gzip, { headers: gzipOnly }),
    toCase('304', 304, recording.unchanged, { headers: { 'If-None-Match': etag } }),
    toCase('404', 404, recording.missing, { target: absent }),
    ...recording.refusals.map(({ method, target: refused, recorded }, index) => {
      const status = [405, 429, 401][index]!;
      return toCase(String(status), status, recorded, { method, target: refused });
    }),
    toCase('/v1/info', 200, recording.info, { target: '/v1/info' }),
  ];
  return { recording, cases };
}

/** A running server. */
interface Running {
  readonly name: string;
  readonly pid: number;
  readonly port: number;
}

/**
 * Waits for the first response of a server that is starting, by default for a 200; the empty string takes any. Throws
 * with its output if there is none.
 */
export async function firstAnswer(
  name: string,
  { child, printed }: Started,
  port: number,
  target: string,
  wanted = '200',
): Promise<void> {
  const get = `GET ${target} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: close\r\n\r\n`;
  for (const end = performance.now() + 60_000; performance.now() < end;) {
    if (child.pid === undefined || child.exitCode !== null) break;
    const answer = await new Promise<string>((done) => {
      const socket = connect(port, '127.0.0.1', () => socket.write(get));
      socket.setTimeout(10_000, () => socket.destroy());
      socket.on('error', () => done(''));
      socket.on('close', () => done(''));
      socket.once('data', (chunk) => {
        done(chunk.toString('latin1', 0, 12));
        socket.destroy();
      });
    });
    if (answer.startsWith(`HTTP/1.1 ${wanted}`)) return;
    await sleep(2);
  }
  throw new Error(`${name} does not answer: ${printed()}`);
}

/** Headers that nginx itself derives from the file. */
const derived = /^(?:content-type|content-length|content-encoding|etag|vary|last-modified)$/i;

/**
 * Writes the recorded article as a plain file and a .gz file, and a configuration that serves them with the recorded
 * headers; the ETag is nginx's own.
 */
function prepareNginx(work: string, { target, identity, gzip }: Recording): (port: number) => Command {
  const folder = join(work, 'nginx');
  mkdirSync(folder);
  const file = join(folder, 'article.json');
  writeFileSync(file, Buffer.from(identity.body, 'base64'));
  writeFileSync(`${file}.gz`, Buffer.from(gzip.body, 'base64'));
  return (port) => {
    const path = join(folder, 'nginx.conf');
    writeFileSync(path, configure(folder, port, file, target.split('?')[0]!, identity.headers));
    return { program: 'nginx', args: ['-p', folder, '-c', path], cwd: folder };
  };
}

function configure(folder: string, port: number, file: string, location: string, headers: Recorded['headers']): string {
  const [, type] = headers.find(([name]) => name.toLowerCase() === 'content-type')!;
  const added = headers
    .filter(([name]) => !derived.test(name))
    .map(([name, value]) => `add_header ${name} '${value}';`);
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  // Without a master, the one process is the worker: it can be measured by its pid, and a kill leaves no process behind.
  return `
daemon off;
master_process off;
${process.getuid!() === 0 ? 'user root;' : ''}
pid ${folder}/nginx.pid;
error_log stderr error;
worker_rlimit_nofile 4096;
events { worker_connections 2048; }
http {
  access_log off;
  ${temporary.map((name) => `${name}_temp_path ${folder}/${name};`).join('\n  ')}
  sendfile on;
  tcp_nopush on;
  keepalive_timeout 65s;
  keepalive_requests 1000000000;
  open_file_cache max=16;
  server_tokens off;
  server {
    listen 127.0.0.1:${port};
    location = ${location} {
      alias ${file};
      types { }
      default_type '${type}';
      gzip_static on;
      gzip_vary on;
      ${added.join('\n      ')}
    }
  }
}
`;
}
