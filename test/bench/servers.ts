import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { join, resolve } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { buildSync } from 'esbuild';
import { findFreePort } from '../helpers/free-port.ts';
import { pickArticle } from './bench.ts';
import type { Checkout } from './bench.ts';
import type { Case, Recorded, Request } from './peers/answers.ts';
import { start } from './processes.ts';
import type { Command } from './processes.ts';

/** Reference servers; the first word is the file of the program. */
export const [raw, fastify, h3] = ['raw node:http', 'fastify', 'h3'] as const;

/** Our recorded responses for the peers, as JSON. */
export const recordingFile = 'recording.json';

/** Folder of the releases that a checkout's servers serve. */
export const servedBy = ({ name }: Checkout): string => `served-${name}`;

/** Builds the command that starts a server on a port. */
export type ToCommand = (port: number) => Command;

/**
 * A checkout's server on a folder of releases: without an access log, with one, or also with a limit of one request a
 * second.
 */
export function toOwn(checkout: Checkout, mode: 'quiet' | 'logged' | 'limited', dist = servedBy(checkout)): ToCommand {
  const limit = mode === 'limited' ? '1' : '1000000';
  return (port) => ({
    args: checkout.server,
    dropsOutput: mode !== 'quiet',
    env: {
      PORT: String(port),
      DIST_DIR: dist,
      DATA_DIR: `data-${checkout.name}`,
      RATELIMIT_RPS: limit,
      RATELIMIT_BURST: limit,
      CONTENT_RATELIMIT_RPS: limit,
      CONTENT_RATELIMIT_BURST: limit,
      DNS_SERVERS: 'off',
      RDAP_BOOTSTRAP_URL: 'off',
      LOG_LEVEL: mode === 'quiet' ? 'warn' : 'info',
    },
  });
}

/**
 * A peer with the recorded responses; only h3 has a limit and an access log. Compiled to JavaScript: stripping types
 * would take longer than the rest of the start of raw node:http.
 */
export function toPeer(name: string, limit = ''): ToCommand {
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
  return (port) => ({ args: [outfile, recordingFile, String(port), limit], dropsOutput: limit !== '' });
}

/** A running server, and the time from start to first response. */
export type Running = Awaited<ReturnType<typeof startServer>>;

/**
 * Starts a server and waits for the first 200 for a target, or for any response without a target. Throws the output on
 * failure.
 */
export async function startServer(name: string, toCommand: ToCommand, target?: string) {
  const port = await findFreePort();
  const started = performance.now();
  const server = start(toCommand(port));
  for (;;) {
    const answer = await record(port, { method: 'GET', target: target ?? '/', headers: {} }).catch(() => undefined);
    if (answer && (target === undefined || answer.status === 200)) break;
    if (server.child.exitCode !== null || performance.now() - started > 60_000) {
      throw new Error(`${name} does not answer: ${server.printed()}`);
    }
    await sleep(2);
  }
  return { ...server, name, port, startMs: performance.now() - started };
}

/** Headers that every server writes itself. */
const hopByHop = /^(?:date|connection|keep-alive)$/i;

/** Sends one request and records the response. */
export async function record(port: number, { method, target, headers }: Request): Promise<Recorded> {
  const signal = AbortSignal.timeout(10_000);
  const sent = request({ port, host: '127.0.0.1', path: target, headers, method, signal }).end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const { rawHeaders } = response;
  const pairs = rawHeaders.flatMap((name, index): [string, string][] =>
    index % 2 === 0 && !hopByHop.test(name) ? [[name, rawHeaders[index + 1]!]] : [],
  );
  return { status: response.statusCode!, headers: pairs, body: (await buffer(response)).toString('base64') };
}

/** Returns a required header of a response. */
export function headerOf({ headers }: Recorded, name: string): string {
  return headers.find(([other]) => other.toLowerCase() === name)![1];
}

/**
 * Picks an article of about 10 kB in a folder of releases and returns its target. Throws if the knowledge base is
 * empty.
 */
export function findTarget(dist: string): string {
  const article = pickArticle(join(dist, 'current/public/v1/kb/article'), '.json', 10_000);
  return `/v1/kb/article?path=/knowledgebase/${article}`;
}

/** Headers that nginx itself derives from the file. */
const derived = /^(?:content-type|content-length|content-encoding|etag|vary|last-modified)$/i;

/**
 * nginx with the recorded article as a plain and a .gz file, and with the recorded headers except the ETag. Without a
 * master process, the worker can be measured by its pid, and a kill leaves no process behind.
 */
export function toNginx(identity: Case, gzip: Case): ToCommand {
  const folder = resolve('nginx');
  mkdirSync(folder);
  const file = join(folder, 'article.json');
  writeFileSync(file, Buffer.from(identity.recorded.body, 'base64'));
  writeFileSync(`${file}.gz`, Buffer.from(gzip.recorded.body, 'base64'));
  const headers = identity.recorded.headers
    .filter(([name]) => !derived.test(name))
    .map(([name, value]) => `add_header ${name} '${value}';`);
  const folders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  const toConfiguration = (port: number): string => `
daemon off;
master_process off;
${process.getuid!() === 0 ? 'user root;' : ''}
pid ${folder}/nginx.pid;
error_log stderr error;
worker_rlimit_nofile 4096;
events { worker_connections 2048; }
http {
  access_log off;
  ${folders.join('\n  ')}
  sendfile on;
  tcp_nopush on;
  keepalive_timeout 65s;
  keepalive_requests 1000000000;
  open_file_cache max=16;
  server_tokens off;
  server {
    listen 127.0.0.1:${port};
    location = ${identity.target.split('?')[0]} {
      alias ${file};
      types { }
      default_type '${headerOf(identity.recorded, 'content-type')}';
      gzip_static on;
      gzip_vary on;
      ${headers.join('\n      ')}
    }
  }
}
`;
  return (port) => {
    const path = join(folder, 'nginx.conf');
    writeFileSync(path, toConfiguration(port));
    return { program: 'nginx', args: ['-p', folder, '-c', path] };
  };
}
