import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { offline, unlimited } from '../helpers/app.ts';
import { openClient } from '../helpers/console-client.ts';
import { createHostingWorld } from '../helpers/hosting.ts';
import { missingPrograms, startCluster } from '../helpers/patroni.ts';
import type { Cluster } from '../helpers/patroni.ts';
import { withClient } from '../helpers/postgres.ts';
import { temporaryFolder } from '../helpers/project.ts';
import { startProcess } from '../server/process.ts';
import { copyProject } from '../server/shared.ts';

/** By default one fault, with HAProxy: all of them take twenty minutes. `FAILOVER=all vitest run failover`. */
const isAll = process.env['FAILOVER'] === 'all';

interface Fault {
  /** Begins the fault; resolves to a function that ends it. */
  readonly begin: (cluster: Cluster) => Promise<() => Promise<void | number>>;
  readonly seconds: number;
}

const faults: Readonly<Record<string, Fault>> = {
  switchover: {
    seconds: 15,
    async begin(cluster) {
      await cluster.switchOver();
      return async () => undefined;
    },
  },
  'kill -9 of the leader': {
    seconds: 45,
    async begin(cluster) {
      const leader = await cluster.findLeader();
      cluster.signalNode(leader, 'SIGKILL');
      return async () => cluster.restartNode(leader);
    },
  },
  'a frozen leader that thaws': {
    seconds: 50,
    async begin(cluster) {
      const leader = await cluster.findLeader();
      cluster.signalNode(leader, 'SIGSTOP');
      return async () => {
        cluster.signalNode(leader, 'SIGCONT');
        return leader;
      };
    },
  },
  'etcd without a quorum': {
    seconds: 40,
    async begin(cluster) {
      await cluster.loseQuorum();
      return async () => cluster.restoreQuorum();
    },
  },
};

const rows = Object.keys(faults).flatMap((name) =>
  [true, false].flatMap((isSynchronous) => ['proxied', 'direct'].map((way) => ({ name, isSynchronous, way }) as const)),
);
const chosen = isAll
  ? rows
  : rows.filter(({ name, isSynchronous, way }) => name === 'switchover' && isSynchronous && way === 'proxied');

const tally = (list: readonly (number | string)[]) =>
  Object.fromEntries([...Map.groupBy(list, String)].map(([key, all]) => [key, all.length]));

