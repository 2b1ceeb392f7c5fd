import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { buildSync } from 'esbuild';
import { isInstalled, node } from './generator-rows.ts';
import { prepareNginx } from './nginx.ts';
import type { Command } from './processes.ts';
import { headerOf, record, recordAnswers } from './recording.ts';
import type { Case } from './recording.ts';
import { startServer } from './running.ts';
import type { Running } from './running.ts';

const folder = import.meta.dirname;
/** The names of the servers that others are compared with. */
export const serverNames = { raw: 'raw node:http', fastify: 'fastify', hono: 'hono', nginx: 'nginx', ours: 'ours' };
const logging = `${serverNames.ours}, with access log`;

/** How our server is started on a release. */
export function toOurs(dist: string, data: string, settings: Readonly<Record<string, string>> = {}) {
  return (port: number): Command => ({
    program: node,
    args: [resolve(folder, '../../server/main.js')],
    cwd: data,
    env: {
      PORT: String(port),
      DIST_DIR: dist,
      DATA_DIR: data,
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
export function toPeer(name: string, recording: string) {
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
  return (port: number): Command => ({ program: node, args: [outfile, recording, String(port)] });
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

/** Starts all servers on one release, the peers on what ours answers. Throws where one does not start, or answers otherwise. */
export async function startServers(work: string, dist: string): Promise<Servers> {
  const started: Running[] = [];
  const stop = async (): Promise<void> => void (await Promise.all(started.map((running) => running.stop())));
  const run = async (name: string, toCommand: (port: number) => Command): Promise<Running> => {
    const running = await startServer(name, toCommand);
    started.push(running);
    return running;
  };
  try {
    const notes: string[] = [];
    const ours = await run(serverNames.ours, toOurs(dist, work));
    const strict = { RATELIMIT_RPS: '1', RATELIMIT_BURST: '1', RATELIMIT_BLOCK_SECONDS: '86400' };
    const limited = await run(serverNames.ours, toOurs(dist, work, strict));
    const { recording, cases } = await recordAnswers(ours.port, limited.port, dist);
    const file = join(work, 'recording.json');
    writeFileSync(file, JSON.stringify(recording));
    const raw = await run(serverNames.raw, toPeer(serverNames.raw, file));
    const fastify = await run(serverNames.fastify, toPeer(serverNames.fastify, file));
    const hono = await run(serverNames.hono, toPeer(serverNames.hono, file));
    const logged = await run(logging, toOurs(dist, work, { LOG_LEVEL: 'info' }));
    const hasNginx = isInstalled('nginx', '-v');
    if (!hasNginx) notes.push('Left out: nginx; it is not installed.');
    const nginx = hasNginx ? await run(serverNames.nginx, prepareNginx(work, recording)) : undefined;
    const nginxTag = nginx && headerOf(await record(nginx.port, recording.target), 'etag');

    const asked = cases.flatMap((one): Asked[] => {
      const isFile = ['article', 'gzip', '304'].includes(one.name);
      const ourOwn = one.name === '429' ? limited : ours;
      // A line of the log costs the same whatever is answered.
      const isLogged = ['article', '404'].includes(one.name);
      const others = [...(nginx && isFile ? [nginx] : []), ourOwn, ...(isLogged ? [logged] : [])];
      return [raw, fastify, hono, ...others].map((server) => {
        const own = server === nginx && one.name === '304' ? { ...one, headers: { 'If-None-Match': nginxTag! } } : one;
        return { name: `${one.name}: ${server.name}`, case: own, server };
      });
    });
    await Promise.all(asked.map(checkAnswer));
    const kilobytes = ({ body }: { body: string }): string => (Buffer.from(body, 'base64').length / 1000).toFixed(1);
    notes.push(`The article has ${kilobytes(recording.identity)} kB, compressed ${kilobytes(recording.gzip)} kB.`);
    return { asked, recording: file, notes, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function checkAnswer({ name, case: one, server }: Asked): Promise<void> {
  const { status, body } = await record(server.port, one.target, one.headers, one.method);
  if (status === one.status && body === one.body) return;
  throw new Error(
    `${name} answers ${status} with other bytes than it should: ${Buffer.from(body, 'base64').toString()}`,
  );
}
