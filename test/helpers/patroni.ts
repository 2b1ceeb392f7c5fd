import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { withClient } from './postgres.ts';
import { findFreePort } from './free-port.ts';

const password = 'correct-horse-battery';
const [binaries] = globSync('/usr/lib/postgresql/*/bin').toSorted().toReversed();

/** Programs of Debian that a cluster needs and this machine lacks. */
export const missingPrograms = [
  ['patroni', '/usr/bin/patroni'],
  ['etcd-server', '/usr/bin/etcd'],
  ['haproxy', '/usr/sbin/haproxy'],
  ['postgresql', `${binaries}/initdb`],
].flatMap(([name, file]) => (existsSync(file!) ? [] : [name!]));

/** A cluster of three PostgreSQL servers under Patroni, three etcd, and HAProxy in front. */
export type Cluster = Awaited<ReturnType<typeof startCluster>>;

/** Starts a cluster in a new folder. */
export async function startCluster() {
  const folder = mkdtempSync(join(tmpdir(), 'hosting-api-patroni-'));
  const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  if (user.uid !== undefined) chownSync(folder, user.uid, user.gid);
  const numbers = [1, 2, 3];
  const freePorts = () => Promise.all(numbers.map(() => findFreePort()));
  const [clients, peers, databases, apis] = [
    await freePorts(),
    await freePorts(),
    await freePorts(),
    await freePorts(),
  ];
  const proxyPort = await findFreePort();
  const running = new Set<ChildProcess>();
  const run = (program: string, args: readonly string[]): ChildProcess => {
    const child = spawn(program, args, {
      ...user,
      cwd: folder,
      detached: true,
      stdio: 'ignore',
      env: { PATH: process.env['PATH'] },
    });
    running.add(child);
    child.once('exit', () => running.delete(child));
    return child;
  };
  const signal = (child: ChildProcess, name: NodeJS.Signals): void => {
    if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid!, name);
  };
  /** Sends a signal to each process of a server; each is in a separate process group. */
  const signalServer = (at: number, name: NodeJS.Signals): void => {
    const file = join(folder, `data${at}`, 'postmaster.pid');
    const pid = existsSync(file) ? readFileSync(file, 'utf8').split('\n', 1)[0]! : '';
    const children = `/proc/${pid}/task/${pid}/children`;
    if (!existsSync(children)) return;
    for (const each of [pid, ...readFileSync(children, 'utf8').split(' ')].map(Number)) {
      try {
        if (each > 0) process.kill(each, name);
      } catch {
        // It has ended.
      }
    }
  };
  const killAll = (): void => {
    for (const child of running) {
      signal(child, 'SIGCONT');
      signal(child, 'SIGKILL');
    }
    for (const at of numbers.keys()) {
      signalServer(at, 'SIGCONT');
      signalServer(at, 'SIGKILL');
    }
  };
  process.once('exit', killAll);

  const startEtcd = (at: number): ChildProcess => {
    const url = (port: number) => `http://127.0.0.1:${port}`;
    const members = peers.map((port, each) => `e${each}=${url(port)}`).join(',');
    const ports = {
      'listen-client-urls': clients,
      'advertise-client-urls': clients,
      'listen-peer-urls': peers,
      'initial-advertise-peer-urls': peers,
    };
    const flags = Object.entries(ports).map(([name, list]) => `--${name}=${url(list[at]!)}`);
    return run('/usr/bin/etcd', [
      `--name=e${at}`,
      `--data-dir=${folder}/etcd${at}`,
      `--initial-cluster=${members}`,
      '--unsafe-no-fsync',
      ...flags,
    ]);
  };
  const etcd = numbers.map((_, at) => startEtcd(at));
  const startNode = (at: number): ChildProcess => {
    mkdirSync(join(folder, `run${at}`), { recursive: true });
    if (user.uid !== undefined) chownSync(join(folder, `run${at}`), user.uid, user.gid);
    const config = {
      scope: 'test',
      name: `db${at}`,
      restapi: { listen: `127.0.0.1:${apis[at]}` },
      etcd3: { hosts: clients.map((port) => `127.0.0.1:${port}`) },
      bootstrap: {
        // The shortest times that Patroni accepts.
        dcs: {
          ttl: 20,
          loop_wait: 2,
          retry_timeout: 3,
          postgresql: {
            use_pg_rewind: true,
            parameters: {
              fsync: 'off',
              max_connections: 60,
              wal_log_hints: 'on',
              // Each write, with its time and the start of its connection.
              logging_collector: 'on',
              log_statement: 'mod',
              log_timezone: 'UTC',
              log_line_prefix: '%m|%s|',
              log_filename: 'postgres.log',
              log_rotation_age: 0,
            },
          },
        },
        initdb: ['no-sync', { encoding: 'UTF8' }],
      },
      postgresql: {
        listen: `127.0.0.1:${databases[at]}`,
        data_dir: join(folder, `data${at}`),
        bin_dir: binaries,
        remove_data_directory_on_rewind_failure: true,
        remove_data_directory_on_diverged_timelines: true,
        pgpass: join(folder, `run${at}`, 'pgpass'),
        authentication: {
          superuser: { username: 'postgres', password },
          replication: { username: 'replicator', password },
        },
        parameters: { unix_socket_directories: join(folder, `run${at}`), log_directory: join(folder, `run${at}`) },
        pg_hba: [
          'host all all 127.0.0.1/32 scram-sha-256',
          'host replication replicator 127.0.0.1/32 scram-sha-256',
          'local all all trust',
        ],
      },
    };
    const file = join(folder, `patroni${at}.yml`);
    writeFileSync(file, JSON.stringify(config));
    return run('/usr/bin/patroni', [file]);
  };
  const nodes = numbers.map((_, at) => startNode(at));
  const proxy = join(folder, 'haproxy.cfg');
  writeFileSync(
    proxy,
    `global
  maxconn 200
defaults
  mode tcp
  timeout connect 1s
  timeout client 30m
  timeout server 30m
listen postgres
  bind 127.0.0.1:${proxyPort}
  option httpchk GET /primary
  default-server inter 1s fall 2 rise 1 on-marked-down shutdown-sessions
${databases.map((port, at) => `  server db${at} 127.0.0.1:${port} check port ${apis[at]}`).join('\n')}
`,
  );
  run('/usr/sbin/haproxy', ['-f', proxy]);

  const call = async (at: number, path: string, method = 'GET', body?: object) => {
    const init = { method, signal: AbortSignal.timeout(30_000), ...(body && { body: JSON.stringify(body) }) };
    return await fetch(`http://127.0.0.1:${apis[at]}${path}`, init);
  };
  const states = () =>
    Promise.all(
      numbers.map(async (_, at) => {
        const answer = await call(at, '/patroni').catch(() => undefined);
        return (await answer?.json().catch(() => undefined)) as { role?: string; state?: string } | undefined;
      }),
    );
  const findLeader = async (): Promise<number> => {
    const found = await Promise.all(
      numbers.map((_, at) =>
        call(at, '/primary').then(
          ({ ok }) => ok,
          () => false,
        ),
      ),
    );
    return found.indexOf(true);
  };
  /** Waits until one server leads and two follow. */
  const complete = async (): Promise<number> => {
    for (;;) {
      const all = await states();
      const ready = all.filter((node) => node?.state === 'running' || node?.state === 'streaming');
      const leader = await findLeader();
      if (leader >= 0 && ready.length === 3) {
        const streaming = await withClient(
          urlOf([databases[leader]!], 'postgres'),
          async (client) =>
            (await client.query(`SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'`)).rowCount,
        ).catch(() => 0);
        if (streaming === 2) return leader;
      }
      await delay(500);
    }
  };
  const urlOf = (ports: readonly number[], database: string): string =>
    `postgres://postgres:${password}@${ports.map((port) => `127.0.0.1:${port}`).join(',')}/${database}`;
  return {
    /** The URL through HAProxy. */
    proxied: (database: string) => urlOf([proxyPort], database),
    /** The URL of all servers. */
    direct: (database: string) => urlOf(databases, database),
    urlOfNode: (at: number, database: string) => urlOf([databases[at]!], database),
    complete,
    findLeader,
    async setSynchronous(isOn: boolean): Promise<void> {
      await call(await complete(), '/config', 'PATCH', { synchronous_mode: isOn, synchronous_mode_strict: isOn });
      const leader = await complete();
      // PostgreSQL is synchronous some seconds before Patroni may choose that standby as the leader.
      const isSet = async (): Promise<boolean> => {
        const { members } = (await (await call(leader, '/cluster')).json()) as { members: { role: string }[] };
        return members.some(({ role }) => role === 'sync_standby');
      };
      while ((await isSet()) !== isOn) await delay(500);
    },
    /** Makes a standby the leader, in order. */
    async switchOver(): Promise<void> {
      const leader = await findLeader();
      await call(leader, '/switchover', 'POST', { leader: `db${leader}` });
    },
    /** Kills a server and its Patroni, or freezes both. */
    signalNode(at: number, name: NodeJS.Signals): void {
      signal(nodes[at]!, name);
      signalServer(at, name);
    },
    /** Reads the writes of a server since a time, and when their connections began. */
    writesSince(at: number, since: number) {
      const lines = readFileSync(join(folder, `run${at}`, 'postgres.log'), 'utf8').split(/\n(?=20)/);
      return lines.flatMap((line) => {
        const [time = '', began = '', text = ''] = line.split('|');
        const write = { time: Date.parse(time), connectedAt: Date.parse(began), text };
        return write.time >= since && /hosting_/.test(text) && /INSERT|UPDATE|DELETE/.test(text) ? [write] : [];
      });
    },
    restartNode: (at: number): void => void (nodes[at] = startNode(at)),
    /** Kills two of three etcd. */
    async loseQuorum(): Promise<void> {
      for (const at of [0, 1]) {
        const exited = once(etcd[at]!, 'exit');
        signal(etcd[at]!, 'SIGKILL');
        await exited;
      }
    },
    restoreQuorum: (): void => {
      for (const at of [0, 1]) etcd[at] = startEtcd(at);
    },
    async stop(): Promise<void> {
      killAll();
      while (running.size > 0) await delay(50);
      process.off('exit', killAll);
      await delay(200);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
