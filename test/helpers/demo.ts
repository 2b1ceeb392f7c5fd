import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { readEnv } from '../../server/env.ts';
import { startServer } from '../../server/start.ts';
import { sharedProject } from '../server/shared.ts';
import { offline } from './app.ts';
import { temporaryFolder } from './project.ts';
import { createTestLog } from './upstream.ts';

/** The settings of a server with an empty store, which asks no other host. */
export async function demoSettings() {
  const folders = { DIST_DIR: join(await sharedProject(), 'dist'), DATA_DIR: temporaryFolder() };
  return { PORT: '0', ...folders, ...offline, SHUTDOWN_GRACE_SECONDS: '0' };
}

/** Starts the server as `npm start` does: with the demo servers, and a key for them. */
export async function startDemo(changes: Readonly<Record<string, string>> = {}): Promise<{ url: string; key: string }> {
  const settings = { ...(await demoSettings()), POWER_RATELIMIT_BURST: '20', ...changes };
  const { log } = createTestLog();
  const server = await startServer(readEnv(settings), log, { demo: true });
  onTestFinished(() => server.stop());
  return { url: server.url, key: server.demoKey! };
}
