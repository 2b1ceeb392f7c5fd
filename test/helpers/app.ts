import { once } from 'node:events';
import { connect } from 'node:net';
import type { NetConnectOpts } from 'node:net';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { readEnv } from '../../server/env.ts';
import { startServer } from '../../server/start.ts';
import { buildProject, createProject } from './project.ts';
import { createTestLog } from './upstream.ts';
import type { OnEnd } from './upstream.ts';

/** The complete server, on a real port. */
export type TestApp = Awaited<ReturnType<typeof createTestApp>>;

/** Settings that keep the server from contacting the internet. */
export const offline = { DNS_SERVERS: 'off', RDAP_BOOTSTRAP_URL: 'off' };
/** Settings without limits for a client address. */
export const unlimited = { RATELIMIT_RPS: '100000', RATELIMIT_BURST: '100000' };

/** Starts the server on a project folder; without one, it builds and serves the valid project. */
export async function createTestApp({
  root,
  settings = {},
  demo = false,
  onEnd = onTestFinished,
}: { root?: string; settings?: Record<string, string>; demo?: boolean; onEnd?: OnEnd | undefined } = {}) {
  const project = root ?? createProject();
  if (root === undefined) await buildProject(project);
  const env = readEnv({
    PORT: '0',
    DIST_DIR: join(project, 'dist'),
    DATA_DIR: join(project, 'data'),
    SERVICE_VERSION: '1.2.3',
    SHUTDOWN_GRACE_SECONDS: '0',
    ...unlimited,
    ...offline,
    ...settings,
  });
  const { log, lines } = createTestLog(env.LOG_LEVEL);
  const server = await startServer(env, log, { demo });
  let stopped: Promise<void> | undefined;
  const stop = () => (stopped ??= server.stop());
  onEnd(stop);
  const { url } = server;
  const port = Number(new URL(url).port);
  return {
    url,
    port,
    /** The project folder with the served `dist`. */
    root: project,
    stop,
    /** The demo's key, if this start created the demo. */
    demoKey: server.demoKey?.text,
    /** The port for operators, if OPERATOR_PORT is set. */
    operatorPort: server.operatorsUrl === undefined ? undefined : Number(new URL(server.operatorsUrl).port),
    /** The port for metrics, if METRICS_PORT is set. */
    metricsPort: server.metricsUrl === undefined ? undefined : Number(new URL(server.metricsUrl).port),
    /** Reads the metrics; rejects without METRICS_PORT. */
    metrics: async () => (await fetch(server.metricsUrl!)).text(),
    /** Begins the shutdown: /ready says `draining`. */
    drain: () => server.drain(),
    request: (path: string, init?: RequestInit) => fetch(url + path, { redirect: 'manual', ...init }),
    /**
     * Sends raw bytes. Resolves to the response once the connection closes, or is idle for half a second after the
     * first byte.
     */
    raw: (request: string) => sendRaw(port, request),
    /** Returns the parsed log lines so far. */
    log: lines,
  };
}

async function sendRaw(port: number, request: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  let received = '';
  let idle = 0;
  // Counts turns of the event loop that the server shares, not seconds: a busy machine does not mean an idle server.
  const turns = setInterval(() => (idle += 1) > (received === '' ? 400 : 10) && socket.destroy(), 50);
  socket.on('data', (chunk) => {
    received += chunk.toString('latin1');
    idle = 0;
  });
  socket.on('error', () => undefined);
  socket.write(request, 'latin1');
  await once(socket, 'close');
  clearInterval(turns);
  return received;
}

/** Opens a local connection until the test ends, and collects the received data in `received`. */
export async function openRaw(port: number, options: Partial<NetConnectOpts> = {}) {
  const socket = connect({ port, host: '127.0.0.1', ...options });
  onTestFinished(() => void socket.destroy());
  let received = '';
  socket.on('data', (chunk: Buffer) => (received += chunk.toString('latin1')));
  socket.on('error', () => undefined);
  /** The time when the connection closed. */
  const closed = new Promise<number>((done) => socket.on('close', () => done(performance.now())));
  await once(socket, 'connect');
  return { socket, received: () => received, closed };
}
