import { EnvError, loadEnvFile, readEnv } from './env.ts';
import { ListenError } from './http/server.ts';
import { createLog } from './log.ts';
import { ReleaseError } from './services/releases.ts';
import { startServer } from './start.ts';

// A terminal that goes away is no reason to stop.
process.on('SIGHUP', () => undefined);

try {
  loadEnvFile();
  const env = readEnv(process.env);
  const format = env.LOG_FORMAT ?? (process.stdout.isTTY ? 'pretty' : 'json');
  const log = createLog({ level: env.LOG_LEVEL, format });

  const starting = startServer(env, log);
  let stopping = false;
  const stop = async (signal: string): Promise<void> => {
    if (stopping) process.exit(1);
    stopping = true;
    const server = await starting;
    const stopped = server.stop();
    log.info({ signal }, 'draining');
    await stopped;
    log.info('stopped');
    process.exit(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => void stop(signal));
  await starting;
} catch (error) {
  process.stderr.write(`${describe(error as Error)}\n`);
  process.exit(1);
}

/** What an operator can mend is said in a line; anything else is a defect, and its stack is wanted. */
function describe(error: Error): string {
  const expected = error instanceof EnvError || error instanceof ReleaseError || error instanceof ListenError;
  return expected ? error.message : (error.stack ?? error.message);
}
