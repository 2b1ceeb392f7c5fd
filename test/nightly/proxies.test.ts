import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { examine } from '../../server/doctor/visit.ts';
import { hastenPings } from '../helpers/clock.ts';
import { findFreePort } from '../helpers/free-port.ts';
import { describeInstalled } from '../helpers/installed.ts';
import { resolveToLoopback } from '../helpers/loopback.ts';
import { temporaryFolder } from '../helpers/project.ts';
import { until } from '../helpers/upstream.ts';
import { serveShared } from '../server/shared.ts';

/** A proxy of Debian: its arguments, and its configuration for these instances. */
interface Proxy {
  readonly package: string;
  readonly command: string;
  readonly files?: readonly string[];
  readonly start: (config: string, port: number, folder: string) => readonly string[];
  readonly configure: (port: number, instances: readonly number[], folder: string) => string;
}

const modules = '/usr/lib/apache2/modules';
const loaded =
  'mpm_event authz_core headers proxy proxy_http proxy_balancer lbmethod_byrequests slotmem_shm proxy_wstunnel proxy_hcheck'.split(
    ' ',
  );

/** Repeats a line for each instance. */
const each = (instances: readonly number[], line: (port: number, at: number) => string): string =>
  instances.map(line).join('\n');

const proxies: Readonly<Record<string, Proxy>> = {
  HAProxy: {
    package: 'haproxy',
    command: 'haproxy',
    start: (config) => ['-db', '-f', config],
    configure: (port, instances) => `
defaults
  mode http
  timeout connect 2s
  timeout client 60s
  timeout server 60s
  timeout tunnel 90s
  timeout check 5s
  option redispatch
  retry-on conn-failure empty-response
frontend public
  bind 127.0.0.1:${port}
  bind [::1]:${port}
  default_backend instances
backend instances
  http-request set-header X-Forwarded-For %[src]
  option httpchk
  http-check send meth GET uri /ready ver HTTP/1.1 hdr Host localhost
${each(instances, (to) => `  server api${to} 127.0.0.1:${to} check inter 300ms fall 2 rise 1`)}
`,
  },
  Apache: {
    package: 'apache2',
    command: 'apache2',
    files: [`${modules}/mod_proxy_http.so`],
    start: (config, _, folder) => ['-DFOREGROUND', '-d', folder, '-f', config],
    configure: (port, instances, folder) => `
${loaded.map((name) => `LoadModule ${name}_module ${modules}/mod_${name}.so`).join('\n')}
${process.getuid!() === 0 ? 'User nobody\nGroup nogroup' : ''}
ServerName localhost
PidFile ${folder}/pid
ErrorLog ${folder}/error.log
Listen 127.0.0.1:${port}
Listen [::1]:${port}
AllowEncodedSlashes NoDecode
ProxyPreserveHost On
RequestHeader unset X-Forwarded-For early
<Proxy balancer://instances>
${each(instances, (to) => `BalancerMember http://127.0.0.1:${to} ttl=60 retry=1 hcmethod=GET hcuri=/ready hcinterval=1 upgrade=websocket timeout=90`)}
</Proxy>
ProxyPass / balancer://instances/ nocanon
`,
  },
  Caddy: {
    package: 'caddy',
    command: 'caddy',
    start: (config) => ['run', '--adapter', 'caddyfile', '--config', config],
    configure: (port, instances) => `
{
  admin off
  auto_https off
}
http://:${port} {
  bind 127.0.0.1 ::1
  reverse_proxy ${instances.map((to) => `127.0.0.1:${to}`).join(' ')} {
    health_uri /ready
    health_interval 200ms
    lb_try_duration 5s
    transport http {
      keepalive 60s
    }
  }
}
`,
  },
  Varnish: {
    package: 'varnish',
    command: 'varnishd',
    start: (config, port, folder) => {
      const options = [
        '-F',
        '-f',
        config,
        '-n',
        join(folder, 'work'),
        '-a',
        `127.0.0.1:${port}`,
        '-a',
        `[::1]:${port}`,
      ];
      return [...options, '-p', 'http_gzip_support=off', '-p', 'pipe_timeout=90'];
    },
    configure: (_, instances) => `
vcl 4.1;
import directors;
probe ready { .url = "/ready"; .interval = 200ms; .timeout = 1s; .window = 2; .threshold = 2; .initial = 2; }
${each(instances, (to, at) => `backend api${at} { .host = "127.0.0.1"; .port = "${to}"; .probe = ready; }`)}
sub vcl_init {
  new instances = directors.round_robin();
  ${each(instances, (_to, at) => `instances.add_backend(api${at});`)}
}
sub vcl_recv {
  set req.backend_hint = instances.backend();
  set req.http.X-Forwarded-For = client.ip;
  if (req.http.Upgrade ~ "(?i)websocket") { return (pipe); }
}
sub vcl_pipe {
  set bereq.http.Upgrade = req.http.Upgrade;
  set bereq.http.Connection = req.http.Connection;
}
`,
  },
  nginx: {
    package: 'nginx-light',
    command: 'nginx',
    start: (config, _, folder) => ['-p', folder, '-c', config],
    configure: (port, instances, folder) => `
daemon off;
${process.getuid!() === 0 ? 'user root;' : ''}
pid ${folder}/pid;
error_log stderr error;
events { }
http {
  access_log off;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  map $http_upgrade $connection_upgrade { default upgrade; '' ''; }
  upstream instances {
    ${each(instances, (to) => `server 127.0.0.1:${to} max_fails=0;`)}
    keepalive 16;
  }
  server {
    listen 127.0.0.1:${port};
    listen [::1]:${port};
    client_max_body_size 64k;
    location / {
      proxy_pass http://instances;
      proxy_http_version 1.1;
      proxy_set_header Host $http_host;
      proxy_set_header X-Forwarded-For $remote_addr;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection $connection_upgrade;
      proxy_read_timeout 90s;
    }
  }
}
`,
  },
};

const limited = { RATELIMIT_RPS: '5', RATELIMIT_BURST: '500', TRUSTED_PROXIES: '127.0.0.1,::1' };

for (const [name, proxy] of Object.entries(proxies)) {
  const { package: debian, command, files = [] } = proxy;
  describeInstalled({ name, package: debian, commands: [command], files }, (binaries) => {
    /** Starts the proxy in front of instances. */
    async function startProxy(instances: readonly number[], port: number): Promise<void> {
      const folder = temporaryFolder();
      chmodSync(folder, 0o755);
      const config = join(folder, 'config');
      writeFileSync(config, proxy.configure(port, instances, folder));
      const env = { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
      const child = spawn(join(binaries(), command), proxy.start(config, port, folder), { cwd: folder, env });
      let output = '';
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
      const exited = once(child, 'exit');
      onTestFinished(async () => {
        child.kill('SIGTERM');
        await exited;
      });
      let isListening = false;
      await until(`${name} listens`, () => {
        if (child.exitCode !== null) throw new Error(`${name} did not start:\n${output}`);
        const socket = connect(port, '127.0.0.1', () => {
          isListening = true;
          socket.destroy();
        });
        socket.on('error', () => undefined);
        return isListening;
      });
      const isReady = () => fetch(`http://127.0.0.1:${port}/ready`).then(({ status }) => status, String);
      await expect.poll(isReady).toBe(200);
    }

    test('the doctor finds no fault', async () => {
      hastenPings();
      const port = await findFreePort();
      const app = await serveShared({ ...limited, PUBLIC_URL: `http://localhost:${port}` });
      await startProxy([app.port], port);
      resolveToLoopback();
      const found = await examine(new URL(`http://localhost:${port}`), app.key);
      const others = found.filter(({ state }) => state !== 'ok');
      expect(others.map(({ check, state }) => `${check}: ${state}`)).toEqual([
        'TLS: skipped',
        'forged X-Forwarded-For: skipped',
      ]);
    });

    test('each of 60 refused bodies gets its response', async () => {
      const port = await findFreePort();
      await startProxy([(await serveShared({ TRUSTED_PROXIES: '127.0.0.1' })).port], port);
      const headers = { 'Content-Type': 'application/json' };
      const body = JSON.stringify({ title: 'x'.repeat(60_000) });
      const send = () => fetch(`http://127.0.0.1:${port}/v1/kb/feedback`, { method: 'POST', headers, body });
      const statuses: number[] = [];
      for (let round = 0; round < 6; round += 1)
        statuses.push(...(await Promise.all(Array.from({ length: 10 }, send))).map(({ status }) => status));
      expect(statuses).toEqual(Array.from({ length: 60 }, () => 400));
    });

    test('no request fails while two instances restart one after the other', async () => {
      const settings = { TRUSTED_PROXIES: '127.0.0.1', SHUTDOWN_GRACE_SECONDS: '10' };
      const apps = await Promise.all([serveShared(settings), serveShared(settings)]);
      const port = await findFreePort();
      await startProxy(
        apps.map((app) => app.port),
        port,
      );
      const over = new AbortController();
      const failed: unknown[] = [];
      const load = ['/v1/plans', '/v1/info', '/v1/plans', '/v1/info'].map(async (target) => {
        while (!over.signal.aborted) {
          const status = await fetch(`http://127.0.0.1:${port}${target}`).then(async (response) => {
            await response.arrayBuffer();
            return response.status;
          }, String);
          if (status !== 200) failed.push(status);
          // Leave the processor to health checks.
          await sleep(5);
        }
      });
      for (const app of apps) {
        // As with SHUTDOWN_DELAY_SECONDS: the proxy sees `draining` at /ready.
        app.drain();
        await sleep(4000);
        await app.stop();
        const { log } = await serveShared({ ...settings, PORT: String(app.port) });
        const served = () => log().filter(({ url }) => url === '/v1/info').length;
        await expect.poll(served).toBeGreaterThan(20);
      }
      over.abort();
      await Promise.all(load);
      expect(failed).toEqual([]);
    });
  });
}
