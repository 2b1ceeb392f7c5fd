import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { onTestFinished } from 'vitest';
import { createApp } from '../../server/app.ts';
import { readEnv } from '../../server/env.ts';
import { createListener } from '../../server/http/listener.ts';
import { createLog } from '../../server/log.ts';
import { createClientFinder } from '../../server/middleware/client-ip.ts';
import { createCors } from '../../server/middleware/cors.ts';
import { createRateLimit } from '../../server/middleware/rate-limit.ts';
import { open } from '../../server/serve.ts';
import { createLifecycle } from '../../server/services/lifecycle.ts';
import type { Lifecycle } from '../../server/services/lifecycle.ts';
import { openReleases } from '../../server/services/releases.ts';
import { buildProject, createProject } from './project.ts';

/** The whole server, on a real port. */
export interface TestApp {
  readonly url: string;
  readonly port: number;
  /** The project folder whose `dist` is served. */
  readonly root: string;
  readonly lifecycle: Lifecycle;
  request(path: string, init?: RequestInit): Promise<Response>;
  /** Sends bytes as they are, and answers all that comes back until the connection ends or falls silent. */
  raw(request: string): Promise<string>;
  /** The lines of the log so far, parsed. */
  log(): Record<string, unknown>[];
}

/** Starts the server on a project folder; without one, on the sound project, built. */
export async function createTestApp({
  root,
  settings = {},
}: { root?: string; settings?: Record<string, string> } = {}): Promise<TestApp> {
  const project = root ?? createProject();
  if (root === undefined) await buildProject(project);
  const env = readEnv({ RATELIMIT_RPS: '100000', RATELIMIT_BURST: '100000', SERVICE_VERSION: '1.2.3', ...settings });
  const destination = new PassThrough();
  let written = '';
  destination.on('data', (chunk: Buffer) => (written += chunk.toString()));
  const log = createLog({ level: env.LOG_LEVEL, format: 'json', destination });
  const releases = await openReleases(join(project, 'dist'), {
    taken: ({ id }) => log.info({ release: id }, 'new release'),
    refused: (error) => log.error({ err: error }, 'new release refused; the one before is still served'),
  });
  const lifecycle = createLifecycle();
  const limit = createRateLimit({
    name: 'default',
    rps: env.RATELIMIT_RPS,
    burst: env.RATELIMIT_BURST,
    blockSeconds: env.RATELIMIT_BLOCK_SECONDS,
  });
  const listener = createListener({
    app: createApp({ releases, lifecycle, version: env.SERVICE_VERSION }, limit),
    releases,
    limit,
    log,
    findClient: createClientFinder(env.TRUSTED_PROXIES),
    cors: createCors({ origins: env.CORS_ORIGINS, allowLocal: env.ALLOW_LOCAL_ORIGINS }),
    draining: () => lifecycle.state() === 'draining',
  });
  const serving = await open(listener, '127.0.0.1', 0);
  onTestFinished(async () => {
    releases.stop();
    serving.server.closeAllConnections();
    await serving.stop(0);
  });
  const { port } = serving.server.address() as { port: number };
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    port,
    root: project,
    lifecycle,
    request: (path, init) => fetch(url + path, { redirect: 'manual', ...init }),
    raw: (request) => sendRaw(port, request),
    log: () =>
      written
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line) as Record<string, unknown>),
  };
}

async function sendRaw(port: number, request: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  let received = '';
  socket.on('data', (chunk) => (received += chunk.toString('latin1')));
  socket.on('error', () => undefined);
  socket.setTimeout(1000, () => socket.destroy());
  socket.write(request, 'latin1');
  await once(socket, 'close');
  return received;
}
