import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { onTestFinished } from 'vitest';
import { temporaryFolder } from '../helpers/project.ts';
import type { OnEnd } from '../helpers/upstream.ts';
import { copyProject } from './shared.ts';

/** The server in its own process. */
export type ServerProcess = ReturnType<typeof startProcess>;

const main = resolve(import.meta.dirname, '../../server/main.js');

/**
 * Starts `node server/main.js` with only these settings and arguments. Stopped at the end of the test, or
 * by `onEnd`.
 */
export function startProcess(
  settings: Readonly<Record<string, string>>,
  {
    cwd = temporaryFolder(),
    args = [],
    onEnd = onTestFinished,
  }: { cwd?: string; args?: readonly string[]; onEnd?: OnEnd } = {},
) {
  const env = { PATH: process.env.PATH, ...settings };
  const child = spawn(process.execPath, [main, ...args], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const closed = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
  onEnd(async () => {
    child.kill('SIGKILL');
    await closed;
  });

  const log = () =>
    stdout
      .split('\n')
      .slice(0, -1)
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  const find = (message: string) => log().find(({ msg }) => msg === message);
  const logged = async (message: string): Promise<Record<string, unknown>> => {
    for (;;) {
      const line = find(message);
      if (line) return line;
      const more = await Promise.race([once(child.stdout, 'data'), closed.then(() => undefined)]);
      if (!more && !find(message)) throw new Error(`it ended without logging "${message}": ${stdout}${stderr}`);
    }
  };
  return {
    child,
    /** The output so far. */
    stdout: () => stdout,
    stderr: () => stderr,
    /** The parsed log so far. */
    log,
    /** Waits for a log line with this message; throws if the process ends first. */
    logged,
    /** Waits for the port. */
    listening: async () => Number(new URL((await logged('listening')).url as string).port),
    /** Waits for the exit status or signal. */
    ended: async (): Promise<number | string> => {
      const [code, signal] = await closed;
      return code ?? signal!;
    },
  };
}

/** Creates a release of the valid project, and settings to serve it on a free port. */
export async function createServable(): Promise<{ root: string; settings: Record<string, string> }> {
  const root = await copyProject();
  return { root, settings: { PORT: '0', DIST_DIR: join(root, 'dist'), DNS_SERVERS: 'off', RDAP_BOOTSTRAP_URL: 'off' } };
}

/** Starts a server with a new release and these settings, and waits for its port. */
export async function serveProcess(
  changes: Readonly<Record<string, string>> = {},
  options?: Parameters<typeof startProcess>[1],
) {
  const { root, settings } = await createServable();
  const server = startProcess({ ...settings, ...changes }, options);
  return { ...server, root, port: await server.listening() };
}
