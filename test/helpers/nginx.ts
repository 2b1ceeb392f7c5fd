import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePort } from './free-port.ts';
import { describeInstalled } from './installed.ts';
import { until } from './upstream.ts';

/** A real nginx in front of several instances. */
export type Nginx = Awaited<ReturnType<typeof startNginx>>;

const installed = { name: 'nginx', package: 'nginx-light', commands: ['nginx'] };

/** A group of tests with its own nginx. */
export function describeNginx(body: (nginx: () => Nginx) => void): void {
  describeInstalled({ ...installed, start: startNginx, stop: (nginx) => nginx.stop() }, body);
}

/** Starts an nginx with the contents of its `http` block, which may use a folder of its own and a free port. */
export type RunNginx = (http: (folder: string, port: number) => string) => Promise<RunningNginx>;

/** An nginx with a configuration of a test. */
export type RunningNginx = Awaited<ReturnType<typeof runNginx>>;

/** A group of tests that start nginx with configurations of their own. */
export function describeRunNginx(body: (run: () => RunNginx) => void): void {
  const start = (commands: string): Promise<RunNginx> => Promise.resolve((http) => runNginx(commands, http));
  describeInstalled({ ...installed, start, stop: () => undefined }, body);
}

async function startNginx(commands: string) {
  const nginx = await runNginx(commands, (_, at) => configure(at, [1]));
  return {
    url: `http://127.0.0.1:${nginx.port}`,
    /**
     * Lets it forward to instances on these ports. A request whose connection is refused goes to another instance; one
     * with `X-Instance` goes to the instance on that port.
     */
    async forwardTo(ports: readonly number[]): Promise<void> {
      nginx.reload(configure(nginx.port, ports));
      let isReady = false;
      await until(`nginx forwards: ${nginx.log()}`, () => {
        void fetch(`http://127.0.0.1:${nginx.port}/health`).then(
          ({ status }) => (isReady = status === 200),
          () => {},
        );
        return isReady;
      });
    },
    stop: () => nginx.stop(),
  };
}

async function runNginx(commands: string, http: (folder: string, port: number) => string) {
  const folder = mkdtempSync(join(tmpdir(), 'hosting-api-nginx-'));
  const port = await findFreePort();
  const file = join(folder, 'nginx.conf');
  writeFileSync(file, frame(folder, http(folder, port)));
  const child = spawn(join(commands, 'nginx'), ['-p', folder, '-c', file], { stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  child.stderr.on('data', (chunk: Buffer) => (log += chunk.toString()));
  const exited = once(child, 'exit');
  const killed = () => child.kill('SIGKILL');
  process.once('exit', killed);
  return {
    port,
    /** What it wrote to its error log. */
    log: () => log,
    /** Loads other contents of its `http` block. */
    reload(text: string): void {
      writeFileSync(file, frame(folder, text));
      child.kill('SIGHUP');
    },
    async stop(): Promise<void> {
      child.kill('SIGTERM');
      await exited;
      process.off('exit', killed);
      rmSync(folder, { recursive: true, force: true });
    },
  };
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

function configure(port: number, instances: readonly number[]): string {
  return `
  map $http_x_instance $target { default api; ~^[0-9]+$ 127.0.0.1:$http_x_instance; }
  map $http_upgrade $connection_upgrade { default upgrade; '' ''; }
  upstream api {
    ${instances.map((instance) => `server 127.0.0.1:${instance} max_fails=0;`).join('\n    ')}
    keepalive 16;
  }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://$target;
      proxy_http_version 1.1;
      proxy_connect_timeout 1s;
      proxy_read_timeout 60s;
      proxy_set_header Host $http_host;
      proxy_set_header X-Forwarded-For $remote_addr;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection $connection_upgrade;
    }
  }
`;
}
