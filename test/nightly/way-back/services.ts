import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** What systemd does on a real machine: it starts and stops the server, and the timer that builds. */
export interface Services {
  /** Where the program `systemctl` of the machine sends its arguments. */
  readonly url: string;
  systemctl(verb: string, unit: string): Promise<void>;
  /** Whether the unit of the timer is started. */
  isTimerActive(): boolean;
  /** The output of the server. */
  log(): string;
}

interface ServicesOptions {
  readonly app: string;
  /** Where the settings and the credentials are. */
  readonly etc: string;
  readonly env: NodeJS.ProcessEnv;
}

/** The unit of an instance, whose name is its port. */
const unitPattern = /^hosting-api@(\d+)$/;

/** Runs `npm run serve` as the unit does: with the settings, the port, a folder for compiled code, and a file for each credential. */
const command = `
set -a; . "$1/settings.env"; PORT=$2; NODE_COMPILE_CACHE=$1/../cache
for file in "$1"/credentials/*; do
  [ ! -e "$file" ] || export "$(basename "$file" | tr a-z- A-Z_)_FILE=$file"
done
exec npm run --silent serve`;

/** Starts the stand-in for systemd. A server has the settings of its files alone. */
export async function createServices({ app, etc, env }: ServicesOptions): Promise<Services> {
  const servers = new Map<string, ChildProcess>();
  let isTimerActive = true;
  let logged = '';
  const start = (port: string): void => {
    const args = ['-c', command, 'bash', etc, port];
    const server = spawn('bash', args, { cwd: app, env, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const output of [server.stdout, server.stderr]) {
      output.on('data', (chunk: Buffer) => (logged += chunk.toString()));
    }
    servers.set(port, server);
  };
  const stop = async (port: string): Promise<void> => {
    const server = servers.get(port);
    if (!server || server.exitCode !== null || server.signalCode !== null) return;
    const exited = once(server, 'close');
    server.kill('SIGTERM');
    await exited;
  };
  const systemctl = async (verb: string, unit: string): Promise<void> => {
    const [, port] = unitPattern.exec(unit) ?? [];
    if (unit === 'hosting-api-build.timer') isTimerActive = verb === 'start';
    else if (port === undefined) throw new Error(`there is no unit ${unit}`);
    else {
      if (verb !== 'start') await stop(port);
      if (verb !== 'stop') start(port);
    }
  };
  const listener = createServer((request, response) => {
    const [verb = '', unit = ''] = new URL(request.url!, 'http://localhost').searchParams.getAll('arg');
    systemctl(verb, unit).then(
      () => response.end(),
      (error: Error) => response.writeHead(400).end(error.message),
    );
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  onTestFinished(async () => {
    listener.close();
    await Promise.all([...servers.keys()].map(stop));
  });
  const url = `http://127.0.0.1:${(listener.address() as AddressInfo).port}/`;
  return { url, systemctl, isTimerActive: () => isTimerActive, log: () => logged };
}
