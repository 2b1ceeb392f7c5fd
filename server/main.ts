import { existsSync } from 'node:fs';
import { createApp } from './app.ts';
import { EnvError, readEnv } from './env.ts';
import { createListener } from './http/listener.ts';
import { createLog } from './log.ts';
import { createClientFinder } from './middleware/client-ip.ts';
import { createCors } from './middleware/cors.ts';
import { createRateLimit } from './middleware/rate-limit.ts';
import { open } from './serve.ts';
import { createLifecycle } from './services/lifecycle.ts';
import { ReleaseError, openReleases } from './services/releases.ts';

if (existsSync('.env')) process.loadEnvFile();

try {
  await main();
} catch (error) {
  // What an operator can mend is said in a line; anything else is a defect, and its stack is wanted.
  const expected =
    error instanceof EnvError ||
    error instanceof ReleaseError ||
    (error as NodeJS.ErrnoException).code !== undefined ||
    (error as Error).name === 'GetPortError';
  process.stderr.write(`${expected ? (error as Error).message : (error as Error).stack}\n`);
  process.exit(1);
}

async function main(): Promise<void> {
  const env = readEnv(process.env);
  const log = createLog({ level: env.LOG_LEVEL, format: env.LOG_FORMAT ?? (process.stdout.isTTY ? 'pretty' : 'json') });
  const releases = await openReleases(env.DIST_DIR, {
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
  const app = createApp({ releases, lifecycle, version: env.SERVICE_VERSION }, limit);
  const listener = createListener({
    app,
    releases,
    limit,
    log,
    findClient: createClientFinder(env.TRUSTED_PROXIES),
    cors: createCors({ origins: env.CORS_ORIGINS, allowLocal: env.ALLOW_LOCAL_ORIGINS }),
    draining: () => lifecycle.state() === 'draining',
  });
  const serving = await open(listener, env.HOST, env.PORT);
  log.info({ url: serving.url, release: releases.current().id, version: env.SERVICE_VERSION }, 'listening');

  const stop = async (signal: string): Promise<void> => {
    if (lifecycle.state() === 'draining') process.exit(1);
    log.info({ signal }, 'draining');
    lifecycle.drain();
    releases.stop();
    await serving.stop(env.SHUTDOWN_GRACE_SECONDS);
    log.info('stopped');
    process.exit(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => void stop(signal));
  process.on('SIGHUP', () => undefined);
}