describe.skipIf(missingPrograms.length > 0)(
  `with Patroni (missing: ${missingPrograms.join(', ') || 'nothing'})`,
  () => {
    let cluster: Cluster;
    let databases = 0;
    beforeAll(async () => {
      cluster = await startCluster();
      await cluster.complete();
    });
    afterAll(() => cluster?.stop());

    test.each(chosen)(
      '$name, synchronous $isSynchronous, $way: nothing is lost, or the log says so',
      async ({ name, isSynchronous, way }) => {
        await cluster.complete();
        await cluster.setSynchronous(isSynchronous);
        const database = `h${(databases += 1)}`;
        await withClient(cluster.proxied('postgres'), (client) => client.query(`CREATE DATABASE ${database}`));
        const databaseUrl = way === 'proxied' ? cluster.proxied(database) : cluster.direct(database);
        const world = await createHostingWorld(temporaryFolder(), { databaseUrl });
        const key = await world.issueKey();
        const root = await copyProject();
        const settings = {
          ...world.settings,
          ...unlimited,
          ...offline,
          FEEDBACK_RATELIMIT_BURST: '100000',
          PORT: '0',
          DIST_DIR: `${root}/dist`,
        };
        const instances = [startProcess(settings), startProcess(settings)];
        const ports = await Promise.all(instances.map((each) => each.listening()));
        world.panel.wings.become('running');
        for (const port of ports) while ((await ask(port, '/ready')).status !== 200) await sleep(100);
        const streams = await Promise.all(
          ports.map(async (port) => {
            const { text } = await ask(port, '/v1/hosting/game/console/mine/websocket', { key });
            const { websocket } = JSON.parse(text) as { websocket: { token: string } };
            const client = await openClient(`ws://127.0.0.1:${port}/v1/hosting/game/console/mine/stream`);
            client.send('auth', websocket.token);
            return client;
          }),
        );
        let closed = 0;
        for (const { ended } of streams) void ended.then(() => (closed += 1));

        const fault = faults[name]!;
        const began = Date.now();
        const ends = began + (5 + fault.seconds + 25) * 1000;
        const seen = {
          content: [] as number[],
          votes: [] as number[],
          states: [] as number[],
          actions: [] as string[],
        };
        const unready = ports.map(() => ({ from: 0, to: 0 }));
        const finals = new Map<string, number>();
        const every = async (ms: number, work: (turn: number) => Promise<void>): Promise<void> => {
          const running: Promise<void>[] = [];
          for (let turn = 0; Date.now() < ends; turn += 1) {
            running.push(work(turn));
            await sleep(ms);
          }
          await Promise.all(running);
        };
        const traffic = Promise.all([
          every(100, async (turn) => void seen.content.push((await ask(ports[turn % 2]!, '/v1/blog/list')).status)),
          every(200, async (turn) => {
            const body = JSON.stringify({ helpful: true, slug: '/knowledgebase/vps/ssh' });
            seen.votes.push((await ask(ports[turn % 2]!, '/v1/kb/feedback', { method: 'POST', body })).status);
          }),
          every(
            500,
            async (turn) =>
              void seen.states.push((await ask(ports[turn % 2]!, '/v1/hosting/game/power/mine', { key })).status),
          ),
          every(250, async (turn) => {
            const command = `say ${database}-${turn}`;
            // Repeated through the other instance until it is answered.
            for (let attempt = 0; attempt < 40; attempt += 1) {
              const port = ports[(turn + attempt) % 2]!;
              const answer = await ask(port, '/v1/hosting/game/console/mine/command', {
                method: 'POST',
                key,
                body: JSON.stringify({ command }),
                headers: { 'Idempotency-Key': command.replaceAll(' ', '-') },
              });
              seen.actions.push(`${answer.status} ${answer.headers.get('action-outcome') ?? ''}`.trim());
              finals.set(command, answer.status);
              if (
                answer.status === 404 ||
                answer.status < 400 ||
                (answer.status !== 409 && answer.headers.get('action-outcome') === 'unknown')
              )
                return;
              await sleep(2000);
            }
          }),
          every(200, async () => {
            for (const [at, port] of ports.entries()) {
              const { status } = await ask(port, '/ready');
              if (status === 200 && unready[at]!.from > 0 && unready[at]!.to < unready[at]!.from)
                unready[at]!.to = Date.now();
              if (status !== 200 && unready[at]!.from === 0) unready[at]!.from = Date.now();
              if (status !== 200) unready[at]!.to = 0;
            }
          }),
        ]);
        await sleep(5000);
        const end = await fault.begin(cluster);
        await sleep(fault.seconds * 1000);
        const former = await end();
        const endedAt = Date.now();
        await traffic;
        const isWritten = async (): Promise<boolean> =>
          (await Promise.all(ports.map((port) => ask(port, '/ready')))).every(({ status }) => status === 200);
        await expect.poll(isWritten).toBe(true);
        await cluster.complete();
        await sleep(3000);

        const counted = (await world.store.feedback.report({})).reduce((sum, { helpful }) => sum + helpful, 0);
        const accepted = seen.votes.filter((status) => status === 202).length;
        const effects = Map.groupBy(
          world.panel.commands.filter((command) => command.startsWith(`say ${database}-`)),
          (command) => command,
        );
        const twice = [...effects].filter(([, all]) => all.length > 1).map(([command]) => command);
        const answered = [...finals].filter(([, status]) => status === 200).map(([command]) => command);
        const outcomes = Map.groupBy(
          await Array.fromAsync(world.store.audit.entries({})),
          ({ detail }) => detail ?? '',
        );
        const unwritten = answered.filter(
          (command) => !outcomes.get(command)?.some(({ phase, outcome }) => phase === 'finished' && outcome === 'ok'),
        );
        const late = former === undefined ? [] : cluster.writesSince(former, endedAt);
        const lines = instances
          .flatMap((each) => each.log())
          .filter(({ level, msg }) => ['error', 'warn'].includes(String(level)) || String(msg).startsWith('the store'));
        const figures = {
          fault: name,
          synchronous: isSynchronous,
          way,
          content: tally(seen.content),
          votes: { ...tally(seen.votes), counted, lost: accepted - counted },
          states: tally(seen.states),
          answers: tally(seen.actions),
          commands: finals.size,
          final: tally([...finals.values()]),
          done: effects.size,
          twice: twice.length,
          ends_lost: unwritten.length,
          streams_closed: closed,
          unready_seconds: unready.map(({ from, to }) => (from === 0 ? 0 : to === 0 ? -1 : (to - from) / 1000)),
          /** Writes of a leader that thaws: of connections from before, whose statements waited, and of later ones. */
          late_writes: tally(late.map(({ connectedAt }) => (connectedAt < endedAt ? 'waited' : 'new'))),
          lines: tally(lines.map(({ msg }) => String(msg).replaceAll(/\d+ s/g, 'N s').slice(0, 60))),
        };
        console.log(JSON.stringify(figures));
        expect(Object.keys(figures.content)).toEqual(['200']);
        expect(answered.length).toBeGreaterThan(50);
        // A console closes after 30 s without a store.
        if (Math.max(...figures.unready_seconds) < 30) expect(figures.streams_closed).toBe(0);
        const wentBack = Object.keys(figures.lines).some((line) => line.startsWith('the store went back'));
        if (isSynchronous) {
          const { votes, twice: doneTwice, ends_lost, late_writes } = figures;
          expect({ lost: votes.lost, doneTwice, ends_lost }).toEqual({ lost: 0, doneTwice: 0, ends_lost: 0 });
          expect(late_writes).not.toHaveProperty('new');
          expect(wentBack).toBe(false);
        } else if (figures.votes.lost + figures.ends_lost > 0) {
          expect(wentBack).toBe(true);
        }
        await Promise.all(
          instances.map(async (each) => {
            each.child.kill('SIGTERM');
            await each.ended();
          }),
        );
        await world.store.close();
      },
    );
  },
);

async function ask(
  port: number,
  path: string,
  { key, headers, ...init }: { key?: string; method?: string; body?: string; headers?: Record<string, string> } = {},
) {
  const all = {
    ...headers,
    ...(key !== undefined && { authorization: `Bearer ${key}` }),
    ...(init.body !== undefined && { 'content-type': 'application/json' }),
  };
  try {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { ...init, headers: all });
    return { status: answer.status, headers: answer.headers, text: await answer.text() };
  } catch {
    return { status: 0, headers: new Headers(), text: '' };
  }
}
