import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { onTestFinished } from 'vitest';
import { findFreePort } from './free-port.ts';
import { describeInstalled } from './installed.ts';
import { until } from './upstream.ts';
import type { OnEnd } from './upstream.ts';

type Http = (folder: string, port: number) => string;

/** Starts nginx with the contents of an `http` block, which gets its own folder and listens on the port. */
export type RunNginx = (http: Http, port?: number, onEnd?: OnEnd) => Promise<{ port: number; folder: string }>;

/** Groups tests that start nginx. */
export function describeNginx(body: (run: () => RunNginx) => void): void {
  const start = (commands: string): Promise<RunNginx> =>
    Promise.resolve((http, port, onEnd) => runNginx(commands, http, port, onEnd));
  const program = { name: 'nginx', package: 'nginx-light', commands: ['nginx'], start };
  describeInstalled(program, body);
}

async function runNginx(commands: string, http: Http, given?: number, onEnd: OnEnd = onTestFinished) {
  const folder = mkdtempSync(join(tmpdir(), 'hosting-api-nginx-'));
  const port = given ?? (await findFreePort());
  const file = join(folder, 'nginx.conf');
  writeFileSync(file, frame(folder, http(folder, port)));
  const child = spawn(join(commands, 'nginx'), ['-p', folder, '-c', file], { stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  child.stderr.on('data', (chunk: Buffer) => (log += chunk.toString()));
  const exited = once(child, 'exit');
  const killed = () => child.kill('SIGKILL');
  process.once('exit', killed);
  onEnd(async () => {
    child.kill('SIGTERM');
    await exited;
    process.off('exit', killed);
    rmSync(folder, { recursive: true, force: true });
  });
  let isListening = false;
  await until('nginx listens', () => {
    if (child.exitCode !== null) throw new Error(`nginx did not start:\n${log}`);
    const socket = connect(port, '127.0.0.1', () => {
      isListening = true;
      socket.destroy();
    });
    socket.on('error', () => {});
    return isListening;
  });
  return { port, folder };
}

function frame(folder: string, http: string): string {
  return `
daemon off;
${process.getuid!() === 0 ? 'user root;' : ''}
worker_processes 1;
pid ${folder}/nginx.pid;
error_log stderr error;
events { worker_connections 2048; }
http {
  access_log off;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/${name};`).join('\n  ')}
  ${http}
}
`;
}

export const examples = resolve(import.meta.dirname, '../../examples/nginx');

/** An operator's changes to a copy of an example. */
export interface Places {
  readonly instances: readonly number[];
  /** The port of nginx; a free port by default. */
  readonly port?: number;
  readonly statusFile?: string;
  /** A limit other than 50 requests a second and 100 at once. */
  readonly limit?: { readonly rate: string; readonly burst: number };
  /** A CDN is in front, at 127.0.0.1. */
  readonly cdn?: boolean;
}

/** Copies an example to a folder of nginx with only these changes. Returns the contents of the `http` block. */
function copyExample(folder: string, port: number, places: Places): string {
  cpSync(join(examples, 'snippets'), join(folder, 'snippets'), { recursive: true });
  const { instances, statusFile = join(folder, 'status.json'), limit, cdn } = places;
  const parameters = ' max_fails=1 fail_timeout=2s;';
  const changes: [from: string, to: string][] = [
    ['\n  listen 80;', `\n  listen 127.0.0.1:${port};`],
    ['\n  listen [::]:80;', `\n  listen [::1]:${port};`],
    ['server 127.0.0.1:3000' + parameters, instances.map((at) => `server 127.0.0.1:${at}${parameters}`).join('\n  ')],
    ['/var/lib/hosting-api/status.json', statusFile],
    ['/var/cache/hosting-api ', `${folder}/cache `],
  ];
  if (cdn) changes.push(['# set_real_ip_from 192.0.2.0/24;', 'set_real_ip_from 127.0.0.1;']);
  if (cdn) changes.push(['# real_ip_header', 'real_ip_header'], ['# real_ip_recursive', 'real_ip_recursive']);
  if (limit) changes.push(['rate=50r/s', `rate=${limit.rate}`], ['burst=100 ', `burst=${limit.burst} `]);
  let text = readFileSync(join(examples, 'cached.conf'), 'utf8');
  for (const [from, to] of changes) {
    const parts = text.split(from);
    if (parts.length !== 2) throw new Error(`cached.conf must have one ${from}, not ${parts.length - 1}`);
    text = parts.join(to);
  }
  writeFileSync(join(folder, 'cached.conf'), text);
  return `include ${folder}/cached.conf;`;
}

/** Starts nginx with a copy of an example that has only these changes. */
export const runExample = (run: RunNginx, places: Places, onEnd?: OnEnd): ReturnType<RunNginx> =>
  run((folder, port) => copyExample(folder, port, places), places.port, onEnd);
